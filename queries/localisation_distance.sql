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
WITH failed AS (
  SELECT k.suite, k.task, k.oracle, l.distance, l.states_off, l.has_action, l.in_plan
  FROM located AS l
  JOIN judged_kinds($evaluator, $order_mode, $oracle) AS k ON k.kind = l.kind
  WHERE l.counts AND l.who = $who AND k.outcome = 'failed'  -- so none is blank
    AND ($sample = '' OR l.trace IN (SELECT s.trace FROM sampled AS s WHERE s.sample = $sample))
), summed AS (
  SELECT
    suite, task, oracle, grouping(task) AS is_total,
    count(distance) AS n,
    count(*) FILTER (distance = 0) AS exact,
    count(*) FILTER (distance < 0) AS n_earlier,
    count(*) FILTER (distance > 0) AS n_later,
    histogram(distance) FILTER (distance IS NOT NULL) AS by_distance,
    count(*) FILTER (NOT has_action) AS no_action,
    count(*) FILTER (has_action AND NOT in_plan) AS not_in_plan,
    count(states_off) AS n_states_known,
    quantile_cont(states_off, [0.25, 0.5, 0.75]) AS quartiles
  FROM failed
  GROUP BY GROUPING SETS ((suite, task, oracle), ())
)
SELECT
  suite,
  CASE WHEN is_total = 1 THEN 'TOTAL' ELSE task END AS task,
  short_digest(oracle) AS oracle,
  n, exact,
  ratio(exact, n) AS rate,
  n_earlier, n_later,
  coalesce([
    CASE WHEN entry.key > 0 THEN '+' ELSE '' END || entry.key || ': ' || entry.value
    FOR entry IN map_entries(by_distance)
  ], []) AS distances,
  no_action, not_in_plan, n_states_known,
  quartiles[1] AS states_q1, quartiles[2] AS states_median, quartiles[3] AS states_q3
FROM summed
ORDER BY is_total, suite, summed.task, oracle
