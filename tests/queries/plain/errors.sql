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
ORDER BY
  f.position, t.suite, t.task, policy_label(t.policy, t.policy_version), t.seed, t.episode,
  t.fault NULLS FIRST, f.trace_id, f.oracle
