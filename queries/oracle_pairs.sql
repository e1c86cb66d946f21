-- Two oracles of a task on the same traces
-- answers: For every two fine-grained oracles that judged traces of a task: how many traces pass the one and not
--   the other. The oracle that passes more comes first; if the other one asks for more, only_other is 0.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- column suite -- suite of the task
-- column task -- task
-- column oracle -- beginning of the digest of the one that passes more
-- column other -- beginning of the digest of the other one
-- column n -- traces that both passed or failed
-- column both_passed -- traces that both passed
-- column only_oracle -- traces that the first passed and the other failed
-- column only_other -- traces that the other passed and the first failed
-- column both_failed -- traces that both failed
-- column undecided -- traces of which one says nothing: undetermined, an error or not evaluated
WITH several AS (  -- kinds of tasks that several oracles judge
  SELECT
    kind, benchmark, suite, task, oracle, outcome,
    sum(n) FILTER (outcome = 'passed') OVER (PARTITION BY suite, task, oracle) AS n_passed
  FROM judged_kinds($evaluator, $order_mode, $oracle)
  WHERE oracle IS NOT NULL
  QUALIFY min(oracle) OVER (PARTITION BY benchmark, suite, task)
    <> max(oracle) OVER (PARTITION BY benchmark, suite, task)
), pairs AS (  -- stricter and laxer kind
  SELECT
    x.kind AS kind_x, y.kind AS kind_y, x.suite, x.task, x.oracle, y.oracle AS other,
    x.outcome AS outcome_x, y.outcome AS outcome_y
  FROM several AS x JOIN several AS y
    ON y.benchmark = x.benchmark AND y.suite = x.suite AND y.task = x.task
    AND (coalesce(y.n_passed, 0) < coalesce(x.n_passed, 0)
      OR (coalesce(y.n_passed, 0) = coalesce(x.n_passed, 0) AND y.oracle > x.oracle))
), found AS (  -- how often one trace has both
  SELECT x.kind AS kind_x, y.kind AS kind_y, count(*) AS n
  FROM (SELECT trace, kind FROM outcomes WHERE kind IN (SELECT kind FROM several)) AS x
  JOIN (SELECT trace, kind FROM outcomes WHERE kind IN (SELECT kind FROM several)) AS y ON y.trace = x.trace
  GROUP BY ALL
), summed AS (
  SELECT
    p.suite, p.task, p.oracle, p.other,
    counted(n, outcome_x = 'passed' AND outcome_y = 'passed') AS both_passed,
    counted(n, outcome_x = 'passed' AND outcome_y = 'failed') AS only_oracle,
    counted(n, outcome_x = 'failed' AND outcome_y = 'passed') AS only_other,
    counted(n, outcome_x = 'failed' AND outcome_y = 'failed') AS both_failed,
    counted(n, true) AS traces
  FROM pairs AS p JOIN found AS m ON m.kind_x = p.kind_x AND m.kind_y = p.kind_y
  GROUP BY p.suite, p.task, p.oracle, p.other
)
SELECT
  suite, task, short_digest(oracle) AS oracle, short_digest(other) AS other,
  both_passed + only_oracle + only_other + both_failed AS n,
  both_passed, only_oracle, only_other, both_failed,
  traces - (both_passed + only_oracle + only_other + both_failed) AS undecided
FROM summed
ORDER BY suite, task, oracle, other
