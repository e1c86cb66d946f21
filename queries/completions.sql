-- When every action of a plan completed
-- answers: One row an action of every trace and fine-grained oracle: the state at which it completed, or
--   none. Ordered by trace and plan.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- column trace_id -- the trace
-- column oracle -- beginning of the fine-grained oracle's digest
-- column action -- position in plan order
-- column action_text -- atomic task with its arguments
-- column outcome -- passed, failed or undetermined
-- column completed_at -- state at which it completed; empty if it did not
SELECT
  a.trace_id, short_digest(a.oracle) AS oracle, a.action,
  call_text(a.action_id, a.parameters) AS action_text, a.outcome, a.completed_at
FROM actions AS a
JOIN chosen_oracles($oracle) AS o ON o.oracle = a.oracle
WHERE a.evaluator = chosen_evaluator($evaluator) AND a.order_mode = $order_mode
ORDER BY a.trace_id, a.oracle, a.action
