WITH both_checks AS (
  SELECT j.*, b.success_once AS benchmark_once, b.success_at_end AS benchmark_at_end
  FROM judged($evaluator, $order_mode, $oracle) AS j
  JOIN benchmark_says($evaluator) AS b ON b.trace_id = j.trace_id
), said AS (
  SELECT
    c.suite, c.task, c.oracle, m.position, m.meaning,
    CASE WHEN m.meaning = 'success_held_k' THEN nullif(c.hold, 0) END AS hold,
    c.outcome AS verdict,
    outcome_by(
      m.meaning, c.outcome, c.once, c.at_end, c.held_k, c.sequential, c.any_order, c.benchmark_once,
      c.benchmark_at_end
    ) AS outcome
  FROM both_checks AS c CROSS JOIN meanings() AS m
), counted AS (
  SELECT
    suite, task, oracle, position, meaning, grouping(task) AS is_total, max(hold) AS hold,
    count(*) FILTER (outcome = 'passed') AS passed,
    count(*) FILTER (outcome = 'failed') AS failed,
    count(*) FILTER (outcome = 'undetermined') AS undetermined,
    count(*) FILTER (outcome = 'error') AS errors,
    count(*) FILTER (outcome = 'not_evaluated') AS not_evaluated,
    count(*) FILTER (
      outcome IN ('passed', 'failed') AND verdict IN ('passed', 'failed') AND outcome <> verdict
    ) AS differs
  FROM said
  GROUP BY GROUPING SETS ((suite, task, oracle, position, meaning), (position, meaning))
)
SELECT
  suite,
  CASE WHEN is_total = 1 THEN 'TOTAL' ELSE task END AS task,
  short_digest(oracle) AS oracle,
  meaning, hold,
  passed + failed AS n,
  passed, failed, undetermined, errors, not_evaluated,
  ratio(passed, passed + failed) AS rate,
  wilson_low(passed, passed + failed) AS low,
  wilson_high(passed, passed + failed) AS high,
  differs
FROM counted
ORDER BY is_total, suite, counted.task, oracle, position
