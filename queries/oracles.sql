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
WITH judged_by AS (  -- a trace counts once, also where it is judged in both orders
  SELECT oracle, sum(n) AS n FROM kinds_in_order($evaluator, 'report') WHERE has_verdict GROUP BY oracle
  UNION ALL
  SELECT v.oracle, count(*) AS n
  FROM verdicts AS v
  WHERE v.evaluator = chosen_evaluator($evaluator) AND v.order_mode <> 'report' AND NOT EXISTS (
    FROM verdicts AS r
    WHERE r.trace_id = v.trace_id AND r.oracle = v.oracle AND r.evaluator = v.evaluator
      AND r.order_mode = 'report')
  GROUP BY v.oracle
  UNION ALL
  SELECT goal, sum(n) AS n FROM goal_kinds($evaluator) GROUP BY goal
)
SELECT
  o.oracle, o.kind, o.name, o.instruction, o.n_actions,
  (SELECT coalesce(list_sort(list(DISTINCT m.monitor)), []) FROM monitors AS m
   WHERE m.oracle = o.oracle) AS monitors,
  (SELECT coalesce(sum(j.n), 0)::BIGINT FROM judged_by AS j WHERE j.oracle = o.oracle) AS n_verdicts
FROM oracles AS o
ORDER BY o.kind DESC, o.name, o.oracle
