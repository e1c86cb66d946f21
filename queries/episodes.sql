-- Every episode with its outcome and with what must be equal where two policies are compared
-- answers: One row an episode (and oracle, where several judge it): its outcome by one meaning of
--   success, the action that failed first, where it started, and under which conditions it ran.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter faults BOOLEAN false -- traces with an injected fault too
-- parameter meaning VARCHAR 'verdict' -- what success means, as in the query termination
-- parameter a VARCHAR '' -- a policy, by name or name@version; '' for a and b = all policies
-- parameter b VARCHAR '' -- another policy
-- parameter limit BIGINT 0 -- rows at most; 0 = all
-- column suite -- suite of the task
-- column task -- task
-- column task_index -- index of the task in the suite's order
-- column policy -- policy and its version
-- column policy_name -- policy without its version
-- column trace_id -- the trace
-- column seed -- seed of the recording
-- column episode -- index of the episode
-- column init_state_id -- initial state that it claims to start from
-- column initial_state -- digest of the first state's positions
-- column fault -- injected fault, if any
-- column oracle -- beginning of the fine-grained oracle's digest
-- column evaluator -- evaluator whose verdicts count
-- column other_evaluators -- others that judged the trace
-- column outcome -- passed, failed, undetermined, error or not_evaluated
-- column hold -- states that success_held_k asks for, if that is the meaning
-- column first_failed_action -- first action in plan order that did not complete
-- column reason -- why it did not
-- column horizon -- policy steps after which it would be cut off, or that it ran
-- column cap -- the same where it is known to be the limit: it was cut off, or ended before
-- column physics -- version of MuJoCo that it was recorded with, or unknown
-- column scene -- digest of the scene
WITH page AS (
  SELECT * FROM judged($evaluator, $order_mode, $oracle) AS j
  WHERE ($faults OR NOT j.has_fault)
    AND ($a = '' AND $b = '' OR j.policy IN ($a, $b) OR j.policy_label IN ($a, $b))
  ORDER BY j.trace, j.oracle
  LIMIT rows_of($limit)
), others AS (
  SELECT o.trace, list(DISTINCT k.evaluator ORDER BY k.evaluator) AS evaluators
  FROM outcomes AS o JOIN kinds AS k ON k.kind = o.kind
  WHERE (k.has_verdict OR k.goal IS NOT NULL) AND k.evaluator <> chosen_evaluator($evaluator)
    AND o.trace IN (SELECT trace FROM page)
  GROUP BY o.trace
)
SELECT
  j.suite, j.task, t.task_index, j.policy_label AS policy, j.policy AS policy_name, t.trace_id, t.seed,
  t.episode, t.init_state_id, t.initial_state, t.fault,
  short_digest(j.oracle) AS oracle,
  chosen_evaluator($evaluator) AS evaluator,
  coalesce(o.evaluators, []) AS other_evaluators,
  outcome_by(
    $meaning, j.outcome, j.once, j.at_end, j.held_k, j.sequential, j.any_order, j.success_once,
    j.success_at_end
  ) AS outcome,
  CASE WHEN $meaning = 'success_held_k' THEN nullif(j.hold, 0) END AS hold,
  j.first_failed_action, j.reason, t.horizon,
  CASE
    WHEN j.ended = 'truncated' OR t.horizon > t.n_steps - t.warmup_steps THEN t.horizon
  END AS cap,
  j.physics,
  t.scene
FROM page AS j
JOIN listed AS t ON t.trace = j.trace
LEFT JOIN others AS o ON o.trace = j.trace
ORDER BY j.trace, j.oracle
