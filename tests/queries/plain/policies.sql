WITH episodes AS MATERIALIZED (
  SELECT
    *,
    -- The second run from the same start with the same seed pairs with the other's second.
    row_number() OVER (
      PARTITION BY criterion, oracle, policy, suite, task, init_state_id, initial_state, seed
      ORDER BY episode, trace_id
    ) AS repetition
  FROM scored($evaluator, $order_mode, $oracle, $faults)
), policies AS (
  SELECT DISTINCT policy, policy_name FROM episodes
), duos AS (
  SELECT x.policy AS policy_a, y.policy AS policy_b
  FROM policies AS x JOIN policies AS y ON x.policy <> y.policy
  WHERE CASE
    WHEN $a = '' AND $b = '' THEN x.policy < y.policy
    ELSE $a IN ('', x.policy, x.policy_name) AND $b IN ('', y.policy, y.policy_name)
  END
  UNION ALL
  SELECT policy, NULL FROM policies WHERE (SELECT count(*) FROM policies) = 1
), counts AS (  -- one policy, one task
  SELECT
    criterion, oracle, policy, suite, task,
    count(*) AS episodes,
    count(*) FILTER (outcome = 'passed') AS passed,
    count(*) FILTER (outcome = 'failed') AS failed,
    count(*) FILTER (outcome = 'undetermined') AS undetermined,
    count(*) FILTER (outcome = 'error') AS errors,
    count(*) FILTER (outcome = 'not_evaluated') AS not_evaluated,
    list(DISTINCT physics) AS physics
  FROM episodes GROUP BY criterion, oracle, policy, suite, task
), paired AS (
  SELECT
    x.criterion, x.oracle, x.suite, x.task, x.policy AS policy_a, y.policy AS policy_b,
    count(*) AS n_pairs,
    count(*) FILTER (x.outcome = 'passed' AND y.outcome = 'failed') AS only_a,
    count(*) FILTER (x.outcome = 'failed' AND y.outcome = 'passed') AS only_b
  FROM episodes AS x
  JOIN episodes AS y
    ON y.criterion = x.criterion AND y.oracle IS NOT DISTINCT FROM x.oracle
    AND y.suite = x.suite AND y.task = x.task AND y.seed = x.seed
    AND y.init_state_id IS NOT DISTINCT FROM x.init_state_id
    AND y.initial_state = x.initial_state AND y.repetition = x.repetition
    AND y.policy <> x.policy
  WHERE x.outcome IN ('passed', 'failed') AND y.outcome IN ('passed', 'failed')
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
    n_pairs > 0 AND n_pairs >= least(passed_a + failed_a, passed_b + failed_b) AS is_paired,
    newcombe_low(passed_a, passed_a + failed_a, passed_b, passed_b + failed_b) AS difference_low,
    newcombe_high(passed_a, passed_a + failed_a, passed_b, passed_b + failed_b) AS difference_high
  FROM compared
), reasoned AS (
  SELECT *, CASE
    WHEN policy_b IS NULL THEN 'only one policy'
    WHEN n_a = 0 OR n_b = 0 THEN 'no judged episode of ' || CASE WHEN n_a = 0 THEN 'A' ELSE 'B' END
    WHEN list_contains(physics, 'unknown') THEN 'physics version unknown'
    WHEN len(physics) > 1 THEN 'physics version differs'
    WHEN several_oracles THEN 'several oracles judge a task, choose with oracle='
    WHEN NOT is_paired AND mix_gap > 0.05 THEN 'episodes by task differ'
  END AS obstacle
  FROM measured
)
SELECT
  criterion, suite, task, oracle, policy_a, policy_b,
  CASE
    WHEN obstacle IS NOT NULL THEN 'not comparable: ' || obstacle
    WHEN is_paired AND mcnemar_p(only_a, only_b) >= 0.05 THEN 'not separated'
    WHEN is_paired THEN CASE WHEN only_a > only_b THEN 'A better' ELSE 'B better' END
    WHEN difference_low > 0 THEN 'A better'
    WHEN difference_high < 0 THEN 'B better'
    ELSE 'not separated'
  END AS verdict,
  CASE WHEN obstacle IS NULL THEN CASE WHEN is_paired THEN 'paired' ELSE 'unpaired' END END
    AS method,
  n_a, passed_a, failed_a, undetermined_a, errors_a, not_evaluated_a,
  ratio(passed_a, n_a) AS rate_a,
  wilson_low(passed_a, n_a) AS low_a,
  wilson_high(passed_a, n_a) AS high_a,
  n_b, passed_b, failed_b, undetermined_b, errors_b, not_evaluated_b,
  ratio(passed_b, n_b) AS rate_b,
  wilson_low(passed_b, n_b) AS low_b,
  wilson_high(passed_b, n_b) AS high_b,
  CASE WHEN obstacle IS NULL THEN ratio(passed_a, n_a) - ratio(passed_b, n_b) END AS difference,
  CASE WHEN obstacle IS NULL AND NOT is_paired THEN difference_low END AS difference_low,
  CASE WHEN obstacle IS NULL AND NOT is_paired THEN difference_high END AS difference_high,
  n_pairs, only_a, only_b,
  CASE WHEN obstacle IS NULL AND is_paired THEN mcnemar_p(only_a, only_b) END AS mcnemar_p
FROM reasoned
ORDER BY criterion, policy_a, policy_b, is_total, suite, task, oracle
