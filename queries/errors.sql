-- Every trace and verdict that is an error or undetermined, with the reason
-- answers: What is left out of the rates, and why: traces that could not be read, recordings that
--   broke, verdicts that could not be reached or told.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter limit BIGINT 0 -- rows at most; 0 = all
-- column subject -- trace, fine_grained or end_state
-- column suite -- suite of the task
-- column task -- task
-- column trace_id -- the trace
-- column dataset -- where it is stored
-- column oracle -- beginning of the oracle's digest
-- column outcome -- error or undetermined
-- column reason -- why
WITH goals AS (
  SELECT o.trace, o.goal_error, k.goal, k.success_once, k.status = 'error' OR k.ended = 'error' AS is_broken
  FROM outcomes AS o JOIN goal_kinds($evaluator) AS k ON k.kind = o.kind
  WHERE k.success_once IN ('error', 'undetermined')  -- a broken recording has an error
), page AS (
  SELECT 1 AS position, 'trace' AS subject, trace, NULL AS oracle, 'error' AS outcome, NULL AS reason
  FROM goals WHERE is_broken
  UNION ALL
  SELECT 2, 'fine_grained', j.trace, j.oracle, j.outcome, j.error
  FROM judged($evaluator, $order_mode, $oracle) AS j
  WHERE j.outcome IN ('error', 'undetermined') AND j.oracle IS NOT NULL
  UNION ALL
  SELECT 3, 'end_state', trace, goal, success_once, goal_error
  FROM goals WHERE goal IS NOT NULL
  ORDER BY position, trace, oracle
  LIMIT rows_of($limit)
)
SELECT
  f.subject, t.suite, t.task, t.trace_id, t.dataset, short_digest(f.oracle) AS oracle, f.outcome,
  coalesce(
    CASE
      WHEN f.position > 1 THEN f.reason
      WHEN t.status = 'error' THEN t.status_error
      ELSE 'recording ended in an error: ' || coalesce(t.ended_error, 'no reason given')
    END,
    CASE WHEN f.outcome = 'error' THEN coalesce(t.status_error, t.ended_error) END,
    nullif(array_to_string(t.problems, '; '), ''),
    format('{} states cannot be judged', coalesce(t.undetermined_states, 0))
  ) AS reason
FROM page AS f JOIN listed AS t ON t.trace = f.trace
ORDER BY f.position, f.trace, f.oracle
