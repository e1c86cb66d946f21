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
WITH both_checks AS (
  SELECT j.*, b.success_once AS benchmark_once, b.success_at_end AS benchmark_at_end
  FROM judged($evaluator, $order_mode, $oracle) AS j
  JOIN benchmark_says($evaluator) AS b ON b.trace_id = j.trace_id
), said AS (
  SELECT
    c.suite, c.task, c.oracle, m.position, m.meaning,
    CASE WHEN m.meaning = 'success_held_k' THEN nullif(c.hold, 0) END AS hold,
    c.outcome AS verdict,
    outcome_by(
      m.meaning, c.outcome, c.once, c.at_end, c.held_k, c.sequential, c.any_order, c.benchmark_once,
      c.benchmark_at_end
    ) AS outcome
  FROM both_checks AS c CROSS JOIN meanings() AS m
), counted AS (
  SELECT
    suite, task, oracle, position, meaning, grouping(task) AS is_total, max(hold) AS hold,
    count(*) FILTER (outcome = 'passed') AS passed,
    count(*) FILTER (outcome = 'failed') AS failed,
    count(*) FILTER (outcome = 'undetermined') AS undetermined,
    count(*) FILTER (outcome = 'error') AS errors,
    count(*) FILTER (outcome = 'not_evaluated') AS not_evaluated,
    count(*) FILTER (
      outcome IN ('passed', 'failed') AND verdict IN ('passed', 'failed') AND outcome <> verdict
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
FROM counted
ORDER BY is_total, suite, counted.task, oracle, position
