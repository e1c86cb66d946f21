SELECT
  j.suite, j.task, j.trace_id, j.policy_label AS policy, j.seed, j.episode, j.init_state_id,
  j.fault, short_digest(j.oracle) AS oracle,
  j.outcome AS verdict,
  b.success_once AS benchmark_success_once,
  b.success_at_end AS benchmark_success_at_end,
  j.live_success, b.first_success, j.completed, j.n_actions, j.first_failed_action, j.reason,
  j.stopped_at, j.violations AS ordering_violations, j.n_states, j.ended,
  j.ended = 'truncated' AS truncated,
  CASE WHEN j.ended = 'truncated' THEN j.horizon END AS cap,
  j.longest_demonstration,
  j.ended = 'truncated' AND b.success_once <> 'passed'
    AND j.horizon > 0 AND j.horizon < j.longest_demonstration AS truncated_short,
  j.premise_violations, j.undetermined_states,
  coalesce(j.status_error, j.ended_error, j.error) AS error
FROM judged($evaluator, $order_mode, $oracle) AS j
JOIN benchmark_says($evaluator) AS b ON b.trace_id = j.trace_id
ORDER BY j.suite, j.task, j.policy_label, j.seed, j.episode, j.fault NULLS FIRST, j.trace_id, j.oracle
