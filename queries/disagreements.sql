-- Traces about which two checks say different things, and why
-- answers: Every trace where the fine-grained oracle and the benchmark differ, where the benchmark's
--   check said otherwise live than from the recorded states, or where an imported label differs;
--   with the first state where they part, the predicates that do not hold there, and a cause.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter who VARCHAR '' -- whose labels count, e.g. injected; '' = the first of each trace that the
--   states do not refute
-- parameter sample VARCHAR '' -- sample whose traces count, as mango-trace sample marks them; '' = all
-- column kind -- oracle vs benchmark, live vs recomputed, or source label vs benchmark
-- column suite -- suite of the task
-- column task -- task
-- column trace_id -- the trace
-- column policy -- policy and its version
-- column seed -- seed of the recording
-- column init_state_id -- initial state that it started from
-- column fault -- injected fault, if any
-- column oracle -- beginning of the fine-grained oracle's digest
-- column ours -- outcome of the fine-grained oracle
-- column benchmark_success_once -- the benchmark's goal by its protocol, from the recorded states
-- column benchmark_success_at_end -- the benchmark's goal at the last state
-- column live_success -- the benchmark's check while it ran
-- column live_first_success -- state at which the live check was first true
-- column first_success -- state in which the recomputed goal first held
-- column lag_states -- states at which live and recomputed check differ
-- column source_label -- what the imported file claims
-- column first_state -- first state where the two part
-- column action -- first failed action, if we failed it
-- column monitors -- predicate calls that do not hold at first_state and are asked for
-- column cause -- ordering, release not asked, undone after success, effect undone, invariant broken,
--   held in passing (the action was never completed, and the goal held for a while but not at the end),
--   never completed, goal never held, live check is one substep older, live check differs,
--   source label differs, or truth intervals are not stored (evaluated with --verdicts-only)
-- column cause_class -- who is wrong, from evidence and not by guessing. The label is the first one that the
--   states do not refute, whether it names an action or that none failed. Only we failed: ordering and
--   undone after success (effect undone too) by cause; oracle error if a person saw no failure; benchmark
--   too lax if the label says that the run failed, or else if only a release is missing or the goal held
--   in passing; else unexplained. Whether we name the right action is a matter of query localisation. Only
--   we passed: oracle error if the label names a failed action; benchmark too strict if it says that none
--   failed; else unexplained. A scripted run without a fault has no label: that none was injected does
--   not say that it went well, so it is unexplained. NULL for the other two kinds, which compare records
--   of one check and no oracle
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
