-- Whether the episodes start as they should and run long enough
-- answers: For every task and policy: how many initial states its episodes really have, how many were
--   cut off before the longest demonstration's length without success, and where the task's premises
--   fail once the objects have settled. None of these is a failure of the policy.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- column suite -- suite of the task
-- column task -- task
-- column policy -- policy and its version
-- column episodes -- recorded episodes that could be read
-- column distinct_initial_states -- different first states among them
-- column distinct_init_ids -- different ids of initial states that they claim
-- column duplicates -- episodes that start as another one did
-- column truncated -- episodes that were cut off
-- column truncated_short -- cut off without success, with a step limit below the longest demonstration
-- column shortest_cut -- step limit of the shortest of those
-- column longest_demonstration -- steps of the task's longest demonstration
-- column premise_violations -- episodes in which a premise of the task fails once settled
-- column premises -- the premises that fail
-- column unreadable -- episodes that could not be read; not among the others
-- column warnings -- what to know before the rates of this row are used
WITH begun AS MATERIALIZED (
  SELECT
    k.suite, k.task, k.policy_label AS policy, k.ended, k.status = 'ok' AS is_readable, c.* EXCLUDE (kind),
    k.ended = 'truncated' AND k.success_once <> 'passed' AND c.horizon > 0
      AND c.horizon < c.longest_demonstration AS is_short
  FROM start_counts AS c JOIN goal_kinds($evaluator) AS k ON k.kind = c.kind
), summed AS (
  SELECT
    suite, task, policy,
    counted(n, is_readable) AS episodes,
    counted(n, is_readable AND ended = 'truncated') AS truncated,
    counted(n, is_readable AND is_short) AS truncated_short,
    min(horizon) FILTER (is_readable AND is_short) AS shortest_cut,
    max(longest_demonstration) AS longest_demonstration,
    counted(n, is_readable AND len(premise_violations) > 0) AS premise_violations,
    coalesce(list_sort(list_distinct(flatten(list(DISTINCT premise_violations)))), []) AS premises,
    counted(n, NOT is_readable) AS unreadable
  FROM begun GROUP BY suite, task, policy
), distinct_starts AS (
  SELECT
    b.suite, b.task, b.policy,
    count(DISTINCT s.initial_state) AS distinct_initial_states,
    count(DISTINCT s.init_state_id) AS distinct_init_ids
  FROM (SELECT DISTINCT suite, task, policy, start FROM begun WHERE is_readable) AS b
  JOIN starts AS s ON s.start = b.start
  GROUP BY b.suite, b.task, b.policy
), both_counts AS (
  SELECT
    c.*, coalesce(d.distinct_initial_states, 0) AS distinct_initial_states,
    coalesce(d.distinct_init_ids, 0) AS distinct_init_ids
  FROM summed AS c
  LEFT JOIN distinct_starts AS d ON d.suite = c.suite AND d.task = c.task AND d.policy = c.policy
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
FROM both_counts
ORDER BY suite, task, policy
