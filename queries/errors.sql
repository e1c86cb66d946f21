-- Every trace and verdict that is an error or undetermined, with the reason
-- answers: What is left out of the rates, and why: traces that could not be read, recordings that
--   broke, verdicts that could not be reached or told.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- column subject -- trace, fine_grained or end_state
-- column suite -- suite of the task
-- column task -- task
-- column trace_id -- the trace
-- column dataset -- where it is stored
-- column oracle -- beginning of the oracle's digest
-- column outcome -- error or undetermined
-- column reason -- why
WITH found AS (
  SELECT
    1 AS position, 'trace' AS subject, trace_id, NULL AS oracle, 'error' AS outcome,
    CASE
      WHEN status = 'error' THEN status_error
      ELSE 'recording ended in an error: ' || coalesce(ended_error, 'no reason given')
    END AS reason
  FROM traces WHERE status = 'error' OR ended = 'error'
  UNION ALL
  SELECT 2, 'fine_grained', trace_id, oracle, outcome, error
  FROM judged($evaluator, $order_mode, $oracle)
  WHERE outcome IN ('error', 'undetermined') AND oracle IS NOT NULL
  UNION ALL
  SELECT 3, 'end_state', trace_id, goal, success_once, error
  FROM benchmark_says($evaluator)
  WHERE success_once IN ('error', 'undetermined') AND goal IS NOT NULL
)
SELECT
  f.subject, t.suite, t.task, f.trace_id, t.dataset, short_digest(f.oracle) AS oracle, f.outcome,
  coalesce(
    f.reason,
    CASE WHEN f.outcome = 'error' THEN coalesce(t.status_error, t.ended_error) END,
    nullif(array_to_string(t.problems, '; '), ''),
    format('{} states cannot be judged', coalesce(t.undetermined_states, 0))
  ) AS reason
FROM found AS f JOIN traces AS t ON t.trace_id = f.trace_id
ORDER BY f.position, t.suite, t.task, f.trace_id, f.oracle
