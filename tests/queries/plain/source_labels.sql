WITH claims AS (
  SELECT t.suite, t.task, t.source_label AS claim, b.success_once AS outcome
  FROM traces AS t JOIN benchmark_says($evaluator) AS b ON b.trace_id = t.trace_id
  WHERE t.source_label IS NOT NULL
), counted AS (
  SELECT
    suite, task, grouping(task) AS is_total,
    count(*) AS n_labelled,
    count(*) FILTER ((claim AND outcome = 'passed') OR (NOT claim AND outcome = 'failed')) AS agree,
    count(*) FILTER (claim AND outcome = 'failed') AS claimed_and_failed,
    count(*) FILTER (NOT claim AND outcome = 'passed') AS denied_and_passed,
    count(*) FILTER (outcome = 'undetermined') AS undetermined,
    count(*) FILTER (outcome = 'error') AS errors,
    count(*) FILTER (outcome = 'not_evaluated') AS not_evaluated
  FROM claims
  GROUP BY GROUPING SETS ((suite, task), ())
)
SELECT
  suite, CASE WHEN is_total = 1 THEN 'TOTAL' ELSE task END AS task,
  n_labelled, agree, claimed_and_failed + denied_and_passed AS disagree, claimed_and_failed,
  denied_and_passed, undetermined, errors, not_evaluated
FROM counted
ORDER BY is_total, suite, task
