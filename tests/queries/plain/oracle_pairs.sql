WITH decided AS (
  SELECT
    trace_id, suite, task, oracle, outcome,
    count(*) FILTER (outcome = 'passed') OVER (PARTITION BY suite, task, oracle) AS n_passed
  FROM judged($evaluator, $order_mode, $oracle)
  WHERE oracle IS NOT NULL
), counted AS (
  SELECT
    x.suite, x.task, x.oracle, y.oracle AS other,
    count(*) FILTER (x.outcome = 'passed' AND y.outcome = 'passed') AS both_passed,
    count(*) FILTER (x.outcome = 'passed' AND y.outcome = 'failed') AS only_oracle,
    count(*) FILTER (x.outcome = 'failed' AND y.outcome = 'passed') AS only_other,
    count(*) FILTER (x.outcome = 'failed' AND y.outcome = 'failed') AS both_failed,
    count(*) AS traces
  FROM decided AS x
  JOIN decided AS y ON y.trace_id = x.trace_id AND y.suite = x.suite AND y.task = x.task
    AND (y.n_passed < x.n_passed OR (y.n_passed = x.n_passed AND y.oracle > x.oracle))
  GROUP BY x.suite, x.task, x.oracle, y.oracle
)
SELECT
  suite, task, short_digest(oracle) AS oracle, short_digest(other) AS other,
  both_passed + only_oracle + only_other + both_failed AS n,
  both_passed, only_oracle, only_other, both_failed,
  traces - (both_passed + only_oracle + only_other + both_failed) AS undecided
FROM counted
ORDER BY suite, task, oracle, other
