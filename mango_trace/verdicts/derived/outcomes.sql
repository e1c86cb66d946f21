-- Rows of joined, each with the number of its kind, in the order in which traces are listed.
SELECT j.* EXCLUDE (what), k.kind
FROM joined AS j
JOIN numbered AS k ON k.what IS NOT DISTINCT FROM j.what
ORDER BY j.trace, k.kind
