-- How often each policy succeeds
-- answers: Success of every policy by task and over all tasks, by three criteria: the benchmark's goal
--   at some state (once), at the last state, and the fine-grained oracle. Over tasks both means are
--   given: TOTAL weighs episodes alike, MEAN OF TASKS weighs tasks alike.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter faults BOOLEAN false -- count traces with an injected fault too
-- column criterion -- benchmark_success_once, benchmark_success_at_end or fine_grained
-- column policy -- policy and its version
-- column suite -- suite of the task; empty over all tasks
-- column task -- task, TOTAL (micro mean) or MEAN OF TASKS (macro mean)
-- column oracle -- beginning of the fine-grained oracle's digest
-- column n -- episodes that passed or failed: the denominator of the rate
-- column passed -- episodes that passed
-- column failed -- episodes that failed
-- column undetermined -- episodes that are undetermined
-- column errors -- episodes with an error; none of them is a failed policy
-- column not_evaluated -- episodes without a verdict
-- column rate -- passed / n; in MEAN OF TASKS the mean of the tasks' rates; empty when n is 0
-- column low -- lower bound of the rate's Wilson 95 % interval; none for MEAN OF TASKS, nor where
--   several oracles count a trace more than once
-- column high -- upper bound of the interval
WITH summed AS (
  SELECT
    criterion, policy, suite, task, oracle, grouping(task) AS position,
    counted(n, outcome = 'passed') AS passed,
    counted(n, outcome = 'failed') AS failed,
    counted(n, outcome = 'undetermined') AS undetermined,
    counted(n, outcome = 'error') AS errors,
    counted(n, outcome = 'not_evaluated') AS not_evaluated,
    each_once(benchmark, suite, task, oracle) AS is_each_once
  FROM scored_kinds($evaluator, $order_mode, $oracle, $faults)
  GROUP BY GROUPING SETS ((criterion, policy, suite, task, oracle), (criterion, policy))
), rated AS (
  SELECT
    *,
    passed + failed AS n,
    ratio(passed, passed + failed) AS rate,
    CASE WHEN is_each_once THEN wilson_low(passed, passed + failed) END AS low,
    CASE WHEN is_each_once THEN wilson_high(passed, passed + failed) END AS high
  FROM summed
), means AS (
  SELECT
    criterion, policy, NULL AS suite, NULL AS task, NULL AS oracle, 2 AS position,
    sum(passed)::BIGINT AS passed, sum(failed)::BIGINT AS failed,
    sum(undetermined)::BIGINT AS undetermined, sum(errors)::BIGINT AS errors,
    sum(not_evaluated)::BIGINT AS not_evaluated, sum(n)::BIGINT AS n, avg(rate) AS rate,
    NULL AS low, NULL AS high
  FROM rated WHERE position = 0 GROUP BY criterion, policy
), all_rows AS (
  SELECT * EXCLUDE (is_each_once) FROM rated UNION ALL BY NAME SELECT * FROM means
)
SELECT
  criterion, policy, suite,
  CASE position WHEN 0 THEN task WHEN 1 THEN 'TOTAL' ELSE 'MEAN OF TASKS' END AS task,
  oracle, n, passed, failed, undetermined, errors, not_evaluated, rate, low, high
FROM all_rows
ORDER BY criterion, policy, position, suite, all_rows.task, oracle
