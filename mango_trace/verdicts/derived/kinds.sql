-- The different kinds of outcomes, and how many there are of each: few, whatever the number of traces.
SELECT kind, n, unnest(what)
FROM numbered
ORDER BY kind
