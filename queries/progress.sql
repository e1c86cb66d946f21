-- How much of the plan runs complete, apart from whether they pass
-- answers: For every task, policy and oracle: how many runs passed, and what share of the plan's
--   actions they completed on average. Half of the actions is progress 0.5 and not half a success.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter faults BOOLEAN false -- count traces with an injected fault too
-- column suite -- suite of the task; empty in the total
-- column task -- task, or TOTAL
-- column oracle -- beginning of the fine-grained oracle's digest
-- column policy -- policy and its version
-- column n -- runs that passed or failed: the denominator of both
-- column passed -- runs that passed
-- column passed_rate -- passed / n
-- column low -- lower bound of passed_rate's Wilson 95 % interval; none where several oracles count a
--   trace more than once
-- column high -- upper bound of the interval
-- column mean_progress -- mean over the runs of completed / actions
-- column lowest_progress -- smallest progress of a run
-- column highest_progress -- largest progress of a run
-- column undetermined -- runs that are undetermined
-- column errors -- runs with an error
-- column not_evaluated -- runs without a verdict
WITH runs_of_policy AS (
  SELECT
    benchmark, suite, task, oracle, policy_label AS policy, outcome, n,
    CASE WHEN outcome IN ('passed', 'failed') THEN ratio(completed, n_actions) END AS progress
  FROM judged_kinds($evaluator, $order_mode, $oracle)
  WHERE $faults OR NOT has_fault
), summed AS (
  SELECT
    suite, task, oracle, policy, grouping(task) AS is_total,
    counted(n, outcome IN ('passed', 'failed')) AS n_judged,
    counted(n, outcome = 'passed') AS passed,
    sum(n * progress) / sum(n) FILTER (progress IS NOT NULL) AS mean_progress,
    min(progress) AS lowest_progress,
    max(progress) AS highest_progress,
    counted(n, outcome = 'undetermined') AS undetermined,
    counted(n, outcome = 'error') AS errors,
    counted(n, outcome = 'not_evaluated') AS not_evaluated,
    each_once(benchmark, suite, task, oracle) AS is_each_once
  FROM runs_of_policy
  GROUP BY GROUPING SETS ((suite, task, oracle, policy), (policy))
)
SELECT
  suite,
  CASE WHEN is_total = 1 THEN 'TOTAL' ELSE task END AS task,
  short_digest(oracle) AS oracle, policy, n_judged AS n, passed,
  ratio(passed, n_judged) AS passed_rate,
  CASE WHEN is_each_once THEN wilson_low(passed, n_judged) END AS low,
  CASE WHEN is_each_once THEN wilson_high(passed, n_judged) END AS high,
  mean_progress, lowest_progress, highest_progress, undetermined, errors, not_evaluated
FROM summed
ORDER BY is_total, suite, summed.task, oracle, policy
