-- How often the fine-grained oracle agrees with the benchmark's own check
-- answers: Accuracy, precision, recall and F1 of the fine-grained verdict against the benchmark's
--   end-state verdict, for every task and in total. The positive class is failure. Undetermined,
--   errors and what was not evaluated are in no rate; they are counted beside it.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter sample VARCHAR '' -- sample whose traces count, as mango-trace sample marks them; '' = all
-- column suite -- suite of the task; empty in the total
-- column task -- task, or TOTAL
-- column oracle -- beginning of the fine-grained oracle's digest
-- column n -- traces that both passed or failed: the denominator of accuracy
-- column accuracy -- (tp + tn) / n
-- column precision -- tp / precision_n: of our failures, how many the benchmark failed too
-- column precision_n -- tp + fp, traces that we failed
-- column recall -- tp / recall_n: of the benchmark's failures, how many we failed too
-- column recall_n -- tp + fn, traces that the benchmark failed
-- column f1 -- 2 tp / f1_n
-- column f1_n -- 2 tp + fp + fn
-- column tp -- both failed
-- column tn -- both passed
-- column fp -- only we failed
-- column fn -- only the benchmark failed
-- column undetermined -- one of the two is undetermined
-- column errors -- one of the two is an error
-- column not_evaluated -- one of the two was not evaluated
SELECT
  suite,
  CASE WHEN is_total = 1 THEN 'TOTAL' ELSE task END AS task,
  short_digest(oracle) AS oracle,
  tp + tn + fp + fn AS n,
  ratio(tp + tn, tp + tn + fp + fn) AS accuracy,
  ratio(tp, tp + fp) AS precision,
  tp + fp AS precision_n,
  ratio(tp, tp + fn) AS recall,
  tp + fn AS recall_n,
  ratio(2 * tp, 2 * tp + fp + fn) AS f1,
  2 * tp + fp + fn AS f1_n,
  tp, tn, fp, fn, undetermined, errors, not_evaluated
FROM confusion_counts($evaluator, $order_mode, $oracle, $sample) AS c
ORDER BY is_total, suite, c.task, oracle
