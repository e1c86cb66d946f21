-- How often runs of two policies start alike, by the kinds of their outcomes; a second run from a start meets
-- the other's second. with_faults: whether runs with an injected fault count.
WITH begun AS (
  SELECT
    o.kind, o.start, o.repetition, o.clean_repetition, k.evaluator, k.order_mode,
    coalesce(k.oracle, '') AS oracle, k.policy_label, k.has_fault
  FROM outcomes AS o JOIN kinds AS k ON k.kind = o.kind
)
SELECT true AS with_faults, x.kind AS kind_a, y.kind AS kind_b, count(*) AS n
FROM begun AS x
JOIN begun AS y
  ON y.start = x.start AND y.repetition = x.repetition AND y.evaluator = x.evaluator
  AND y.order_mode = x.order_mode AND y.oracle = x.oracle
WHERE y.policy_label <> x.policy_label
GROUP BY x.kind, y.kind
UNION ALL
SELECT false, x.kind, y.kind, count(*)
FROM begun AS x
JOIN begun AS y
  ON y.start = x.start AND y.clean_repetition = x.clean_repetition AND y.evaluator = x.evaluator
  AND y.order_mode = x.order_mode AND y.oracle = x.oracle
WHERE y.policy_label <> x.policy_label AND NOT x.has_fault AND NOT y.has_fault
GROUP BY x.kind, y.kind
ORDER BY ALL
