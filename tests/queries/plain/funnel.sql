WITH plan AS (
  SELECT DISTINCT oracle, action, step, call_text(action_id, parameters) AS text FROM actions
), runs_of_action AS (
  SELECT
    j.suite, j.task, p.oracle, p.action, p.step, p.text,
    a.completed_at, a.ordering_violation,
    CASE WHEN j.outcome IN ('error', 'not_evaluated') THEN j.outcome ELSE a.outcome END AS outcome
  FROM judged($evaluator, $order_mode, $oracle) AS j
  JOIN plan AS p ON p.oracle = j.oracle
  LEFT JOIN actions AS a
    ON a.trace_id = j.trace_id AND a.oracle = p.oracle AND a.evaluator = j.evaluator
    AND a.order_mode = $order_mode AND a.action = p.action
  WHERE $policy IN ('', j.policy, j.policy_label)
), counted AS (
  SELECT
    suite, task, oracle, action, step, text,
    count(*) FILTER (outcome IN ('completed', 'failed', 'not_reached')) AS n,
    count(*) FILTER (outcome IN ('completed', 'failed')) AS reached,
    count(*) FILTER (outcome = 'completed') AS completed,
    count(*) FILTER (outcome = 'failed') AS failed,
    count(*) FILTER (outcome = 'undetermined') AS undetermined,
    count(*) FILTER (outcome = 'error') AS errors,
    count(*) FILTER (outcome = 'not_evaluated') AS not_evaluated,
    count(*) FILTER (outcome <> 'error' AND ordering_violation) AS too_early,
    median(completed_at) FILTER (outcome = 'completed') AS median_state
  FROM runs_of_action
  GROUP BY suite, task, oracle, action, step, text
)
SELECT
  suite, task, short_digest(oracle) AS oracle, action AS position, step, text AS action,
  n, reached, completed, failed, undetermined, errors, not_evaluated, too_early,
  ratio(reached, n) AS reached_share,
  ratio(completed, n) AS completed_share,
  wilson_low(completed, n) AS low,
  wilson_high(completed, n) AS high,
  median_state
FROM counted
ORDER BY suite, task, counted.oracle, position
