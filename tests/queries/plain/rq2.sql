WITH located AS (
  SELECT
    c.suite, c.task, c.oracle, grouping(c.task) AS is_total,
    count(*) FILTER (l.counts) AS n_labelled,
    count(*) FILTER (NOT l.counts) AS n_unverified,
    count(*) FILTER (l.counts AND c.class = 'tp') AS loc_n,
    count(*) FILTER (l.counts AND c.class = 'tp' AND l.is_first) AS exact
  FROM compared($evaluator, $order_mode, $oracle, $sample) AS c
  LEFT JOIN localised($evaluator, $order_mode, $oracle, $who, $sample) AS l
    ON l.trace_id = c.trace_id AND l.oracle IS NOT DISTINCT FROM c.oracle
  GROUP BY GROUPING SETS ((c.suite, c.task, c.oracle), ())
)
SELECT
  c.suite,
  CASE WHEN c.is_total = 1 THEN 'TOTAL' ELSE c.task END AS task,
  short_digest(c.oracle) AS oracle,
  tp + tn + fp + fn AS n,
  tp, tn, fp, fn,
  ratio(tp + tn, tp + tn + fp + fn) AS accuracy,
  CASE WHEN each_once THEN wilson_low(tp + tn, tp + tn + fp + fn) END AS low,
  CASE WHEN each_once THEN wilson_high(tp + tn, tp + tn + fp + fn) END AS high,
  ratio(tp, tp + fp) AS precision,
  ratio(tp, tp + fn) AS recall,
  ratio(2 * tp, 2 * tp + fp + fn) AS f1,
  undetermined, errors, not_evaluated, n_labelled, n_unverified, loc_n, exact,
  ratio(exact, loc_n) AS exact_rate,
  CASE WHEN each_once THEN wilson_low(exact, loc_n) END AS exact_low,
  CASE WHEN each_once THEN wilson_high(exact, loc_n) END AS exact_high
FROM confusion_counts($evaluator, $order_mode, $oracle, $sample) AS c
JOIN located AS l
  ON l.is_total = c.is_total AND l.suite IS NOT DISTINCT FROM c.suite
  AND l.task IS NOT DISTINCT FROM c.task AND l.oracle IS NOT DISTINCT FROM c.oracle
ORDER BY c.is_total, c.suite, c.task, c.oracle
