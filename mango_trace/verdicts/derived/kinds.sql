-- The different kinds of rows of joined, and how many there are of each: few, whatever the number of traces.
SELECT row_number() OVER (ORDER BY what)::INTEGER AS kind, n, what, unnest(what)
FROM (SELECT what, count(*) AS n FROM joined GROUP BY what)
