-- One row an outcome of a labelled trace, and a choice of whose label is meant: '' for any labeller's, or who.
-- is_first: our first failed action is the label's; is_next: the label's is among those that were next; in_plan:
-- the plan has it; distance: plan index of ours minus the label's, NULL if we name none or the plan has not
-- the label's action; of several equal actions the nearest. states_off: states from the label's state to where
-- everything before our first failed action was done.
WITH meant AS (
  SELECT * REPLACE ('' AS who) FROM told WHERE is_first_named
  UNION ALL
  SELECT * FROM told WHERE is_first_named_of_who
), asked AS (
  SELECT
    o.trace, o.kind, o.first_failed, o.failed_set, k.oracle, k.evaluator, k.order_mode, t.trace_id,
    t.warmup_steps, m.who, m.counts, m.action_id, m.parameters, m.failure_class, m.label_position, m.state
  FROM meant AS m
  JOIN outcomes AS o ON o.trace = m.trace
  JOIN kinds AS k ON k.kind = o.kind
  JOIN listed AS t ON t.trace = m.trace
), found AS (
  SELECT
    q.trace, q.kind, q.who,
    bool_or(a.action = q.first_failed) AS is_first,
    bool_or(a.action = q.first_failed OR list_contains(q.failed_set, a.action)) AS is_next,
    first(q.first_failed - a.action ORDER BY abs(q.first_failed - a.action), a.action) AS distance
  FROM asked AS q
  JOIN actions AS a
    ON a.trace_id = q.trace_id AND a.oracle = q.oracle AND a.evaluator = q.evaluator
    AND a.order_mode = q.order_mode AND a.action_id = q.action_id AND a.parameters = q.parameters
  GROUP BY q.trace, q.kind, q.who
), turns AS (
  SELECT q.trace, q.kind, q.who, max(a.completed_at) AS state
  FROM asked AS q
  JOIN actions AS a
    ON a.trace_id = q.trace_id AND a.oracle = q.oracle AND a.evaluator = q.evaluator
    AND a.order_mode = q.order_mode AND a.action < q.first_failed
  GROUP BY q.trace, q.kind, q.who
)
SELECT
  q.trace, q.kind, q.who, q.counts, q.failure_class, q.label_position,
  q.first_failed IS NOT NULL AS has_action,
  coalesce(f.is_first, false) AS is_first,
  coalesce(f.is_next, false) AS is_next,
  f.trace IS NOT NULL AS in_plan,
  f.distance,
  CASE WHEN q.first_failed IS NOT NULL AND q.label_position IS NOT NULL
    THEN coalesce(t.state, q.warmup_steps) - q.state END AS states_off
FROM asked AS q
LEFT JOIN found AS f ON f.trace = q.trace AND f.kind = q.kind AND f.who = q.who
LEFT JOIN turns AS t ON t.trace = q.trace AND t.kind = q.kind AND t.who = q.who
ORDER BY q.who, q.trace, q.kind
