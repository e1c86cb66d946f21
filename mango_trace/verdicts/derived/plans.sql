-- Actions of every oracle in plan order.
SELECT DISTINCT oracle, action, step, call_text(action_id, parameters) AS text
FROM actions
ORDER BY ALL
