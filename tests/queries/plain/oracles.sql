SELECT
  o.oracle, o.kind, o.name, o.instruction, o.n_actions,
  (SELECT coalesce(list_sort(list(DISTINCT m.monitor)), []) FROM monitors AS m
   WHERE m.oracle = o.oracle) AS monitors,
  (SELECT count(DISTINCT v.trace_id) FROM verdicts AS v
   WHERE v.oracle = o.oracle AND v.evaluator = chosen_evaluator($evaluator))
  + (SELECT count(DISTINCT e.trace_id) FROM end_state AS e
     WHERE e.oracle = o.oracle AND e.evaluator = chosen_evaluator($evaluator)) AS n_verdicts
FROM oracles AS o
ORDER BY o.kind DESC, o.name, o.oracle
