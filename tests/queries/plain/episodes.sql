WITH others AS (
  SELECT trace_id, list(DISTINCT evaluator ORDER BY evaluator) AS evaluators
  FROM (SELECT trace_id, evaluator FROM verdicts UNION SELECT trace_id, evaluator FROM end_state)
  WHERE evaluator <> chosen_evaluator($evaluator)
  GROUP BY trace_id
)
SELECT
  j.suite, j.task, j.task_index, j.policy_label AS policy, j.policy AS policy_name, j.trace_id, j.seed,
  j.episode, j.init_state_id, j.initial_state, j.fault,
  short_digest(j.oracle) AS oracle,
  chosen_evaluator($evaluator) AS evaluator,
  coalesce(o.evaluators, []) AS other_evaluators,
  outcome_by(
    $meaning, j.outcome, j.once, j.at_end, j.held_k, j.sequential, j.any_order, b.success_once,
    b.success_at_end
  ) AS outcome,
  CASE WHEN $meaning = 'success_held_k' THEN nullif(j.hold, 0) END AS hold,
  j.first_failed_action, j.reason, j.horizon,
  CASE
    WHEN j.ended = 'truncated' OR j.horizon > j.n_steps - j.warmup_steps THEN j.horizon
  END AS cap,
  coalesce(j.mujoco_recorded, 'unknown') AS physics,
  j.scene
FROM judged($evaluator, $order_mode, $oracle) AS j
JOIN benchmark_says($evaluator) AS b ON b.trace_id = j.trace_id
LEFT JOIN others AS o ON o.trace_id = j.trace_id
WHERE
  ($faults OR j.fault IS NULL)
  AND ($a = '' AND $b = '' OR j.policy IN ($a, $b) OR j.policy_label IN ($a, $b))
ORDER BY j.suite, j.task, j.policy_label, j.seed, j.episode, j.fault NULLS FIRST, j.trace_id, j.oracle
