-- Every trace with its outcomes
-- answers: One row a trace (and oracle, where several judge it): the fine-grained verdict with the
--   first failed action, the benchmark's success once and at the end, and what to know about it.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter limit BIGINT 0 -- rows at most; 0 = all
-- column suite -- suite of the task
-- column task -- task
-- column trace_id -- the trace
-- column policy -- policy and its version
-- column seed -- seed of the recording
-- column episode -- index of the episode
-- column init_state_id -- initial state that it started from
-- column fault -- injected fault, if any
-- column oracle -- beginning of the fine-grained oracle's digest
-- column verdict -- fine-grained outcome: passed, failed, undetermined, error or not_evaluated
-- column benchmark_success_once -- the benchmark's goal held after some step
-- column benchmark_success_at_end -- it held at the last state
-- column live_success -- the benchmark's check while it ran
-- column first_success -- state in which the goal first held
-- column completed -- actions that completed
-- column n_actions -- actions of the oracle
-- column first_failed_action -- first action in plan order that did not complete
-- column reason -- why it did not
-- column stopped_at -- state where progress stopped
-- column ordering_violations -- actions whose effect came before their predecessor was complete
-- column n_states -- recorded states
-- column ended -- terminated, truncated or error
-- column truncated -- whether it was cut off
-- column cap -- policy steps after which it was cut off
-- column longest_demonstration -- steps of the task's longest demonstration
-- column truncated_short -- cut off without success by a step limit below the longest demonstration
-- column premise_violations -- premises of the task that fail once settled
-- column undetermined_states -- states that cannot be judged
-- column error -- why there is no verdict
WITH page AS (
  SELECT * FROM judged($evaluator, $order_mode, $oracle) AS j
  ORDER BY j.trace, j.oracle
  LIMIT rows_of($limit)
)
SELECT
  j.suite, j.task, t.trace_id, j.policy_label AS policy, t.seed, t.episode, t.init_state_id,
  t.fault, short_digest(j.oracle) AS oracle,
  j.outcome AS verdict,
  j.success_once AS benchmark_success_once,
  j.success_at_end AS benchmark_success_at_end,
  t.live_success, j.first_success, j.completed, j.n_actions, j.first_failed_action, j.reason,
  j.stopped_at, j.violations AS ordering_violations, t.n_states, j.ended,
  j.ended = 'truncated' AS truncated,
  CASE WHEN j.ended = 'truncated' THEN t.horizon END AS cap,
  t.longest_demonstration,
  j.ended = 'truncated' AND j.success_once <> 'passed'
    AND t.horizon > 0 AND t.horizon < t.longest_demonstration AS truncated_short,
  t.premise_violations, t.undetermined_states,
  coalesce(t.status_error, t.ended_error, j.error) AS error
FROM page AS j JOIN listed AS t ON t.trace = j.trace
ORDER BY j.trace, j.oracle
