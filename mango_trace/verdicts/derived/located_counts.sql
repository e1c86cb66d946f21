-- How many rows of located are alike, but for how many states they are off: few, whatever the number of traces.
SELECT * EXCLUDE (trace, states_off), count(*) AS n
FROM located
GROUP BY ALL
ORDER BY ALL
