-- How many rows of a kind are of runs that begin and may last alike.
SELECT
  o.kind, o.start, t.horizon, t.longest_demonstration, t.premise_violations, count(*) AS n
FROM outcomes AS o
JOIN kinds AS k ON k.kind = o.kind
JOIN listed AS t ON t.trace = o.trace
WHERE coalesce(k.place, 1) = 1 AND k.order_mode = 'report'
GROUP BY ALL
ORDER BY ALL
