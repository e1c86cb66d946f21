-- One row a trace, evaluator, order and oracle of the trace's task, with the benchmark's goal beside it.
-- An oracle is of a task if the evaluator judged any trace of the task by it in this order; of a task that
-- has none, each trace has one row without an oracle. What takes few values is in one column, what: it makes
-- the kind of the row.
-- A recording that broke says nothing about the policy: its outcome is error, never failed.
WITH evaluators AS (
  SELECT evaluator FROM runs
  UNION SELECT evaluator FROM verdicts
  UNION SELECT evaluator FROM end_state
  UNION SELECT '' WHERE NOT EXISTS (  -- no run has left anything yet
    FROM runs WHERE evaluator IN (SELECT evaluator FROM verdicts UNION SELECT evaluator FROM end_state))
), ways AS (
  SELECT evaluator, 'report' AS order_mode FROM evaluators
  UNION SELECT evaluator, order_mode FROM verdicts
), fine_grained AS (
  SELECT v.* FROM verdicts AS v JOIN oracles AS o ON o.oracle = v.oracle
  WHERE o.kind = 'fine_grained'
), goals AS (  -- a trace has one, unless its task's goal was read otherwise by the same evaluator
  SELECT * FROM end_state
  QUALIFY row_number() OVER (PARTITION BY trace_id, evaluator ORDER BY oracle) = 1
), of_task AS (
  SELECT *, row_number() OVER (
    PARTITION BY benchmark, suite, task, evaluator, order_mode ORDER BY oracle)::INTEGER AS place
  FROM (
    SELECT DISTINCT t.benchmark, t.suite, t.task, v.evaluator, v.order_mode, v.oracle
    FROM fine_grained AS v JOIN listed AS t ON t.trace_id = v.trace_id
  )
)
SELECT
  t.trace,
  struct_pack(
    benchmark := t.benchmark, suite := t.suite, task := t.task,
    evaluator := w.evaluator, order_mode := w.order_mode,
    oracle := o.oracle, place := o.place,
    policy := t.policy, policy_label := t.policy_label, has_fault := t.fault IS NOT NULL,
    physics := coalesce(t.mujoco_recorded, 'unknown'), status := t.status, ended := t.ended,
    source_label := t.source_label,
    outcome := CASE
      WHEN t.ended = 'error' OR t.status = 'error' THEN 'error'
      ELSE coalesce(v.outcome, 'not_evaluated')
    END,
    has_verdict := v.trace_id IS NOT NULL, n_actions := v.n_actions, completed := v.completed,
    once := v.once, at_end := v.at_end, held_k := v.held_k, sequential := v.sequential,
    any_order := v.any_order, hold := v.hold, intervals := v.intervals,
    goal := e.oracle,
    success_once := CASE
      WHEN t.ended = 'error' OR t.status = 'error' THEN 'error'
      ELSE coalesce(e.outcome, 'not_evaluated')
    END,
    success_at_end := CASE
      WHEN t.ended = 'error' OR t.status = 'error' OR e.outcome = 'error' THEN 'error'
      ELSE coalesce(e.at_end, 'not_evaluated')
    END
  ) AS what,
  t.seed, t.start, t.repetition, t.clean_repetition,
  v.error, v.passed_at, v.first_failed, v.first_failed_action, v.failed_set, v.stopped_at, v.reason,
  v.violations, e.first_success, e.lag_states, e.error AS goal_error
FROM listed AS t
CROSS JOIN ways AS w
LEFT JOIN of_task AS o
  ON o.benchmark = t.benchmark AND o.suite = t.suite AND o.task = t.task
  AND o.evaluator = w.evaluator AND o.order_mode = w.order_mode
LEFT JOIN fine_grained AS v
  ON v.trace_id = t.trace_id AND v.oracle = o.oracle AND v.evaluator = w.evaluator
  AND v.order_mode = w.order_mode
LEFT JOIN goals AS e ON e.trace_id = t.trace_id AND e.evaluator = w.evaluator
