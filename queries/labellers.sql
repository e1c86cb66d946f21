-- How far labellers agree on what failed first
-- answers: For every two labellers: on the traces that both labelled, how often do they name the same
--   first failed action, and Cohen's kappa, which takes off what chance would give. The latest label of
--   each counts. Injected faults are a labeller too, except where the states refute their label.
-- column first -- one labeller
-- column second -- the other
-- column n -- traces that both labelled
-- column n_equal -- of those, the same first failed action (or both that none failed)
-- column agreement -- n_equal / n
-- column by_chance -- agreement that their own frequencies would give by chance
-- column kappa -- (agreement - by_chance) / (1 - by_chance); none where chance alone gives agreement
WITH pairs AS (
  SELECT a.who AS first, b.who AS second, a.named AS named_1, b.named AS named_2, count(*) AS k
  FROM (FROM told WHERE is_latest AND is_shared) AS a
  JOIN (FROM told WHERE is_latest AND is_shared) AS b ON a.trace_id = b.trace_id AND a.who < b.who
  GROUP BY ALL
), counts AS (
  SELECT first, second, counted(k, true) AS n, counted(k, named_1 = named_2) AS n_equal
  FROM pairs GROUP BY first, second
), chance AS (
  SELECT a.first, a.second, sum(a.k * b.k) AS products
  FROM (SELECT first, second, named_1 AS named, sum(k) AS k FROM pairs GROUP BY ALL) AS a
  JOIN (SELECT first, second, named_2 AS named, sum(k) AS k FROM pairs GROUP BY ALL) AS b
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
