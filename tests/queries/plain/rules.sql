WITH rules AS (
  FROM (VALUES
    ('in', 'inside'), ('on', 'resting_on'), ('grasped', 'firmly_grasped'), ('contact', 'touching')
  ) AS rules(benchmark_rule, geometric_rule)
), truths AS (
  SELECT
    i.trace_id, t.suite, t.task, t.n_states,
    split_part(i.monitor, '(', 1) AS predicate,
    substr(i.monitor, strpos(i.monitor, '(')) AS arguments,
    greatest(i.first_state, t.warmup_steps) AS first_state, i.last_state, i.truth
  FROM intervals AS i
  JOIN traces AS t ON t.trace_id = i.trace_id
  WHERE i.evaluator = chosen_evaluator($evaluator) AND i.last_state >= t.warmup_steps
), stretches AS (  -- runs of states in which neither changes
  SELECT
    x.suite, x.task, x.trace_id, r.benchmark_rule, r.geometric_rule, x.arguments, x.n_states,
    greatest(x.first_state, y.first_state) AS first_state,
    least(x.last_state, y.last_state) AS last_state,
    least(x.last_state, y.last_state) - greatest(x.first_state, y.first_state) + 1 AS states,
    x.truth AS benchmark_truth, y.truth AS geometric_truth
  FROM rules AS r
  JOIN truths AS x ON x.predicate = r.benchmark_rule
  JOIN truths AS y
    ON y.predicate = r.geometric_rule AND y.trace_id = x.trace_id AND y.arguments = x.arguments
    AND y.first_state <= x.last_state AND x.first_state <= y.last_state
), counted AS (
  SELECT
    suite, task, trace_id, benchmark_rule, geometric_rule, arguments,
    coalesce(sum(states) FILTER ('undetermined' NOT IN (benchmark_truth, geometric_truth)), 0)
      ::BIGINT AS n,
    coalesce(sum(states) FILTER (benchmark_truth = 'true' AND geometric_truth = 'true'), 0)
      ::BIGINT AS both,
    coalesce(sum(states) FILTER (benchmark_truth = 'true' AND geometric_truth = 'false'), 0)
      ::BIGINT AS only_benchmark,
    coalesce(sum(states) FILTER (benchmark_truth = 'false' AND geometric_truth = 'true'), 0)
      ::BIGINT AS only_geometric,
    min(first_state) FILTER (
      benchmark_truth <> geometric_truth
      AND 'undetermined' NOT IN (benchmark_truth, geometric_truth)
    ) AS first_difference,
    bool_or(benchmark_truth <> geometric_truth) FILTER (
      last_state = n_states - 1 AND 'undetermined' NOT IN (benchmark_truth, geometric_truth)
    ) AS differ_at_end
  FROM stretches
  GROUP BY suite, task, trace_id, benchmark_rule, geometric_rule, arguments
)
SELECT *
FROM counted
WHERE $all OR first_difference IS NOT NULL
ORDER BY suite, task, benchmark_rule, arguments, trace_id
