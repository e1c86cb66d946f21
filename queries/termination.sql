-- How the outcome depends on what success means
-- answers: For every task: how many traces pass when success means once, at the end, for k states, in
--   plan order or in any order, beside the oracle's own verdict and the benchmark's protocol.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- column suite -- suite of the task; empty in the total
-- column task -- task, or TOTAL
-- column oracle -- beginning of the fine-grained oracle's digest
-- column meaning -- verdict: the oracle's own; success_once, success_at_end, success_held_k: all
--   actions hold together at some state, at the last, for k states; sequential, any_order: they
--   complete in plan order, in any; benchmark_success_once and _at_end: the benchmark's goal
-- column hold -- k of success_held_k
-- column n -- traces that passed or failed: the denominator of the rate
-- column passed -- traces that passed
-- column failed -- traces that failed
-- column undetermined -- traces that are undetermined
-- column errors -- traces or verdicts with an error
-- column not_evaluated -- traces without a verdict
-- column rate -- passed / n
-- column low -- lower bound of the rate's Wilson 95 % interval
-- column high -- upper bound of the rate's Wilson 95 % interval
-- column differs -- traces that pass by this meaning and fail by the verdict, or the other way round
WITH said AS (
  SELECT
    k.suite, k.task, k.oracle, k.n, m.position, m.meaning,
    CASE WHEN m.meaning = 'success_held_k' THEN nullif(k.hold, 0) END AS hold,
    k.outcome AS verdict,
    outcome_by(
      m.meaning, k.outcome, k.once, k.at_end, k.held_k, k.sequential, k.any_order, k.success_once,
      k.success_at_end
    ) AS outcome
  FROM judged_kinds($evaluator, $order_mode, $oracle) AS k CROSS JOIN meanings() AS m
), summed AS (
  SELECT
    suite, task, oracle, position, meaning, grouping(task) AS is_total, max(hold) AS hold,
    counted(n, outcome = 'passed') AS passed,
    counted(n, outcome = 'failed') AS failed,
    counted(n, outcome = 'undetermined') AS undetermined,
    counted(n, outcome = 'error') AS errors,
    counted(n, outcome = 'not_evaluated') AS not_evaluated,
    counted(
      n, outcome IN ('passed', 'failed') AND verdict IN ('passed', 'failed') AND outcome <> verdict
    ) AS differs
  FROM said
  GROUP BY GROUPING SETS ((suite, task, oracle, position, meaning), (position, meaning))
)
SELECT
  suite,
  CASE WHEN is_total = 1 THEN 'TOTAL' ELSE task END AS task,
  short_digest(oracle) AS oracle,
  meaning, hold,
  passed + failed AS n,
  passed, failed, undetermined, errors, not_evaluated,
  ratio(passed, passed + failed) AS rate,
  wilson_low(passed, passed + failed) AS low,
  wilson_high(passed, passed + failed) AS high,
  differs
FROM summed
ORDER BY is_total, suite, summed.task, oracle, position
