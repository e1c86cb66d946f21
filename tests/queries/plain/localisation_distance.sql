WITH turns AS (  -- where everything before the first failed action was done
  SELECT l.trace_id, l.oracle, max(a.completed_at) AS state
  FROM localised($evaluator, $order_mode, $oracle, $who, $sample) AS l
  JOIN actions AS a
    ON a.trace_id = l.trace_id AND a.oracle = l.oracle AND a.evaluator = l.evaluator
    AND a.order_mode = $order_mode AND a.action < l.first_failed
  GROUP BY l.trace_id, l.oracle
), failed AS (
  SELECT
    l.*,
    CASE WHEN l.first_failed IS NOT NULL AND l.label_position IS NOT NULL
      THEN coalesce(t.state, l.warmup_steps) - l.label_state END AS states_off
  FROM localised($evaluator, $order_mode, $oracle, $who, $sample) AS l
  LEFT JOIN turns AS t ON t.trace_id = l.trace_id AND t.oracle = l.oracle
  WHERE l.counts AND l.outcome = 'failed'
), counted AS (
  SELECT
    suite, task, oracle, grouping(task) AS is_total,
    count(distance) AS n,
    count(*) FILTER (distance = 0) AS exact,
    count(*) FILTER (distance < 0) AS n_earlier,
    count(*) FILTER (distance > 0) AS n_later,
    histogram(distance) FILTER (distance IS NOT NULL) AS by_distance,
    count(*) FILTER (first_failed IS NULL) AS no_action,
    count(*) FILTER (first_failed IS NOT NULL AND NOT in_plan) AS not_in_plan,
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
FROM counted
ORDER BY is_total, suite, counted.task, oracle
