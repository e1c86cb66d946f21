-- What the numbers of starts stand for.
SELECT DISTINCT start, init_state_id, initial_state
FROM listed
ORDER BY start
