WITH compared AS (
  SELECT
    j.*, b.goal, b.success_once, b.success_at_end, b.first_success, b.lag_states,
    chosen_evaluator($evaluator) AS chosen
  FROM judged($evaluator, $order_mode, $oracle) AS j
  JOIN benchmark_says($evaluator) AS b ON b.trace_id = j.trace_id
  WHERE b.success_once IN ('passed', 'failed') AND in_sample(j.trace_id, $sample)
), per_trace AS (  -- these two do not depend on a fine-grained oracle
  SELECT * REPLACE (NULL AS oracle, NULL AS outcome, NULL AS first_failed_action)
  FROM compared
  QUALIFY row_number() OVER (PARTITION BY trace_id ORDER BY oracle) = 1
), parted AS (
  SELECT
    'oracle vs benchmark' AS kind, *,
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
    'live vs recomputed' AS kind, *,
    coalesce(least(live_first_success, first_success), live_first_success, first_success)
      AS first_state,
    goal AS asked_oracle, 0 AS asked_action
  FROM per_trace
  WHERE live_success <> (success_once = 'passed')
  UNION ALL BY NAME
  SELECT
    'source label vs benchmark' AS kind, *,
    coalesce(first_success, n_states - 1) AS first_state,
    goal AS asked_oracle, 0 AS asked_action
  FROM per_trace
  WHERE source_label <> (success_once = 'passed')
), asked AS (  -- every predicate call that was asked, and how it was
  SELECT
    p.kind, p.trace_id, p.oracle, m.position, m.predicate,
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
  FROM parted AS p
  JOIN monitors AS m ON m.oracle = p.asked_oracle AND m.action = p.asked_action
  JOIN intervals AS i
    ON i.trace_id = p.trace_id AND i.monitor = m.monitor AND i.evaluator = p.chosen
  GROUP BY p.kind, p.trace_id, p.oracle, m.position, m.predicate, m.negate, m.monitor
), unmet AS (
  SELECT
    kind, trace_id, oracle,
    list(text ORDER BY position) FILTER (is_unmet) AS texts,
    bool_and(predicate = 'released') FILTER (is_unmet) AS only_release,
    bool_and(ever_held) AS each_held_once
  FROM asked
  GROUP BY kind, trace_id, oracle
), explained AS (
  SELECT
    p.kind, p.suite, p.task, p.trace_id, p.policy_label AS policy, p.seed, p.init_state_id, p.fault,
    short_digest(p.oracle) AS oracle,
    p.outcome AS ours,
    p.success_once AS benchmark_success_once,
    p.success_at_end AS benchmark_success_at_end,
    p.live_success, p.live_first_success, p.first_success, p.lag_states, p.source_label,
    p.first_state,
    p.first_failed_action AS action,
    coalesce(u.texts, []) AS monitors,
    CASE
      WHEN p.kind = 'live vs recomputed' AND p.lag_states > 0 THEN 'live check is one substep older'
      WHEN p.kind = 'live vs recomputed' THEN 'live check differs'
      WHEN p.kind = 'source label vs benchmark' THEN 'source label differs'
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
    END AS cause,
    l.trace_id IS NOT NULL AS is_labelled,
    l.who, l.action_id
  FROM parted AS p
  LEFT JOIN unmet AS u
    ON u.kind = p.kind AND u.trace_id = p.trace_id AND u.oracle IS NOT DISTINCT FROM p.oracle
  LEFT JOIN actions AS a
    ON a.trace_id = p.trace_id AND a.oracle = p.oracle AND a.evaluator = p.chosen
    AND a.order_mode = $order_mode AND a.action = p.first_failed
  LEFT JOIN truth_of($who, true) AS l ON l.trace_id = p.trace_id AND l.counts
)
SELECT
  kind, suite, task, trace_id, policy, seed, init_state_id, fault, oracle, ours, benchmark_success_once,
  benchmark_success_at_end, live_success, live_first_success, first_success, lag_states, source_label,
  first_state, action, monitors, cause,
  CASE
    WHEN kind <> 'oracle vs benchmark' THEN NULL
    WHEN ours = 'passed' AND action_id IS NOT NULL THEN 'oracle error'
    WHEN ours = 'passed' AND is_labelled THEN 'benchmark too strict'
    WHEN ours = 'passed' THEN 'unexplained'
    WHEN cause = 'ordering' THEN 'ordering'
    WHEN cause IN ('undone after success', 'effect undone') THEN 'undone after success'
    WHEN is_labelled AND action_id IS NULL AND who <> 'injected' THEN 'oracle error'
    WHEN action_id IS NOT NULL OR cause IN ('release not asked', 'held in passing') THEN 'benchmark too lax'
    ELSE 'unexplained'
  END AS cause_class
FROM explained
ORDER BY kind, suite, task, trace_id, oracle
