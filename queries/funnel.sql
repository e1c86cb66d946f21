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
WITH rows_of_action AS (
  SELECT k.suite, k.task, p.oracle, p.action, p.step, p.text, k.outcome, k.n, NULL AS violation, NULL AS state
  FROM judged_kinds($evaluator, $order_mode, $oracle) AS k JOIN plans AS p ON p.oracle = k.oracle
  WHERE $policy IN ('', k.policy, k.policy_label) AND k.outcome IN ('error', 'not_evaluated')
  UNION ALL
  SELECT
    k.suite, k.task, p.oracle, p.action, p.step, p.text, a.outcome, coalesce(a.n, 0), a.ordering_violation,
    a.completed_at
  FROM judged_kinds($evaluator, $order_mode, $oracle) AS k
  JOIN plans AS p ON p.oracle = k.oracle
  LEFT JOIN action_counts AS a ON a.kind = k.kind AND a.action = p.action
  WHERE $policy IN ('', k.policy, k.policy_label) AND k.outcome NOT IN ('error', 'not_evaluated')
), ranked AS (  -- up to which place each state goes, when all states of completion are sorted
  SELECT
    *,
    sum(n) FILTER (outcome = 'completed' AND state IS NOT NULL) OVER (
      PARTITION BY suite, task, oracle, action, step, text ORDER BY state NULLS LAST
    ) AS upto,
    sum(n) FILTER (outcome = 'completed' AND state IS NOT NULL) OVER (
      PARTITION BY suite, task, oracle, action, step, text
    ) AS n_states
  FROM rows_of_action
), summed AS (
  SELECT
    suite, task, oracle, action, step, text,
    counted(n, outcome IN ('completed', 'failed', 'not_reached')) AS n_judged,
    counted(n, outcome IN ('completed', 'failed')) AS reached,
    counted(n, outcome = 'completed') AS completed,
    counted(n, outcome = 'failed') AS failed,
    counted(n, outcome = 'undetermined') AS undetermined,
    counted(n, outcome = 'error') AS errors,
    counted(n, outcome = 'not_evaluated') AS not_evaluated,
    counted(n, outcome <> 'error' AND violation) AS too_early,
    counted_quantile(CASE WHEN outcome = 'completed' THEN state END, upto, n_states, 0.5) AS median_state
  FROM ranked
  GROUP BY suite, task, oracle, action, step, text
)
SELECT
  suite, task, short_digest(oracle) AS oracle, action AS position, step, text AS action,
  n_judged AS n, reached, completed, failed, undetermined, errors, not_evaluated, too_early,
  ratio(reached, n_judged) AS reached_share,
  ratio(completed, n_judged) AS completed_share,
  wilson_low(completed, n_judged) AS low,
  wilson_high(completed, n_judged) AS high,
  median_state
FROM summed
ORDER BY suite, task, summed.oracle, position
