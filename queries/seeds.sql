-- How much a policy's success rate varies between seeds
-- answers: The same policy run with several seeds: the rate of each seed, and pooled over them with
--   the spread, so that one lucky run is not taken for the policy.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter faults BOOLEAN false -- count traces with an injected fault too
-- column criterion -- benchmark_success_once, benchmark_success_at_end or fine_grained
-- column policy -- policy and its version
-- column seed -- seed of the recording; empty in the pooled row
-- column row -- seed or POOLED
-- column n -- episodes that passed or failed: the denominator of the rate
-- column passed -- episodes that passed
-- column undetermined -- episodes that are undetermined
-- column errors -- episodes with an error
-- column not_evaluated -- episodes without a verdict
-- column rate -- passed / n
-- column low -- lower bound of the rate's Wilson 95 % interval; none where several oracles count a
--   trace more than once
-- column high -- upper bound of the interval
-- column seeds -- in the pooled row: seeds with a rate
-- column lowest -- in the pooled row: lowest rate of a seed
-- column highest -- in the pooled row: highest rate of a seed
-- column deviation -- in the pooled row: standard deviation of the seeds' rates
WITH runs_of_seed AS (
  SELECT k.criterion, k.policy, k.benchmark, k.suite, k.task, k.oracle, k.outcome, o.seed, o.n
  FROM scored_kinds($evaluator, $order_mode, $oracle, $faults) AS k
  JOIN (SELECT kind, seed, count(*) AS n FROM outcomes GROUP BY kind, seed) AS o ON o.kind = k.kind
), summed AS (
  SELECT
    criterion, policy, seed, grouping(seed) AS is_pooled,
    counted(n, outcome = 'passed') AS passed,
    counted(n, outcome IN ('passed', 'failed')) AS n_judged,
    counted(n, outcome = 'undetermined') AS undetermined,
    counted(n, outcome = 'error') AS errors,
    counted(n, outcome = 'not_evaluated') AS not_evaluated,
    each_once(benchmark, suite, task, oracle) AS is_each_once
  FROM runs_of_seed
  GROUP BY GROUPING SETS ((criterion, policy, seed), (criterion, policy))
), spread AS (
  SELECT
    criterion, policy, count(ratio(passed, n_judged)) AS seeds, min(ratio(passed, n_judged)) AS lowest,
    max(ratio(passed, n_judged)) AS highest, stddev_samp(ratio(passed, n_judged)) AS deviation
  FROM summed WHERE is_pooled = 0 GROUP BY criterion, policy
)
SELECT
  c.criterion, c.policy, c.seed,
  CASE WHEN is_pooled = 1 THEN 'POOLED' ELSE 'seed' END AS row,
  n_judged AS n, passed, undetermined, errors, not_evaluated,
  ratio(passed, n_judged) AS rate,
  CASE WHEN is_each_once THEN wilson_low(passed, n_judged) END AS low,
  CASE WHEN is_each_once THEN wilson_high(passed, n_judged) END AS high,
  CASE WHEN is_pooled = 1 THEN s.seeds END AS seeds,
  CASE WHEN is_pooled = 1 THEN s.lowest END AS lowest,
  CASE WHEN is_pooled = 1 THEN s.highest END AS highest,
  CASE WHEN is_pooled = 1 THEN s.deviation END AS deviation
FROM summed AS c
LEFT JOIN spread AS s ON s.criterion = c.criterion AND s.policy = c.policy
ORDER BY c.criterion, c.policy, is_pooled, c.seed
