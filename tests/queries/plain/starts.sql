WITH episodes AS (
  SELECT
    t.*,
    policy_label(t.policy, t.policy_version) AS policy_label,
    t.status = 'ok' AS is_readable,
    t.ended = 'truncated' AND b.success_once <> 'passed'
      AND t.horizon > 0 AND t.horizon < t.longest_demonstration AS is_short
  FROM traces AS t
  JOIN benchmark_says($evaluator) AS b ON b.trace_id = t.trace_id
), counted AS (
  SELECT
    suite, task, policy_label AS policy,
    count(*) FILTER (is_readable) AS episodes,
    count(DISTINCT initial_state) FILTER (is_readable) AS distinct_initial_states,
    count(DISTINCT init_state_id) FILTER (is_readable) AS distinct_init_ids,
    count(*) FILTER (is_readable AND ended = 'truncated') AS truncated,
    count(*) FILTER (is_readable AND is_short) AS truncated_short,
    min(horizon) FILTER (is_readable AND is_short) AS shortest_cut,
    max(longest_demonstration) AS longest_demonstration,
    count(*) FILTER (is_readable AND len(premise_violations) > 0) AS premise_violations,
    coalesce(list_sort(list_distinct(flatten(list(premise_violations)))), []) AS premises,
    count(*) FILTER (NOT is_readable) AS unreadable
  FROM episodes GROUP BY suite, task, policy_label
)
SELECT
  suite, task, policy, episodes, distinct_initial_states, distinct_init_ids,
  episodes - distinct_initial_states AS duplicates,
  truncated, truncated_short, shortest_cut, longest_demonstration, premise_violations, premises,
  unreadable,
  concat_ws('; ',
    CASE WHEN episodes > distinct_initial_states THEN format(
      '{} episodes, {} distinct initial state{}: the effective n is smaller',
      episodes, distinct_initial_states, CASE WHEN distinct_initial_states = 1 THEN '' ELSE 's' END
    ) END,
    CASE WHEN truncated_short > 0 THEN format(
      '{} truncated after {} steps or more, longest demonstration has {}',
      truncated_short, shortest_cut, longest_demonstration
    ) END,
    CASE WHEN premise_violations > 0 THEN format(
      'init premise violated in {}', premise_violations
    ) END
  ) AS warnings
FROM counted
ORDER BY suite, task, policy
