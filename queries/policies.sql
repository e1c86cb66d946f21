-- Which of two policies is better, or that the data do not say
-- answers: Every pair of policies by task and over the tasks that both ran. Episodes are paired where
--   task, initial state (its id and its content) and seed coincide; if all of the smaller side are,
--   the exact McNemar test decides at 5 %, else whether Newcombe's 95 % interval of the difference
--   leaves out 0. Rates are not compared across physics versions or different mixes of tasks.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter faults BOOLEAN false -- count traces with an injected fault too
-- parameter a VARCHAR '' -- policy A, by name or name@version; '' = each in turn
-- parameter b VARCHAR '' -- policy B
-- column criterion -- benchmark_success_once, benchmark_success_at_end or fine_grained
-- column suite -- suite of the task; empty in the total
-- column task -- task, or TOTAL over the tasks that both ran
-- column oracle -- beginning of the fine-grained oracle's digest
-- column policy_a -- policy A and its version
-- column policy_b -- policy B and its version; empty when there is only one policy
-- column verdict -- A better, B better, not separated, or not comparable with the reason
-- column method -- how it was compared: paired or unpaired
-- column n_a -- episodes of A that passed or failed: the denominator of its rate
-- column passed_a -- episodes of A that passed
-- column failed_a -- episodes of A that failed
-- column undetermined_a -- episodes of A that are undetermined
-- column errors_a -- episodes of A with an error
-- column not_evaluated_a -- episodes of A without a verdict
-- column rate_a -- passed_a / n_a
-- column low_a -- lower bound of A's Wilson 95 % interval
-- column high_a -- upper bound of A's Wilson 95 % interval
-- column n_b -- the same of B
-- column passed_b -- the same of B
-- column failed_b -- the same of B
-- column undetermined_b -- the same of B
-- column errors_b -- the same of B
-- column not_evaluated_b -- the same of B
-- column rate_b -- the same of B
-- column low_b -- the same of B
-- column high_b -- the same of B
-- column difference -- rate_a - rate_b
-- column difference_low -- lower bound of Newcombe's 95 % interval of the difference, if unpaired
-- column difference_high -- upper bound of the interval
-- column n_pairs -- pairs of episodes that both passed or failed
-- column only_a -- pairs in which only A passed
-- column only_b -- pairs in which only B passed
-- column mcnemar_p -- p-value of the exact McNemar test, if paired
WITH scored AS MATERIALIZED (
  SELECT * FROM scored_kinds($evaluator, $order_mode, $oracle, $faults)
), policies AS (
  SELECT DISTINCT policy, policy_name FROM scored
), duos AS (
  SELECT x.policy AS policy_a, y.policy AS policy_b
  FROM policies AS x JOIN policies AS y ON x.policy <> y.policy
  WHERE CASE
    WHEN $a = '' AND $b = '' THEN x.policy < y.policy
    ELSE $a IN ('', x.policy, x.policy_name) AND $b IN ('', y.policy, y.policy_name)
  END
  UNION ALL
  SELECT policy, NULL FROM policies WHERE (SELECT count(*) FROM policies) = 1
), counts AS MATERIALIZED (  -- one policy, one task
  SELECT
    criterion, oracle, policy, suite, task,
    counted(n, true) AS episodes,
    counted(n, outcome = 'passed') AS passed,
    counted(n, outcome = 'failed') AS failed,
    counted(n, outcome = 'undetermined') AS undetermined,
    counted(n, outcome = 'error') AS errors,
    counted(n, outcome = 'not_evaluated') AS not_evaluated,
    list(DISTINCT physics) AS physics
  FROM scored GROUP BY criterion, oracle, policy, suite, task
), pairs AS (
  SELECT m.* FROM met AS m JOIN duos AS d ON d.policy_a = m.policy_a AND d.policy_b = m.policy_b
  WHERE m.with_faults = $faults AND m.evaluator = chosen_evaluator($evaluator)
), met_by AS (
  SELECT
    'benchmark_success_once' AS criterion, NULL AS oracle, suite, task, policy_a, policy_b,
    once_a AS a, once_b AS b, n
  FROM pairs WHERE is_only AND order_mode = 'report'
  UNION ALL
  SELECT 'benchmark_success_at_end', NULL, suite, task, policy_a, policy_b, at_end_a, at_end_b, n
  FROM pairs WHERE is_only AND order_mode = 'report'
  UNION ALL
  SELECT 'fine_grained', short_digest(oracle), suite, task, policy_a, policy_b, outcome_a, outcome_b, n
  FROM pairs WHERE order_mode = $order_mode AND oracle IN (SELECT oracle FROM chosen_oracles($oracle))
), paired AS (
  SELECT
    criterion, oracle, suite, task, policy_a, policy_b,
    counted(n, true) AS n_pairs,
    counted(n, a = 'passed' AND b = 'failed') AS only_a,
    counted(n, a = 'failed' AND b = 'passed') AS only_b
  FROM met_by
  WHERE a IN ('passed', 'failed') AND b IN ('passed', 'failed')
  GROUP BY ALL
), cells AS (  -- two policies, one task
  SELECT
    d.policy_a, d.policy_b, k.criterion, k.suite, k.task, k.oracle,
    coalesce(x.episodes, 0) AS episodes_a,
    coalesce(x.passed, 0) AS passed_a, coalesce(x.failed, 0) AS failed_a,
    coalesce(x.undetermined, 0) AS undetermined_a, coalesce(x.errors, 0) AS errors_a,
    coalesce(x.not_evaluated, 0) AS not_evaluated_a,
    coalesce(y.episodes, 0) AS episodes_b,
    coalesce(y.passed, 0) AS passed_b, coalesce(y.failed, 0) AS failed_b,
    coalesce(y.undetermined, 0) AS undetermined_b, coalesce(y.errors, 0) AS errors_b,
    coalesce(y.not_evaluated, 0) AS not_evaluated_b,
    coalesce(p.n_pairs, 0) AS n_pairs,
    coalesce(p.only_a, 0) AS only_a, coalesce(p.only_b, 0) AS only_b,
    list_concat(coalesce(x.physics, []), coalesce(y.physics, [])) AS physics
  FROM duos AS d
  CROSS JOIN (SELECT DISTINCT criterion, suite, task, oracle FROM counts) AS k
  LEFT JOIN counts AS x
    ON x.policy = d.policy_a AND x.criterion = k.criterion AND x.suite = k.suite
    AND x.task = k.task AND x.oracle IS NOT DISTINCT FROM k.oracle
  LEFT JOIN counts AS y
    ON y.policy = d.policy_b AND y.criterion = k.criterion AND y.suite = k.suite
    AND y.task = k.task AND y.oracle IS NOT DISTINCT FROM k.oracle
  LEFT JOIN paired AS p
    ON p.policy_a = d.policy_a AND p.policy_b = d.policy_b AND p.criterion = k.criterion
    AND p.suite = k.suite AND p.task = k.task AND p.oracle IS NOT DISTINCT FROM k.oracle
  WHERE coalesce(x.episodes, 0) + coalesce(y.episodes, 0) > 0
), shared AS (  -- tasks that both ran, with the share that each task has of a policy's episodes
  SELECT
    *,
    ratio(passed_a + failed_a, sum(passed_a + failed_a) OVER duo) AS weight_a,
    ratio(passed_b + failed_b, sum(passed_b + failed_b) OVER duo) AS weight_b
  FROM cells
  WHERE episodes_a > 0 AND episodes_b > 0
  WINDOW duo AS (PARTITION BY policy_a, policy_b, criterion)
), compared AS (
  SELECT
    * EXCLUDE (episodes_a, episodes_b, physics),
    list_distinct(physics) AS physics, 0.0 AS mix_gap, false AS several_oracles, 0 AS is_total
  FROM cells
  UNION ALL BY NAME
  SELECT
    policy_a, policy_b, criterion, NULL AS suite, 'TOTAL' AS task, NULL AS oracle,
    sum(passed_a)::BIGINT AS passed_a, sum(failed_a)::BIGINT AS failed_a,
    sum(undetermined_a)::BIGINT AS undetermined_a, sum(errors_a)::BIGINT AS errors_a,
    sum(not_evaluated_a)::BIGINT AS not_evaluated_a,
    sum(passed_b)::BIGINT AS passed_b, sum(failed_b)::BIGINT AS failed_b,
    sum(undetermined_b)::BIGINT AS undetermined_b, sum(errors_b)::BIGINT AS errors_b,
    sum(not_evaluated_b)::BIGINT AS not_evaluated_b,
    sum(n_pairs)::BIGINT AS n_pairs, sum(only_a)::BIGINT AS only_a, sum(only_b)::BIGINT AS only_b,
    list_distinct(flatten(list(physics))) AS physics,
    max(abs(weight_a - weight_b)) AS mix_gap,
    count(*) > count(DISTINCT (suite, task)) AS several_oracles,
    1 AS is_total
  FROM shared GROUP BY policy_a, policy_b, criterion
), measured AS (
  SELECT
    *,
    passed_a + failed_a AS n_a,
    passed_b + failed_b AS n_b,
    ratio(passed_a, n_a) AS rate_a, wilson_low(passed_a, n_a) AS low_a, wilson_high(passed_a, n_a) AS high_a,
    ratio(passed_b, n_b) AS rate_b, wilson_low(passed_b, n_b) AS low_b, wilson_high(passed_b, n_b) AS high_b,
    n_pairs > 0 AND n_pairs >= least(n_a, n_b) AS is_paired,
    mcnemar_p(only_a, only_b) AS p_of_pairs
  FROM compared
), reasoned AS (
  SELECT *, CASE
    WHEN policy_b IS NULL THEN 'only one policy'
    WHEN n_a = 0 OR n_b = 0 THEN 'no judged episode of ' || CASE WHEN n_a = 0 THEN 'A' ELSE 'B' END
    WHEN list_contains(physics, 'unknown') THEN 'physics version unknown'
    WHEN len(physics) > 1 THEN 'physics version differs'
    WHEN several_oracles THEN 'several oracles judge a task, choose with oracle='
    WHEN NOT is_paired AND mix_gap > 0.05 THEN 'episodes by task differ'
  END AS obstacle,
  difference_low(rate_a, low_a, rate_b, high_b) AS lowest_difference,
  difference_high(rate_a, high_a, rate_b, low_b) AS highest_difference
  FROM measured
)
SELECT
  criterion, suite, task, oracle, policy_a, policy_b,
  CASE
    WHEN obstacle IS NOT NULL THEN 'not comparable: ' || obstacle
    WHEN is_paired AND p_of_pairs >= 0.05 THEN 'not separated'
    WHEN is_paired THEN CASE WHEN only_a > only_b THEN 'A better' ELSE 'B better' END
    WHEN lowest_difference > 0 THEN 'A better'
    WHEN highest_difference < 0 THEN 'B better'
    ELSE 'not separated'
  END AS verdict,
  CASE WHEN obstacle IS NULL THEN CASE WHEN is_paired THEN 'paired' ELSE 'unpaired' END END
    AS method,
  n_a, passed_a, failed_a, undetermined_a, errors_a, not_evaluated_a,
  rate_a, low_a, high_a,
  n_b, passed_b, failed_b, undetermined_b, errors_b, not_evaluated_b,
  rate_b, low_b, high_b,
  CASE WHEN obstacle IS NULL THEN rate_a - rate_b END AS difference,
  CASE WHEN obstacle IS NULL AND NOT is_paired THEN lowest_difference END AS difference_low,
  CASE WHEN obstacle IS NULL AND NOT is_paired THEN highest_difference END AS difference_high,
  n_pairs, only_a, only_b,
  CASE WHEN obstacle IS NULL AND is_paired THEN p_of_pairs END AS mcnemar_p
FROM reasoned
ORDER BY criterion, policy_a, policy_b, is_total, suite, task, oracle
