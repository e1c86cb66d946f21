-- Agreement with the benchmark and localisation, in one table
-- answers: The MANGO paper's second research question in the layout of its Table III, for every task
--   and in total: how often the fine-grained oracle agrees with the benchmark's end-state verdict, and
--   over the failures that both see how often the first failed action is the label's exactly. The
--   positive class is failure. Undetermined, errors and what was not evaluated are in no rate; they are
--   counted beside it.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter who VARCHAR '' -- whose labels count, e.g. injected; '' = the first of each trace that the
--   states do not refute
-- parameter sample VARCHAR '' -- sample whose traces count, as mango-trace sample marks them; '' = all
-- column suite -- suite of the task; empty in the total
-- column task -- task, or TOTAL
-- column oracle -- beginning of the fine-grained oracle's digest
-- column n -- traces that both passed or failed: the denominator of accuracy
-- column tp -- both failed
-- column tn -- both passed
-- column fp -- only we failed
-- column fn -- only the benchmark failed
-- column accuracy -- (tp + tn) / n
-- column low -- lower bound of accuracy's Wilson 95 % interval; none where several oracles count a
--   trace more than once
-- column high -- upper bound of the interval
-- column precision -- tp / (tp + fp): of our failures, how many the benchmark failed too
-- column recall -- tp / (tp + fn): of the benchmark's failures, how many we failed too
-- column f1 -- 2 tp / (2 tp + fp + fn)
-- column undetermined -- one of the two is undetermined
-- column errors -- one of the two is an error
-- column not_evaluated -- one of the two was not evaluated
-- column n_labelled -- traces with a label that names the first failed action
-- column n_unverified -- traces left out, whose injected fault did not do what it was meant to
-- column loc_n -- of the labelled, those that both failed: the denominator of exact_rate
-- column exact -- of those, first failed action equals the label
-- column exact_rate -- exact / loc_n
-- column exact_low -- lower bound of exact_rate's Wilson 95 % interval; none where low is none for
--   that reason
-- column exact_high -- upper bound of the interval
WITH labelled AS (
  SELECT suite, task, oracle, counts, field_of(outcome, success_once) AS field, is_first, n
  FROM localised($evaluator, $order_mode, $oracle, $who, $sample)
), summed AS (
  SELECT
    suite, task, oracle, grouping(task) AS is_total,
    counted(n, counts) AS n_labelled,
    counted(n, NOT counts) AS n_unverified,
    counted(n, counts AND field = 'tp') AS loc_n,
    counted(n, counts AND field = 'tp' AND is_first) AS exact
  FROM labelled
  GROUP BY GROUPING SETS ((suite, task, oracle), ())
), joined_counts AS (
  SELECT
    c.*, coalesce(l.n_labelled, 0) AS n_labelled, coalesce(l.n_unverified, 0) AS n_unverified,
    coalesce(l.loc_n, 0) AS loc_n, coalesce(l.exact, 0) AS exact
  FROM confusion_counts($evaluator, $order_mode, $oracle, $sample) AS c
  LEFT JOIN summed AS l
    ON l.is_total = c.is_total AND l.suite IS NOT DISTINCT FROM c.suite
    AND l.task IS NOT DISTINCT FROM c.task AND l.oracle IS NOT DISTINCT FROM c.oracle
)
SELECT
  suite,
  CASE WHEN is_total = 1 THEN 'TOTAL' ELSE task END AS task,
  short_digest(oracle) AS oracle,
  tp + tn + fp + fn AS n,
  tp, tn, fp, fn,
  ratio(tp + tn, tp + tn + fp + fn) AS accuracy,
  CASE WHEN is_each_once THEN wilson_low(tp + tn, tp + tn + fp + fn) END AS low,
  CASE WHEN is_each_once THEN wilson_high(tp + tn, tp + tn + fp + fn) END AS high,
  ratio(tp, tp + fp) AS precision,
  ratio(tp, tp + fn) AS recall,
  ratio(2 * tp, 2 * tp + fp + fn) AS f1,
  undetermined, errors, not_evaluated, n_labelled, n_unverified, loc_n, exact,
  ratio(exact, loc_n) AS exact_rate,
  CASE WHEN is_each_once THEN wilson_low(exact, loc_n) END AS exact_low,
  CASE WHEN is_each_once THEN wilson_high(exact, loc_n) END AS exact_high
FROM joined_counts AS c
ORDER BY is_total, suite, c.task, oracle
