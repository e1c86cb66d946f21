-- Samples by number of their traces.
SELECT s.sample, t.trace
FROM samples AS s JOIN listed AS t ON t.trace_id = s.trace_id
ORDER BY ALL
