-- How many rows of located are alike: few, whatever the number of traces.
SELECT * EXCLUDE (trace), count(*) AS n
FROM located
GROUP BY ALL
ORDER BY ALL
