-- The fine-grained oracle's outcomes against the benchmark's, as a table
-- answers: For every task and in total, how many traces have each pair of outcomes. A row is an
--   outcome of ours, a column one of the benchmark's.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- column suite -- suite of the task; empty in the total
-- column task -- task, or TOTAL
-- column oracle -- beginning of the fine-grained oracle's digest
-- column ours -- outcome of the fine-grained oracle
-- column benchmark_failed -- traces that the benchmark failed
-- column benchmark_passed -- traces that the benchmark passed
-- column benchmark_undetermined -- traces whose end-state verdict is undetermined
-- column benchmark_error -- traces whose end-state verdict is an error
-- column benchmark_not_evaluated -- traces without an end-state verdict
-- column traces -- traces in the row
WITH pairs AS (
  SELECT suite, task, oracle, grouping(task) AS is_total, outcome AS ours, success_once AS theirs, sum(n) AS n
  FROM judged_kinds($evaluator, $order_mode, $oracle)
  GROUP BY GROUPING SETS ((suite, task, oracle, outcome, success_once), (outcome, success_once))
), groups AS (
  SELECT DISTINCT suite, task, oracle, is_total FROM pairs
  UNION SELECT NULL, NULL, NULL, 1
), outcomes_listed AS (  -- every row of the table is there, counted or not
  FROM (VALUES
    (1, 'failed'), (2, 'passed'), (3, 'undetermined'), (4, 'error'), (5, 'not_evaluated')
  ) AS outcomes_listed(position, ours)
)
SELECT
  g.suite,
  CASE WHEN g.is_total = 1 THEN 'TOTAL' ELSE g.task END AS task,
  short_digest(g.oracle) AS oracle,
  o.ours,
  counted(n, theirs = 'failed') AS benchmark_failed,
  counted(n, theirs = 'passed') AS benchmark_passed,
  counted(n, theirs = 'undetermined') AS benchmark_undetermined,
  counted(n, theirs = 'error') AS benchmark_error,
  counted(n, theirs = 'not_evaluated') AS benchmark_not_evaluated,
  counted(n, true) AS traces
FROM groups AS g
CROSS JOIN outcomes_listed AS o
LEFT JOIN pairs AS c
  ON c.is_total = g.is_total AND c.ours = o.ours
  AND c.suite IS NOT DISTINCT FROM g.suite AND c.task IS NOT DISTINCT FROM g.task
  AND c.oracle IS NOT DISTINCT FROM g.oracle
GROUP BY g.suite, g.task, g.oracle, g.is_total, o.position, o.ours
ORDER BY g.is_total, g.suite, g.task, g.oracle, o.position
