-- How far off the first failed action is, in actions and in states
-- answers: Over labelled traces that we judged failed, for every task and in total: how many actions of
--   the plan lie between our first failed action and the label's, and how many states between the one
--   from which on the verdict misses that action and the one where the label says that the failure began.
--   The verdict's state is the latest completion of an action that comes before the first failed one in
--   the plan, or the first evaluated state where none does; it is not stopped_at, which moves on
--   with other actions where their order is free. A verdict sees effects that did not come, no motion
--   that went wrong. So the difference says nothing about right or wrong: a perfect verdict lies
--   before the label by the time from the last success to the mistake, and by much where the effect came
--   and was undone later; it lies after the label where the policy took actions in another order than
--   the plan's.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter who VARCHAR '' -- whose labels count, e.g. injected; '' = the first of each trace that the
--   states do not refute
-- parameter sample VARCHAR '' -- sample whose traces count, as mango-trace sample marks them; '' = all
-- column suite -- suite of the task; empty in the total
-- column task -- task, or TOTAL
-- column oracle -- beginning of the fine-grained oracle's digest
-- column n -- labelled and judged failed, with a distance: the denominator of rate
-- column exact -- distance 0: the first failed action is the label's
-- column rate -- exact / n
-- column n_earlier -- we say an action that comes earlier in the plan
-- column n_later -- we say an action that comes later in the plan
-- column distances -- every distance in actions (plan index of ours minus that of the label) with its count
-- column no_action -- judged failed, but the verdict blames no one action
-- column not_in_plan -- judged failed, but the label's action is not in the oracle's plan
-- column n_states_known -- judged failed, the verdict blames an action and the label names a state of the run
-- column states_q1 -- lower quartile of the verdict's state minus the label's, in states
-- column states_median -- median of the same
-- column states_q3 -- upper quartile of the same
WITH failed AS (  -- once for its task, once for the total
  SELECT
    CASE WHEN is_total = 0 THEN suite END AS suite, CASE WHEN is_total = 0 THEN task END AS task,
    CASE WHEN is_total = 0 THEN oracle END AS oracle,
    is_total, distance, states_off, has_action, in_plan, n
  FROM localised($evaluator, $order_mode, $oracle, $who, $sample) CROSS JOIN (VALUES (0), (1)) AS t(is_total)
  WHERE counts AND outcome = 'failed'
  UNION ALL
  SELECT NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, 0  -- there is a total of nothing, too
), placed AS (
  SELECT
    *,
    sum(n) FILTER (states_off IS NOT NULL) OVER (
      PARTITION BY suite, task, oracle, is_total ORDER BY states_off) AS upto,
    sum(n) FILTER (states_off IS NOT NULL) OVER (PARTITION BY suite, task, oracle, is_total) AS n_known
  FROM failed
), distances AS (
  SELECT suite, task, oracle, is_total, list(text ORDER BY distance) AS texts
  FROM (
    SELECT
      suite, task, oracle, is_total, distance,
      CASE WHEN distance > 0 THEN '+' ELSE '' END || distance || ': ' || counted(n, true) AS text
    FROM failed WHERE distance IS NOT NULL GROUP BY suite, task, oracle, is_total, distance
  )
  GROUP BY suite, task, oracle, is_total
), summed AS (
  SELECT
    suite, task, oracle, is_total,
    counted(n, distance IS NOT NULL) AS n_distances,
    counted(n, distance = 0) AS exact,
    counted(n, distance < 0) AS n_earlier,
    counted(n, distance > 0) AS n_later,
    counted(n, NOT has_action) AS no_action,
    counted(n, has_action AND NOT in_plan) AS not_in_plan,
    counted(n, states_off IS NOT NULL) AS n_states_known,
    counted_quantile(states_off, upto, n_known, 0.25) AS states_q1,
    counted_quantile(states_off, upto, n_known, 0.5) AS states_median,
    counted_quantile(states_off, upto, n_known, 0.75) AS states_q3
  FROM placed
  GROUP BY suite, task, oracle, is_total
)
SELECT
  s.suite,
  CASE WHEN s.is_total = 1 THEN 'TOTAL' ELSE s.task END AS task,
  short_digest(s.oracle) AS oracle,
  n_distances AS n, exact,
  ratio(exact, n_distances) AS rate,
  n_earlier, n_later, coalesce(d.texts, []) AS distances, no_action, not_in_plan, n_states_known,
  states_q1, states_median, states_q3
FROM summed AS s
LEFT JOIN distances AS d
  ON d.is_total = s.is_total AND d.suite IS NOT DISTINCT FROM s.suite
  AND d.task IS NOT DISTINCT FROM s.task AND d.oracle IS NOT DISTINCT FROM s.oracle
ORDER BY s.is_total, s.suite, s.task, s.oracle
