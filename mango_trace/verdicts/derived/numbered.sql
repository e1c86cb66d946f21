-- The different kinds of rows of joined, how many there are of each, and a number for it.
SELECT row_number() OVER (ORDER BY what)::INTEGER AS kind, n, what
FROM (SELECT what, count(*) AS n FROM joined GROUP BY what)
