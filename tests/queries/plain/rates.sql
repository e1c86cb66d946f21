WITH counted AS (
  SELECT
    criterion, policy, suite, task, oracle, grouping(task) AS position,
    count(*) FILTER (outcome = 'passed') AS passed,
    count(*) FILTER (outcome = 'failed') AS failed,
    count(*) FILTER (outcome = 'undetermined') AS undetermined,
    count(*) FILTER (outcome = 'error') AS errors,
    count(*) FILTER (outcome = 'not_evaluated') AS not_evaluated,
    count(*) = count(DISTINCT trace_id) AS each_once
  FROM scored($evaluator, $order_mode, $oracle, $faults)
  GROUP BY GROUPING SETS ((criterion, policy, suite, task, oracle), (criterion, policy))
), rated AS (
  SELECT
    *,
    passed + failed AS n,
    ratio(passed, passed + failed) AS rate,
    CASE WHEN each_once THEN wilson_low(passed, passed + failed) END AS low,
    CASE WHEN each_once THEN wilson_high(passed, passed + failed) END AS high
  FROM counted
), means AS (
  SELECT
    criterion, policy, NULL AS suite, NULL AS task, NULL AS oracle, 2 AS position,
    sum(passed)::BIGINT AS passed, sum(failed)::BIGINT AS failed,
    sum(undetermined)::BIGINT AS undetermined, sum(errors)::BIGINT AS errors,
    sum(not_evaluated)::BIGINT AS not_evaluated, sum(n)::BIGINT AS n, avg(rate) AS rate,
    NULL AS low, NULL AS high
  FROM rated WHERE position = 0 GROUP BY criterion, policy
), all_rows AS (
  SELECT * EXCLUDE (each_once) FROM rated UNION ALL BY NAME SELECT * FROM means
)
SELECT
  criterion, policy, suite,
  CASE position WHEN 0 THEN task WHEN 1 THEN 'TOTAL' ELSE 'MEAN OF TASKS' END AS task,
  oracle, n, passed, failed, undetermined, errors, not_evaluated, rate, low, high
FROM all_rows
ORDER BY criterion, policy, position, suite, all_rows.task, oracle
