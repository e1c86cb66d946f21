-- Traces in the order in which they are listed, each with its number in it.
-- start: number of what an episode starts from, with its seed; runs of two policies from one start pair.
-- repetition: the how manieth of its policy's runs from this start; clean_repetition: faulty runs not counted.
WITH numbered AS (  -- narrow, since sorting carries every column along
  SELECT
    trace_id, policy_label(policy, policy_version) AS policy_label, episode, fault IS NOT NULL AS has_fault,
    row_number() OVER (
      ORDER BY suite, task, policy_label(policy, policy_version), seed, episode, fault NULLS FIRST, trace_id
    )::INTEGER AS trace,
    dense_rank() OVER (
      ORDER BY benchmark, suite, task, init_state_id, initial_state, seed
    )::INTEGER AS start
  FROM traces
), repeated AS (
  SELECT
    trace_id, trace, policy_label, start,
    row_number() OVER (
      PARTITION BY policy_label, start ORDER BY episode, trace_id)::INTEGER AS repetition,
    row_number() OVER (
      PARTITION BY policy_label, start, has_fault ORDER BY episode, trace_id)::INTEGER AS clean_repetition
  FROM numbered
)
SELECT r.* EXCLUDE (trace_id), t.*
FROM repeated AS r JOIN traces AS t ON t.trace_id = r.trace_id
ORDER BY r.trace
