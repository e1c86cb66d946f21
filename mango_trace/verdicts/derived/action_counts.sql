-- How many rows of a kind have an action that ended so: few, whatever the number of traces.
SELECT o.kind, a.action, a.outcome, a.ordering_violation, a.completed_at, count(*) AS n
FROM actions AS a
JOIN listed AS t ON t.trace_id = a.trace_id
JOIN outcomes AS o ON o.trace = t.trace
JOIN kinds AS k
  ON k.kind = o.kind AND k.oracle = a.oracle AND k.evaluator = a.evaluator AND k.order_mode = a.order_mode
GROUP BY ALL
ORDER BY ALL
