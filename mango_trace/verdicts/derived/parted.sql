-- Traces about which two checks say different things: the first state where they part, the predicate calls that
-- do not hold there, and a cause. Rows that compare records of one check have no oracle.
WITH compared AS (
  SELECT
    o.*, k.oracle, k.evaluator, k.order_mode, k.goal, k.outcome, k.success_once, k.success_at_end, k.intervals,
    coalesce(k.place, 1) = 1 AS is_only, t.trace_id, t.suite, t.task, t.n_states, t.warmup_steps,
    t.live_success, t.live_first_success, t.source_label
  FROM outcomes AS o
  JOIN kinds AS k ON k.kind = o.kind
  JOIN listed AS t ON t.trace = o.trace
  WHERE k.success_once IN ('passed', 'failed')
), found AS (
  SELECT
    'oracle vs benchmark' AS subject, *,
    CASE WHEN outcome = 'failed' THEN first_success ELSE passed_at END AS first_state,
    -- Who said no is asked what it missed: our failed action, or the benchmark's goal.
    CASE WHEN outcome = 'failed' THEN oracle ELSE goal END AS asked_oracle,
    CASE
      WHEN outcome = 'passed' THEN 0
      WHEN reason = 'invariant' THEN -1
      ELSE first_failed
    END AS asked_action
  FROM compared
  WHERE outcome IN ('passed', 'failed') AND outcome <> success_once
  UNION ALL BY NAME
  SELECT
    'live vs recomputed' AS subject, * REPLACE (NULL AS oracle, NULL AS outcome),
    coalesce(least(live_first_success, first_success), live_first_success, first_success)
      AS first_state,
    goal AS asked_oracle, 0 AS asked_action
  FROM compared
  WHERE is_only AND live_success <> (success_once = 'passed')
  UNION ALL BY NAME
  SELECT
    'source label vs benchmark' AS subject, * REPLACE (NULL AS oracle, NULL AS outcome),
    coalesce(first_success, n_states - 1) AS first_state,
    goal AS asked_oracle, 0 AS asked_action
  FROM compared
  WHERE is_only AND source_label <> (success_once = 'passed')
), asked AS (  -- every predicate call that was asked, and how it was
  SELECT
    p.subject, p.trace, p.kind, m.position, m.predicate,
    CASE WHEN m.negate THEN 'not ' ELSE '' END || m.monitor AS text,
    bool_or(
      p.asked_action >= 0 AND p.first_state BETWEEN i.first_state AND i.last_state
      AND i.truth <> CASE WHEN m.negate THEN 'false' ELSE 'true' END
      OR p.asked_action = -1 AND i.truth = CASE WHEN m.negate THEN 'false' ELSE 'true' END
    ) AS is_unmet,
    bool_or(
      i.last_state > p.warmup_steps
      AND i.truth = CASE WHEN m.negate THEN 'false' ELSE 'true' END
    ) AS ever_held
  FROM found AS p
  JOIN monitors AS m ON m.oracle = p.asked_oracle AND m.action = p.asked_action
  JOIN intervals AS i
    ON i.trace_id = p.trace_id AND i.monitor = m.monitor AND i.evaluator = p.evaluator
  GROUP BY p.subject, p.trace, p.kind, m.position, m.predicate, m.negate, m.monitor
), unmet AS (
  SELECT
    subject, trace, kind,
    list(text ORDER BY position) FILTER (is_unmet) AS texts,
    bool_and(predicate = 'released') FILTER (is_unmet) AS only_release,
    bool_and(ever_held) AS each_held_once
  FROM asked
  GROUP BY subject, trace, kind
)
SELECT
  p.subject, p.suite, p.task, p.trace_id, p.oracle, p.trace, p.kind, p.first_success, p.lag_states,
  p.first_state,
  CASE WHEN p.oracle IS NOT NULL THEN p.first_failed_action END AS action,
  coalesce(u.texts, []) AS monitors,
  CASE
    WHEN p.subject = 'live vs recomputed' AND p.lag_states > 0 THEN 'live check is one substep older'
    WHEN p.subject = 'live vs recomputed' THEN 'live check differs'
    WHEN p.subject = 'source label vs benchmark' THEN 'source label differs'
    WHEN p.outcome = 'passed' AND u.each_held_once THEN 'undone after success'
    WHEN p.outcome = 'passed' AND NOT p.intervals THEN 'truth intervals are not stored'
    WHEN p.outcome = 'passed' THEN 'goal never held'
    WHEN p.reason = 'invariant' THEN 'invariant broken'
    WHEN p.reason IN ('too_early', 'wrong_order') OR a.ordering_violation THEN 'ordering'
    -- An action that was completed before it was undone had its release, only later.
    WHEN p.reason = 'undone' AND p.success_at_end = 'failed' THEN 'undone after success'
    WHEN p.reason = 'undone' THEN 'effect undone'
    WHEN NOT p.intervals THEN 'truth intervals are not stored'
    WHEN u.only_release THEN 'release not asked'
    WHEN p.success_at_end = 'failed' THEN 'held in passing'
    ELSE 'never completed'
  END AS cause
FROM found AS p
LEFT JOIN unmet AS u ON u.subject = p.subject AND u.trace = p.trace AND u.kind = p.kind
LEFT JOIN actions AS a
  ON a.trace_id = p.trace_id AND a.oracle = p.oracle AND a.evaluator = p.evaluator
  AND a.order_mode = p.order_mode AND a.action = p.first_failed
ORDER BY p.subject, p.suite, p.task, p.trace_id, p.oracle
