-- What imported files claim against what their states show
-- answers: For every task and in total, how often the success that a file claims is the outcome of the
--   benchmark's own goal on the stored states. A claim is no measurement: LIBERO's demonstrations
--   claim success always, others never.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- column suite -- suite of the task; empty in the total
-- column task -- task, or TOTAL
-- column n_labelled -- traces whose source claims success or failure
-- column agree -- claim and outcome are the same
-- column disagree -- claim and outcome are opposites
-- column claimed_and_failed -- claimed success, the states say failed
-- column denied_and_passed -- claimed failure, the states say passed
-- column undetermined -- the states do not tell, e.g. because the terminal state was not stored
-- column errors -- traces with an error
-- column not_evaluated -- traces without an end-state verdict
WITH summed AS (
  SELECT
    suite, task, grouping(task) AS is_total,
    counted(n, true) AS n_labelled,
    counted(n, source_label = (success_once = 'passed') AND success_once IN ('passed', 'failed')) AS agree,
    counted(n, source_label AND success_once = 'failed') AS claimed_and_failed,
    counted(n, NOT source_label AND success_once = 'passed') AS denied_and_passed,
    counted(n, success_once = 'undetermined') AS undetermined,
    counted(n, success_once = 'error') AS errors,
    counted(n, success_once = 'not_evaluated') AS not_evaluated
  FROM goal_kinds($evaluator)
  WHERE source_label IS NOT NULL
  GROUP BY GROUPING SETS ((suite, task), ())
)
SELECT
  suite, CASE WHEN is_total = 1 THEN 'TOTAL' ELSE task END AS task,
  n_labelled, agree, claimed_and_failed + denied_and_passed AS disagree, claimed_and_failed,
  denied_and_passed, undetermined, errors, not_evaluated
FROM summed
ORDER BY is_total, suite, summed.task
