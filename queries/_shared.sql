-- What several queries build on: statistics, which verdicts count, outcomes by trace.
-- Applied as temporary macros to the read-only connection; nothing of it is stored in the file.

-- Rates and intervals ------------------------------------------------------------------------

-- A rate, or NULL where nothing was counted: runs that never ran are not 0 %.
CREATE TEMP MACRO ratio(part, whole) AS
  CASE WHEN whole > 0 THEN part::DOUBLE / whole END;

-- Bounds of Wilson's 95 % score interval for hits of n; z is the 0.975 quantile of the normal.
CREATE TEMP MACRO wilson_low(hits, n) AS
  CASE WHEN n > 0 THEN greatest(0.0, (
    hits + 1.959963984540054 ** 2 / 2
    - 1.959963984540054 * sqrt(hits::DOUBLE * (n - hits) / n + 1.959963984540054 ** 2 / 4)
  ) / (n + 1.959963984540054 ** 2)) END;

CREATE TEMP MACRO wilson_high(hits, n) AS
  CASE WHEN n > 0 THEN least(1.0, (
    hits + 1.959963984540054 ** 2 / 2
    + 1.959963984540054 * sqrt(hits::DOUBLE * (n - hits) / n + 1.959963984540054 ** 2 / 4)
  ) / (n + 1.959963984540054 ** 2)) END;

-- Bounds of Newcombe's 95 % interval for the difference of two independent rates, a minus b.
CREATE TEMP MACRO newcombe_low(hits_a, n_a, hits_b, n_b) AS
  ratio(hits_a, n_a) - ratio(hits_b, n_b) - sqrt(
    (ratio(hits_a, n_a) - wilson_low(hits_a, n_a)) ** 2
    + (wilson_high(hits_b, n_b) - ratio(hits_b, n_b)) ** 2);

CREATE TEMP MACRO newcombe_high(hits_a, n_a, hits_b, n_b) AS
  ratio(hits_a, n_a) - ratio(hits_b, n_b) + sqrt(
    (wilson_high(hits_a, n_a) - ratio(hits_a, n_a)) ** 2
    + (ratio(hits_b, n_b) - wilson_low(hits_b, n_b)) ** 2);

-- Two-sided exact McNemar test: p-value of only_a against only_b discordant pairs.
CREATE TEMP MACRO mcnemar_p(only_a, only_b) AS (
  SELECT least(1.0, 2 * sum(exp(
    lgamma(only_a + only_b + 1) - lgamma(k + 1) - lgamma(only_a + only_b - k + 1)
    - (only_a + only_b) * ln(2.0))))
  FROM unnest(range(least(only_a, only_b) + 1)) AS tail(k)
);

-- Texts --------------------------------------------------------------------------------------

-- Digests are long; this much of one tells oracles apart and is accepted by the parameter `oracle`.
CREATE TEMP MACRO short_digest(digest) AS left(digest, 12);

CREATE TEMP MACRO policy_label(policy, version) AS
  CASE WHEN version = '' THEN policy ELSE policy || '@' || version END;

CREATE TEMP MACRO call_text(name, arguments) AS
  name || '(' || array_to_string(arguments, ', ') || ')';

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
    v.held_k, v.sequential, v.any_order, v.hold
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
