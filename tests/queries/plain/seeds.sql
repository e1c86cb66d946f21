WITH counted AS (
  SELECT
    criterion, policy, seed, grouping(seed) AS is_pooled,
    count(*) FILTER (outcome = 'passed') AS passed,
    count(*) FILTER (outcome IN ('passed', 'failed')) AS n,
    count(*) FILTER (outcome = 'undetermined') AS undetermined,
    count(*) FILTER (outcome = 'error') AS errors,
    count(*) FILTER (outcome = 'not_evaluated') AS not_evaluated,
    count(*) = count(DISTINCT trace_id) AS each_once
  FROM scored($evaluator, $order_mode, $oracle, $faults)
  GROUP BY GROUPING SETS ((criterion, policy, seed), (criterion, policy))
), spread AS (
  SELECT
    criterion, policy, count(ratio(passed, n)) AS seeds, min(ratio(passed, n)) AS lowest,
    max(ratio(passed, n)) AS highest, stddev_samp(ratio(passed, n)) AS deviation
  FROM counted WHERE is_pooled = 0 GROUP BY criterion, policy
)
SELECT
  c.criterion, c.policy, c.seed,
  CASE WHEN is_pooled = 1 THEN 'POOLED' ELSE 'seed' END AS row,
  n, passed, undetermined, errors, not_evaluated,
  ratio(passed, n) AS rate,
  CASE WHEN each_once THEN wilson_low(passed, n) END AS low,
  CASE WHEN each_once THEN wilson_high(passed, n) END AS high,
  CASE WHEN is_pooled = 1 THEN s.seeds END AS seeds,
  CASE WHEN is_pooled = 1 THEN s.lowest END AS lowest,
  CASE WHEN is_pooled = 1 THEN s.highest END AS highest,
  CASE WHEN is_pooled = 1 THEN s.deviation END AS deviation
FROM counted AS c
LEFT JOIN spread AS s ON s.criterion = c.criterion AND s.policy = c.policy
ORDER BY c.criterion, c.policy, is_pooled, c.seed
