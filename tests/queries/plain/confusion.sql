WITH pairs AS (
  SELECT j.suite, j.task, j.oracle, j.outcome AS ours, b.success_once AS theirs
  FROM judged($evaluator, $order_mode, $oracle) AS j
  JOIN benchmark_says($evaluator) AS b ON b.trace_id = j.trace_id
), counted AS (
  SELECT suite, task, oracle, grouping(task) AS is_total, ours, theirs, count(*) AS n
  FROM pairs
  GROUP BY GROUPING SETS ((suite, task, oracle, ours, theirs), (ours, theirs))
), groups AS (
  SELECT DISTINCT suite, task, oracle, is_total FROM counted
  UNION SELECT NULL, NULL, NULL, 1
), outcomes AS (  -- every row of the table is there, counted or not
  FROM (VALUES
    (1, 'failed'), (2, 'passed'), (3, 'undetermined'), (4, 'error'), (5, 'not_evaluated')
  ) AS outcomes(position, ours)
)
SELECT
  g.suite,
  CASE WHEN g.is_total = 1 THEN 'TOTAL' ELSE g.task END AS task,
  short_digest(g.oracle) AS oracle,
  o.ours,
  coalesce(sum(n) FILTER (theirs = 'failed'), 0)::BIGINT AS benchmark_failed,
  coalesce(sum(n) FILTER (theirs = 'passed'), 0)::BIGINT AS benchmark_passed,
  coalesce(sum(n) FILTER (theirs = 'undetermined'), 0)::BIGINT AS benchmark_undetermined,
  coalesce(sum(n) FILTER (theirs = 'error'), 0)::BIGINT AS benchmark_error,
  coalesce(sum(n) FILTER (theirs = 'not_evaluated'), 0)::BIGINT AS benchmark_not_evaluated,
  coalesce(sum(n), 0)::BIGINT AS traces
FROM groups AS g
CROSS JOIN outcomes AS o
LEFT JOIN counted AS c
  ON c.is_total = g.is_total AND c.ours = o.ours
  AND c.suite IS NOT DISTINCT FROM g.suite AND c.task IS NOT DISTINCT FROM g.task
  AND c.oracle IS NOT DISTINCT FROM g.oracle
GROUP BY g.suite, g.task, g.oracle, g.is_total, o.position, o.ours
ORDER BY g.is_total, g.suite, g.task, g.oracle, o.position
