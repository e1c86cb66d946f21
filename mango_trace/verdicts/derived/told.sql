-- Labels by number of their trace; traces that are not judged yet have none. counts: borne out, or at least not refuted. Of several labels of a trace
-- (or of one labeller's) the first one that counts is meant, else the first: is_first (_of_who); among those
-- that name an action, is_first_named (_of_who). is_latest: a labeller's last one that counts. is_shared: it
-- counts, and so does one of another labeller.
WITH read AS (
  SELECT
    l.trace_id, t.trace, l.who, l.position, l.action_id, coalesce(l.parameters, []) AS parameters, l.state,
    l.failure_class, position_class(l.state, t.n_states) AS label_position,
    CASE
      WHEN l.action_id IS NULL THEN 'none' ELSE call_text(l.action_id, coalesce(l.parameters, []))
    END AS named,
    l.verified IS DISTINCT FROM false AS counts,
    l.action_id IS NOT NULL AS has_action
  FROM labels AS l LEFT JOIN listed AS t ON t.trace_id = l.trace_id
)
SELECT
  * EXCLUDE (has_action),
  row_number() OVER (PARTITION BY trace_id ORDER BY NOT counts, position, who) = 1 AS is_first,
  row_number() OVER (PARTITION BY trace_id, who ORDER BY NOT counts, position) = 1 AS is_first_of_who,
  has_action AND row_number() OVER (
    PARTITION BY trace_id, has_action ORDER BY NOT counts, position, who) = 1 AS is_first_named,
  has_action AND row_number() OVER (
    PARTITION BY trace_id, who, has_action ORDER BY NOT counts, position) = 1 AS is_first_named_of_who,
  counts AND row_number() OVER (
    PARTITION BY trace_id, who, counts ORDER BY position DESC) = 1 AS is_latest,
  counts AND min(who) OVER (PARTITION BY trace_id, counts) <> max(who) OVER (PARTITION BY trace_id, counts)
    AS is_shared
FROM read
ORDER BY trace, trace_id, who, position
