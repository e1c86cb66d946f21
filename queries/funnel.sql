-- How far runs get, action by action
-- answers: For every task and action in plan order: how many runs had its turn, how many completed
--   it. Shares are of the runs for which the action is decided; the others are counted beside.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter policy VARCHAR '' -- runs of this policy only, by name or name@version; '' = all
-- column suite -- suite of the task
-- column task -- task
-- column oracle -- beginning of the fine-grained oracle's digest
-- column position -- position of the action in plan order, from 0
-- column step -- step of the plan
-- column action -- atomic task with its arguments
-- column n -- runs for which it is decided: the denominator of the shares
-- column reached -- runs in which its turn came
-- column completed -- runs in which it completed
-- column failed -- runs in which its turn came and it did not complete
-- column undetermined -- runs in which it cannot be told
-- column errors -- runs with an error
-- column not_evaluated -- runs without a verdict
-- column too_early -- runs in which its effect came before its predecessor was complete
-- column reached_share -- reached / n
-- column completed_share -- completed / n
-- column low -- lower bound of completed_share's Wilson 95 % interval
-- column high -- upper bound of completed_share's Wilson 95 % interval
-- column median_state -- median state of completion, where it completed
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
