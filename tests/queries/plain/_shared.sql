-- What the queries of this folder build on: the plain way, from the tables that an evaluation writes.

-- Which verdicts count -----------------------------------------------------------------------

-- The evaluator that was asked for, or that of the latest run that left anything.
CREATE TEMP MACRO chosen_evaluator(wanted) AS (
  CASE WHEN wanted <> '' THEN wanted ELSE (
    SELECT runs.evaluator FROM runs
    WHERE runs.evaluator IN (
      SELECT verdicts.evaluator FROM verdicts UNION SELECT end_state.evaluator FROM end_state)
    ORDER BY runs.run DESC LIMIT 1
  ) END
);

-- Fine-grained oracles by name or by the beginning of their digest; several with commas, '' = all.
CREATE TEMP MACRO chosen_oracles(wanted) AS TABLE
  SELECT DISTINCT o.oracle, o.name AS oracle_name, o.n_actions AS oracle_actions
  FROM oracles AS o, unnest(string_split(wanted, ',')) AS given(text)
  WHERE o.kind = 'fine_grained'
    AND (wanted = '' OR trim(given.text) = o.name OR starts_with(o.oracle, trim(given.text)));

-- Whether a trace was drawn for a sample; '' = all traces.
CREATE TEMP MACRO in_sample(trace, wanted) AS (
  wanted = '' OR trace IN (SELECT s.trace_id FROM samples AS s WHERE s.sample = wanted)
);

-- Outcomes -----------------------------------------------------------------------------------

-- One row a trace and an oracle of its task. The outcome is passed, failed, undetermined, error or
-- not_evaluated. A recording that broke says nothing about the policy: it is an error, never failed.
CREATE TEMP MACRO judged(wanted_evaluator, wanted_order, wanted_oracle) AS TABLE
  WITH chosen AS (
    SELECT v.*, o.oracle_name FROM verdicts AS v
    JOIN chosen_oracles(wanted_oracle) AS o ON o.oracle = v.oracle
    WHERE v.evaluator = chosen_evaluator(wanted_evaluator) AND v.order_mode = wanted_order
  ), of_task AS (
    SELECT DISTINCT t.benchmark, t.suite, t.task, c.oracle, c.oracle_name
    FROM chosen AS c JOIN traces AS t ON t.trace_id = c.trace_id
  )
  SELECT
    t.*,
    policy_label(t.policy, t.policy_version) AS policy_label,
    o.oracle, o.oracle_name,
    CASE
      WHEN t.ended = 'error' OR t.status = 'error' THEN 'error'
      ELSE coalesce(v.outcome, 'not_evaluated')
    END AS outcome,
    v.evaluator, v.error, v.passed_at, v.n_actions, v.completed, v.first_failed,
    v.first_failed_action, v.failed_set, v.stopped_at, v.reason, v.violations, v.once, v.at_end,
    v.held_k, v.sequential, v.any_order, v.hold, v.intervals
  FROM traces AS t
  LEFT JOIN of_task AS o
    ON o.benchmark = t.benchmark AND o.suite = t.suite AND o.task = t.task
  LEFT JOIN chosen AS v ON v.trace_id = t.trace_id AND v.oracle = o.oracle;

-- One row a trace: the benchmark's own goal, by its protocol (once) and at the last state (at_end).
CREATE TEMP MACRO benchmark_says(wanted_evaluator) AS TABLE
  SELECT
    t.trace_id,
    e.oracle AS goal,
    CASE
      WHEN t.ended = 'error' OR t.status = 'error' THEN 'error'
      ELSE coalesce(e.outcome, 'not_evaluated')
    END AS success_once,
    CASE
      WHEN t.ended = 'error' OR t.status = 'error' OR e.outcome = 'error' THEN 'error'
      ELSE coalesce(e.at_end, 'not_evaluated')
    END AS success_at_end,
    e.first_success, e.lag_states, e.error
  FROM traces AS t
  LEFT JOIN end_state AS e
    ON e.trace_id = t.trace_id AND e.evaluator = chosen_evaluator(wanted_evaluator);

-- One row a trace and criterion of success; fine_grained has one row for each oracle of the task.
CREATE TEMP MACRO scored(wanted_evaluator, wanted_order, wanted_oracle, with_faults) AS TABLE
  WITH outcomes AS (
    SELECT trace_id, 'benchmark_success_once' AS criterion, NULL::VARCHAR AS oracle,
      success_once AS outcome
    FROM benchmark_says(wanted_evaluator)
    UNION ALL
    SELECT trace_id, 'benchmark_success_at_end', NULL, success_at_end
    FROM benchmark_says(wanted_evaluator)
    UNION ALL
    SELECT trace_id, 'fine_grained', short_digest(oracle), outcome
    FROM judged(wanted_evaluator, wanted_order, wanted_oracle)
  )
  SELECT
    o.criterion, o.oracle, o.outcome,
    t.trace_id, t.suite, t.task, policy_label(t.policy, t.policy_version) AS policy,
    t.policy AS policy_name, t.seed, t.episode, t.init_state_id, t.initial_state,
    coalesce(t.mujoco_recorded, 'unknown') AS physics
  FROM outcomes AS o JOIN traces AS t ON t.trace_id = o.trace_id
  WHERE with_faults OR t.fault IS NULL;

-- Against the benchmark ----------------------------------------------------------------------

-- One row a trace and an oracle of its task: what both say, and which field of the confusion matrix
-- that is. The positive class is failure. What no field is for has the name of its reason.
CREATE TEMP MACRO compared(wanted_evaluator, wanted_order, wanted_oracle, wanted_sample) AS TABLE
  SELECT
    j.suite, j.task, j.oracle, j.trace_id, j.outcome AS ours, b.success_once AS theirs,
    CASE
      WHEN 'error' IN (j.outcome, b.success_once) THEN 'error'
      WHEN 'not_evaluated' IN (j.outcome, b.success_once) THEN 'not_evaluated'
      WHEN 'undetermined' IN (j.outcome, b.success_once) THEN 'undetermined'
      WHEN j.outcome = 'failed' AND b.success_once = 'failed' THEN 'tp'
      WHEN j.outcome = 'passed' AND b.success_once = 'passed' THEN 'tn'
      WHEN j.outcome = 'failed' THEN 'fp'
      ELSE 'fn'
    END AS class
  FROM judged(wanted_evaluator, wanted_order, wanted_oracle) AS j
  JOIN benchmark_says(wanted_evaluator) AS b ON b.trace_id = j.trace_id
  WHERE in_sample(j.trace_id, wanted_sample);

-- The confusion matrix of every task and oracle, and in total; each_once: no trace counts twice.
CREATE TEMP MACRO confusion_counts(
  wanted_evaluator, wanted_order, wanted_oracle, wanted_sample) AS TABLE
  SELECT
    suite, task, oracle, grouping(task) AS is_total,
    count(*) FILTER (class = 'tp') AS tp,
    count(*) FILTER (class = 'tn') AS tn,
    count(*) FILTER (class = 'fp') AS fp,
    count(*) FILTER (class = 'fn') AS fn,
    count(*) FILTER (class = 'undetermined') AS undetermined,
    count(*) FILTER (class = 'error') AS errors,
    count(*) FILTER (class = 'not_evaluated') AS not_evaluated,
    count(*) = count(DISTINCT trace_id) AS each_once
  FROM compared(wanted_evaluator, wanted_order, wanted_oracle, wanted_sample)
  GROUP BY GROUPING SETS ((suite, task, oracle), ());

-- Against labels -----------------------------------------------------------------------------

-- One label a trace, so that a trace counts once: the first one that the states do not refute, else
-- the first. counts says whether it is borne out, or at least not refuted. Labels that name no failed
-- action are passed over, unless with_none.
CREATE TEMP MACRO truth_of(wanted_who, with_none) AS TABLE
  SELECT *, verified IS DISTINCT FROM false AS counts FROM labels
  WHERE (with_none OR action_id IS NOT NULL) AND (wanted_who = '' OR who = wanted_who)
  QUALIFY row_number() OVER (
    PARTITION BY trace_id ORDER BY verified IS NOT DISTINCT FROM false, position, who) = 1;

-- One row a labelled trace and an oracle of its task. is_first: our first failed action is the label's;
-- is_next: the label's is among those that were next; distance: plan index of ours minus the label's,
-- NULL if we name none or the plan has not the label's action; of several equal actions the nearest.
CREATE TEMP MACRO localised(
  wanted_evaluator, wanted_order, wanted_oracle, wanted_who, wanted_sample) AS TABLE
  WITH labelled AS (
    SELECT
      j.*, l.counts, l.action_id, coalesce(l.parameters, []) AS parameters, l.state AS label_state,
      l.failure_class, position_class(l.state, j.n_states) AS label_position
    FROM judged(wanted_evaluator, wanted_order, wanted_oracle) AS j
    JOIN truth_of(wanted_who, false) AS l ON l.trace_id = j.trace_id
    WHERE in_sample(j.trace_id, wanted_sample)
  ), named AS (
    SELECT
      l.trace_id, l.oracle,
      bool_or(a.action = l.first_failed) AS is_first,
      bool_or(a.action = l.first_failed OR list_contains(l.failed_set, a.action)) AS is_next,
      first(l.first_failed - a.action ORDER BY abs(l.first_failed - a.action), a.action) AS distance
    FROM labelled AS l
    JOIN actions AS a
      ON a.trace_id = l.trace_id AND a.oracle = l.oracle AND a.evaluator = l.evaluator
      AND a.order_mode = wanted_order AND a.action_id = l.action_id AND a.parameters = l.parameters
    GROUP BY l.trace_id, l.oracle
  )
  SELECT
    l.suite, l.task, l.oracle, l.evaluator, l.trace_id, l.warmup_steps, l.outcome, l.counts,
    l.first_failed, l.label_state, l.label_position, l.failure_class,
    coalesce(n.is_first, false) AS is_first,
    coalesce(n.is_next, false) AS is_next,
    n.trace_id IS NOT NULL AS in_plan,
    n.distance
  FROM labelled AS l
  LEFT JOIN named AS n ON n.trace_id = l.trace_id AND n.oracle = l.oracle;

-- How often the first failed action is the label's, by what the label says, and in total. wanted_part is
-- failure_class or label_position; where the label does not say, part is unknown.
CREATE TEMP MACRO localised_by(
  wanted_part, wanted_evaluator, wanted_order, wanted_oracle, wanted_who, wanted_sample) AS TABLE
  WITH labelled AS (
    SELECT *, coalesce(
      CASE wanted_part WHEN 'failure_class' THEN failure_class ELSE label_position END, 'unknown') AS part
    FROM localised(wanted_evaluator, wanted_order, wanted_oracle, wanted_who, wanted_sample)
    WHERE counts
  ), counted AS (
    SELECT
      part, grouping(part) AS is_total,
      count(*) AS n_labelled,
      count(*) FILTER (outcome = 'failed') AS n,
      count(*) FILTER (outcome = 'failed' AND is_first) AS matched,
      count(*) FILTER (outcome = 'passed') AS n_missed,
      count(*) FILTER (outcome = 'undetermined') AS undetermined,
      count(*) FILTER (outcome = 'error') AS errors,
      count(*) FILTER (outcome = 'not_evaluated') AS not_evaluated,
      count(*) = count(DISTINCT trace_id) AS each_once
    FROM labelled
    GROUP BY GROUPING SETS ((part), ())
  )
  SELECT
    CASE WHEN is_total = 1 THEN 'TOTAL' ELSE part END AS part, is_total,
    n_labelled, n, matched, n_missed, undetermined, errors, not_evaluated,
    ratio(matched, n) AS rate,
    CASE WHEN each_once THEN wilson_low(matched, n) END AS low,
    CASE WHEN each_once THEN wilson_high(matched, n) END AS high
  FROM counted;
