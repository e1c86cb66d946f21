WITH counted AS (
  SELECT
    suite, task, oracle, grouping(task) AS is_total,
    count(*) FILTER (counts) AS n_labelled,
    count(*) FILTER (NOT counts) AS n_unverified,
    count(*) FILTER (counts AND outcome = 'failed') AS n_failed,
    count(*) FILTER (counts AND outcome = 'failed' AND is_first) AS n_matched,
    count(*) FILTER (counts AND outcome = 'failed' AND is_next) AS n_in_failed_set,
    count(*) FILTER (counts AND outcome = 'passed') AS n_missed,
    count(*) FILTER (counts AND outcome = 'undetermined') AS undetermined,
    count(*) FILTER (counts AND outcome = 'error') AS errors,
    count(*) FILTER (counts AND outcome = 'not_evaluated') AS not_evaluated,
    count(*) = count(DISTINCT trace_id) AS each_once
  FROM localised($evaluator, $order_mode, $oracle, $who, $sample)
  GROUP BY GROUPING SETS ((suite, task, oracle), ())
)
SELECT
  suite,
  CASE WHEN is_total = 1 THEN 'TOTAL' ELSE task END AS task,
  short_digest(oracle) AS oracle,
  n_labelled, n_unverified, n_failed, n_matched, n_in_failed_set, n_missed, undetermined, errors, not_evaluated,
  ratio(n_matched, n_failed) AS rate,
  CASE WHEN each_once THEN wilson_low(n_matched, n_failed) END AS low,
  CASE WHEN each_once THEN wilson_high(n_matched, n_failed) END AS high
FROM counted
ORDER BY is_total, suite, counted.task, oracle
