-- When every action of a plan completed
-- answers: One row an action of every trace and fine-grained oracle: the state at which it completed, or
--   none. Ordered by trace and plan.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter limit BIGINT 0 -- rows at most; 0 = all
-- column trace_id -- the trace
-- column oracle -- beginning of the fine-grained oracle's digest
-- column action -- position in plan order
-- column action_text -- atomic task with its arguments
-- column outcome -- passed, failed or undetermined
-- column completed_at -- state at which it completed; empty if it did not
WITH page AS (
  SELECT trace_id, oracle, action, action_id, parameters, outcome, completed_at
  FROM actions
  WHERE evaluator = chosen_evaluator($evaluator) AND order_mode = $order_mode
    AND oracle IN (SELECT oracle FROM chosen_oracles($oracle))
  ORDER BY trace_id, oracle, action
  LIMIT rows_of($limit)
)
SELECT
  trace_id, short_digest(oracle) AS oracle, action, call_text(action_id, parameters) AS action_text,
  outcome, completed_at
FROM page AS p
ORDER BY trace_id, p.oracle, action
