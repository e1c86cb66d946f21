-- How often the first failed action is the one that the label names
-- answers: Over traces that a person or an injected fault labelled as failing: does the first failed
--   action (atomic task and arguments) equal the label's exactly? The rate is over labelled traces
--   that we judged failed; labelled traces that we passed are counted as missed.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter who VARCHAR '' -- whose labels count, e.g. injected; '' = the first of each trace that the
--   states do not refute
-- parameter sample VARCHAR '' -- sample whose traces count, as mango-trace sample marks them; '' = all
-- column suite -- suite of the task; empty in the total
-- column task -- task, or TOTAL
-- column oracle -- beginning of the fine-grained oracle's digest
-- column n_labelled -- traces with a label that names the first failed action
-- column n_unverified -- traces left out, whose injected fault did not do what it was meant to
-- column n_failed -- of the labelled, judged failed: the denominator of the rate
-- column n_matched -- of the failed, first failed action equals the label
-- column n_in_failed_set -- of the failed, label is among the actions that were next
-- column n_missed -- labelled as failing but judged passed
-- column undetermined -- labelled, verdict undetermined
-- column errors -- labelled, trace or verdict is an error
-- column not_evaluated -- labelled, no verdict
-- column rate -- n_matched / n_failed
-- column low -- lower bound of the rate's Wilson 95 % interval; none where several oracles count a
--   trace more than once
-- column high -- upper bound of the interval
WITH summed AS (
  SELECT
    suite, task, oracle, grouping(task) AS is_total,
    counted(n, counts) AS n_labelled,
    counted(n, NOT counts) AS n_unverified,
    counted(n, counts AND outcome = 'failed') AS n_failed,
    counted(n, counts AND outcome = 'failed' AND is_first) AS n_matched,
    counted(n, counts AND outcome = 'failed' AND is_next) AS n_in_failed_set,
    counted(n, counts AND outcome = 'passed') AS n_missed,
    counted(n, counts AND outcome = 'undetermined') AS undetermined,
    counted(n, counts AND outcome = 'error') AS errors,
    counted(n, counts AND outcome = 'not_evaluated') AS not_evaluated,
    each_once(benchmark, suite, task, oracle) AS is_each_once
  FROM localised($evaluator, $order_mode, $oracle, $who, $sample)
  GROUP BY GROUPING SETS ((suite, task, oracle), ())
)
SELECT
  suite,
  CASE WHEN is_total = 1 THEN 'TOTAL' ELSE task END AS task,
  short_digest(oracle) AS oracle,
  n_labelled, n_unverified, n_failed, n_matched, n_in_failed_set, n_missed, undetermined, errors, not_evaluated,
  ratio(n_matched, n_failed) AS rate,
  CASE WHEN is_each_once THEN wilson_low(n_matched, n_failed) END AS low,
  CASE WHEN is_each_once THEN wilson_high(n_matched, n_failed) END AS high
FROM summed
ORDER BY is_total, suite, summed.task, oracle
