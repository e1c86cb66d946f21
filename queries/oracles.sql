-- The oracles in the file
-- answers: Which oracles judged how many traces, with the digests that the parameter oracle takes.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- column oracle -- digest of the canonical document
-- column kind -- fine_grained or end_state
-- column name -- file that it was read from, or the task's goal
-- column instruction -- instruction that it is for
-- column n_actions -- actions of its plan
-- column monitors -- predicate calls that it makes
-- column n_verdicts -- traces that it judged, errors among them
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
