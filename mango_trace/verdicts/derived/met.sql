-- How often runs of two policies that start alike have which outcomes; a second run from a start meets the
-- other's second. with_faults: whether runs with an injected fault count; is_only: each pair of runs is in one
-- such row, whatever the number of oracles.
WITH begun AS (
  SELECT
    o.start, o.repetition, o.clean_repetition, k.evaluator, k.order_mode, k.suite, k.task, k.oracle,
    coalesce(k.oracle, '') AS asked, coalesce(k.place, 1) = 1 AS is_only, k.policy_label AS policy,
    k.has_fault, k.outcome, k.success_once, k.success_at_end
  FROM outcomes AS o JOIN kinds AS k ON k.kind = o.kind
), pairs AS (
  SELECT true AS with_faults, x, y
  FROM begun AS x
  JOIN begun AS y
    ON y.start = x.start AND y.repetition = x.repetition AND y.evaluator = x.evaluator
    AND y.order_mode = x.order_mode AND y.asked = x.asked AND y.policy <> x.policy
  UNION ALL
  SELECT false, x, y
  FROM (FROM begun WHERE NOT has_fault) AS x
  JOIN (FROM begun WHERE NOT has_fault) AS y
    ON y.start = x.start AND y.clean_repetition = x.clean_repetition AND y.evaluator = x.evaluator
    AND y.order_mode = x.order_mode AND y.asked = x.asked AND y.policy <> x.policy
)
SELECT
  with_faults, x.evaluator, x.order_mode, x.suite, x.task, x.oracle, x.is_only,
  x.policy AS policy_a, y.policy AS policy_b, x.outcome AS outcome_a, y.outcome AS outcome_b,
  x.success_once AS once_a, y.success_once AS once_b,
  x.success_at_end AS at_end_a, y.success_at_end AS at_end_b,
  count(*) AS n
FROM pairs
GROUP BY ALL
ORDER BY ALL
