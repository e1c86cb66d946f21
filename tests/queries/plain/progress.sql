WITH runs_of_policy AS (
  SELECT
    suite, task, oracle, policy_label AS policy, trace_id, outcome,
    CASE WHEN outcome IN ('passed', 'failed') THEN ratio(completed, n_actions) END AS progress
  FROM judged($evaluator, $order_mode, $oracle)
  WHERE $faults OR fault IS NULL
), counted AS (
  SELECT
    suite, task, oracle, policy, grouping(task) AS is_total,
    count(*) FILTER (outcome IN ('passed', 'failed')) AS n,
    count(*) FILTER (outcome = 'passed') AS passed,
    avg(progress) AS mean_progress, min(progress) AS lowest_progress,
    max(progress) AS highest_progress,
    count(*) FILTER (outcome = 'undetermined') AS undetermined,
    count(*) FILTER (outcome = 'error') AS errors,
    count(*) FILTER (outcome = 'not_evaluated') AS not_evaluated,
    count(*) = count(DISTINCT trace_id) AS each_once
  FROM runs_of_policy
  GROUP BY GROUPING SETS ((suite, task, oracle, policy), (policy))
)
SELECT
  suite,
  CASE WHEN is_total = 1 THEN 'TOTAL' ELSE task END AS task,
  short_digest(oracle) AS oracle, policy, n, passed,
  ratio(passed, n) AS passed_rate,
  CASE WHEN each_once THEN wilson_low(passed, n) END AS low,
  CASE WHEN each_once THEN wilson_high(passed, n) END AS high,
  mean_progress, lowest_progress, highest_progress, undetermined, errors, not_evaluated
FROM counted
ORDER BY is_total, suite, counted.task, oracle, policy
