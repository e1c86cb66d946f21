-- A benchmark's rule and the geometric one for the same, asked about the same things: at how many states of a
-- trace each holds, where they first differ, and whether they do at the end.
WITH rules AS (
  FROM (VALUES
    ('in', 'inside'), ('on', 'resting_on'), ('grasped', 'firmly_grasped'), ('contact', 'touching')
  ) AS rules(benchmark_rule, geometric_rule)
), calls AS (
  SELECT
    monitor, split_part(monitor, '(', 1) AS predicate, substr(monitor, strpos(monitor, '(')) AS arguments
  FROM (SELECT DISTINCT monitor FROM intervals)
), asked AS (
  SELECT x.monitor AS benchmark, y.monitor AS geometric, r.benchmark_rule, r.geometric_rule, x.arguments
  FROM rules AS r
  JOIN calls AS x ON x.predicate = r.benchmark_rule
  JOIN calls AS y ON y.predicate = r.geometric_rule AND y.arguments = x.arguments
), stretches AS (  -- runs of states in which neither changes
  SELECT
    t.suite, t.task, x.trace_id, x.evaluator, q.benchmark_rule, q.geometric_rule, q.arguments, t.n_states,
    greatest(x.first_state, y.first_state, t.warmup_steps) AS first_state,
    least(x.last_state, y.last_state) AS last_state,
    x.truth AS benchmark_truth, y.truth AS geometric_truth
  FROM asked AS q
  JOIN intervals AS x ON x.monitor = q.benchmark
  JOIN intervals AS y
    ON y.monitor = q.geometric AND y.trace_id = x.trace_id AND y.evaluator = x.evaluator
    AND y.first_state <= x.last_state AND x.first_state <= y.last_state
  JOIN listed AS t ON t.trace_id = x.trace_id
  WHERE least(x.last_state, y.last_state) >= t.warmup_steps
)
SELECT
  suite, task, trace_id, evaluator, benchmark_rule, geometric_rule, arguments,
  coalesce(sum(last_state - first_state + 1) FILTER (
    'undetermined' NOT IN (benchmark_truth, geometric_truth)), 0)::BIGINT AS n,
  coalesce(sum(last_state - first_state + 1) FILTER (
    benchmark_truth = 'true' AND geometric_truth = 'true'), 0)::BIGINT AS both,
  coalesce(sum(last_state - first_state + 1) FILTER (
    benchmark_truth = 'true' AND geometric_truth = 'false'), 0)::BIGINT AS only_benchmark,
  coalesce(sum(last_state - first_state + 1) FILTER (
    benchmark_truth = 'false' AND geometric_truth = 'true'), 0)::BIGINT AS only_geometric,
  min(first_state) FILTER (
    benchmark_truth <> geometric_truth
    AND 'undetermined' NOT IN (benchmark_truth, geometric_truth)
  ) AS first_difference,
  bool_or(benchmark_truth <> geometric_truth) FILTER (
    last_state = n_states - 1 AND 'undetermined' NOT IN (benchmark_truth, geometric_truth)
  ) AS differ_at_end
FROM stretches
GROUP BY suite, task, trace_id, evaluator, benchmark_rule, geometric_rule, arguments
ORDER BY suite, task, benchmark_rule, arguments, trace_id
