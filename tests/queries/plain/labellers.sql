WITH latest AS (
  SELECT
    trace_id, who,
    CASE WHEN action_id IS NULL THEN 'none'
         ELSE action_id || '(' || array_to_string(coalesce(parameters, []), ', ') || ')' END AS named
  FROM labels WHERE verified IS DISTINCT FROM false
  QUALIFY row_number() OVER (PARTITION BY trace_id, who ORDER BY position DESC) = 1
), pairs AS (
  SELECT a.who AS first, b.who AS second, a.named AS named_1, b.named AS named_2
  FROM latest AS a JOIN latest AS b ON a.trace_id = b.trace_id AND a.who < b.who
), counts AS (
  SELECT first, second, count(*) AS n, count(*) FILTER (named_1 = named_2) AS n_equal
  FROM pairs GROUP BY first, second
), chance AS (
  SELECT a.first, a.second, sum(a.k * b.k) AS products
  FROM (SELECT first, second, named_1 AS named, count(*) AS k FROM pairs GROUP BY ALL) AS a
  JOIN (SELECT first, second, named_2 AS named, count(*) AS k FROM pairs GROUP BY ALL) AS b
    ON a.first = b.first AND a.second = b.second AND a.named = b.named
  GROUP BY a.first, a.second
), rated AS (
  SELECT
    c.first, c.second, n, n_equal, ratio(n_equal, n) AS agreement,
    coalesce(products, 0) / (n::DOUBLE * n) AS by_chance
  FROM counts AS c LEFT JOIN chance AS p ON p.first = c.first AND p.second = c.second
)
SELECT
  first, second, n, n_equal, agreement, by_chance,
  CASE WHEN by_chance < 1 THEN (agreement - by_chance) / (1 - by_chance) END AS kappa
FROM rated
ORDER BY first, second
