SELECT
  a.trace_id, short_digest(a.oracle) AS oracle, a.action,
  call_text(a.action_id, a.parameters) AS action_text, a.outcome, a.completed_at
FROM actions AS a
JOIN chosen_oracles($oracle) AS o ON o.oracle = a.oracle
WHERE a.evaluator = chosen_evaluator($evaluator) AND a.order_mode = $order_mode
ORDER BY a.trace_id, a.oracle, a.action
