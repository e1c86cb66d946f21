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
-- parameter limit BIGINT 0 -- rows at most; 0 = all
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
WITH shown AS (  -- rows that compare records of one check do not depend on an oracle
  SELECT p.*, k.outcome, k.success_once, k.success_at_end
  FROM parted AS p JOIN judged_kinds($evaluator, $order_mode, $oracle) AS k ON k.kind = p.kind
  WHERE p.oracle IS NOT NULL AND NOT k.is_blank
  UNION ALL
  SELECT p.*, NULL, k.success_once, k.success_at_end
  FROM parted AS p JOIN kinds_in_order($evaluator, $order_mode) AS k ON k.kind = p.kind
  WHERE p.oracle IS NULL
), page AS (
  SELECT * FROM shown
  WHERE $sample = '' OR trace IN (SELECT s.trace FROM sampled AS s WHERE s.sample = $sample)
  ORDER BY subject, suite, task, trace_id, oracle
  LIMIT rows_of($limit)
), explained AS (
  SELECT
    p.subject AS kind, p.suite, p.task, p.trace_id, t.policy_label AS policy, t.seed, t.init_state_id,
    t.fault, short_digest(p.oracle) AS oracle, p.outcome AS ours,
    p.success_once AS benchmark_success_once, p.success_at_end AS benchmark_success_at_end,
    t.live_success, t.live_first_success, p.first_success, p.lag_states, t.source_label, p.first_state,
    p.action, p.monitors, p.cause, l.trace IS NOT NULL AS is_labelled, l.who, l.action_id
  FROM page AS p
  JOIN listed AS t ON t.trace = p.trace
  LEFT JOIN told AS l
    ON l.trace = p.trace AND l.counts
    AND CASE WHEN $who = '' THEN l.is_first ELSE l.is_first_of_who AND l.who = $who END
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
