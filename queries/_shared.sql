-- What several queries build on: statistics, which verdicts count, outcomes by kind and by trace.
-- Applied as temporary macros to the read-only connection; nothing of it is stored in the file. The tables that
-- they read beside those of the schema are derived from it: mango_trace/verdicts/derived.

-- Rates and intervals ------------------------------------------------------------------------

-- A rate, or NULL where nothing was counted: runs that never ran are not 0 %.
CREATE TEMP MACRO ratio(part, whole) AS
  CASE WHEN whole > 0 THEN part::DOUBLE / whole END;

-- Bounds of Wilson's 95 % score interval for hits of n; z is the 0.975 quantile of the normal.
CREATE TEMP MACRO wilson_low(hits, n) AS
  CASE WHEN n > 0 AND hits = 0 THEN 0.0 WHEN n > 0 THEN greatest(0.0, (
    hits + 1.959963984540054 ** 2 / 2
    - 1.959963984540054 * sqrt(hits::DOUBLE * (n - hits) / n + 1.959963984540054 ** 2 / 4)
  ) / (n + 1.959963984540054 ** 2)) END;

CREATE TEMP MACRO wilson_high(hits, n) AS
  CASE WHEN n > 0 AND hits = n THEN 1.0 WHEN n > 0 THEN least(1.0, (
    hits + 1.959963984540054 ** 2 / 2
    + 1.959963984540054 * sqrt(hits::DOUBLE * (n - hits) / n + 1.959963984540054 ** 2 / 4)
  ) / (n + 1.959963984540054 ** 2)) END;

-- Bounds of Newcombe's 95 % interval for the difference of two independent rates, a minus b: from rates and
-- bounds of their intervals, and from counts.
CREATE TEMP MACRO difference_low(rate_a, low_a, rate_b, high_b) AS
  rate_a - rate_b - sqrt((rate_a - low_a) ** 2 + (high_b - rate_b) ** 2);

CREATE TEMP MACRO difference_high(rate_a, high_a, rate_b, low_b) AS
  rate_a - rate_b + sqrt((high_a - rate_a) ** 2 + (rate_b - low_b) ** 2);

CREATE TEMP MACRO newcombe_low(hits_a, n_a, hits_b, n_b) AS
  difference_low(
    ratio(hits_a, n_a), wilson_low(hits_a, n_a), ratio(hits_b, n_b), wilson_high(hits_b, n_b));

CREATE TEMP MACRO newcombe_high(hits_a, n_a, hits_b, n_b) AS
  difference_high(
    ratio(hits_a, n_a), wilson_high(hits_a, n_a), ratio(hits_b, n_b), wilson_low(hits_b, n_b));

-- Two-sided exact McNemar test: p-value of only_a against only_b discordant pairs.
CREATE TEMP MACRO mcnemar_p(only_a, only_b) AS
  least(1.0, 2 * list_sum([
    exp(
      lgamma(only_a + only_b + 1) - lgamma(k + 1) - lgamma(only_a + only_b - k + 1)
      - (only_a + only_b) * ln(2.0))
    FOR k IN range(least(only_a, only_b) + 1)
  ]));

-- Texts --------------------------------------------------------------------------------------

-- Digests are long; this much of one tells oracles apart and is accepted by the parameter `oracle`.
CREATE TEMP MACRO short_digest(digest) AS left(digest, 12);

-- Counting -----------------------------------------------------------------------------------

-- Of rows that each stand for n, how many are so.
CREATE TEMP MACRO counted(n, is_so) AS coalesce(sum(n) FILTER (is_so), 0)::BIGINT;

-- Whether no trace is in a group of kinds more than once: it is, for each oracle of its task.
CREATE TEMP MACRO each_once(benchmark, suite, task, oracle) AS
  count(DISTINCT (benchmark, suite, task, oracle)) = count(DISTINCT (benchmark, suite, task));

-- Quantile q of values of rows that each stand for several, as quantile_cont gives it: upto is how many of
-- all n_all values are in rows up to this one, by value.
CREATE TEMP MACRO counted_quantile(value, upto, n_all, q) AS
  min(value) FILTER (upto > floor((n_all - 1) * q::DOUBLE))
  + (
    min(value) FILTER (upto > ceil((n_all - 1) * q::DOUBLE))
    - min(value) FILTER (upto > floor((n_all - 1) * q::DOUBLE))
  ) * (max((n_all - 1) * q::DOUBLE) - floor(max((n_all - 1) * q::DOUBLE)));

-- The number of rows that a list has at most, 0 = all.
CREATE TEMP MACRO rows_of(wanted) AS CASE WHEN wanted > 0 THEN wanted ELSE 9223372036854775807 END;

-- Which verdicts count -----------------------------------------------------------------------

-- The evaluator that was asked for, or that of the latest run that left anything.
CREATE TEMP MACRO chosen_evaluator(wanted) AS (
  CASE WHEN wanted <> '' THEN wanted ELSE (
    SELECT runs.evaluator FROM runs
    WHERE runs.evaluator IN (SELECT k.evaluator FROM kinds AS k WHERE k.has_verdict OR k.goal IS NOT NULL)
    ORDER BY runs.run DESC LIMIT 1
  ) END
);

-- Fine-grained oracles by name or by the beginning of their digest; several with commas, '' = all.
CREATE TEMP MACRO chosen_oracles(wanted) AS TABLE
  SELECT DISTINCT o.oracle
  FROM oracles AS o, unnest(string_split(wanted, ',')) AS given(text)
  WHERE o.kind = 'fine_grained'
    AND (wanted = '' OR trim(given.text) = o.name OR starts_with(o.oracle, trim(given.text)));

-- Kinds of outcomes by the evaluator in an order; by verdicts in the other order, where it has none in this.
CREATE TEMP MACRO kinds_in_order(wanted_evaluator, wanted_order) AS TABLE
  SELECT * FROM kinds
  WHERE evaluator = coalesce(chosen_evaluator(wanted_evaluator), '')
  QUALIFY order_mode = CASE WHEN bool_or(order_mode = wanted_order) OVER () THEN wanted_order ELSE 'report' END;

-- Kinds of outcomes such that each trace has one: what the benchmark's own goal says, by its protocol (once)
-- and at the last state (at_end). The outcome is passed, failed, undetermined, error or not_evaluated.
CREATE TEMP MACRO goal_kinds(wanted_evaluator) AS TABLE
  SELECT * FROM kinds_in_order(wanted_evaluator, 'report') WHERE coalesce(place, 1) = 1;

-- Kinds of outcomes such that each trace has one for every oracle of its task, or a blank one if there is none.
-- The outcome is passed, failed, undetermined, error or not_evaluated.
CREATE TEMP MACRO judged_kinds(wanted_evaluator, wanted_order, wanted_oracle) AS TABLE
  WITH there AS MATERIALIZED (
    SELECT * FROM kinds_in_order(wanted_evaluator, wanted_order)
  ), chosen AS MATERIALIZED (
    SELECT * FROM there
    WHERE order_mode = wanted_order AND oracle IN (SELECT oracle FROM chosen_oracles(wanted_oracle))
  )
  SELECT *, false AS is_blank FROM chosen
  UNION ALL
  SELECT
    * REPLACE (
      NULL AS oracle, NULL AS place, NULL AS n_actions, NULL AS completed,
      NULL AS once, NULL AS at_end, NULL AS held_k, NULL AS sequential, NULL AS any_order, NULL AS hold,
      NULL AS intervals, false AS has_verdict,
      CASE WHEN ended = 'error' OR status = 'error' THEN 'error' ELSE 'not_evaluated' END AS outcome
    ),
    true AS is_blank
  FROM there
  WHERE coalesce(place, 1) = 1
    AND (benchmark, suite, task) NOT IN (SELECT (benchmark, suite, task) FROM chosen);

-- The same with the numbers of a sample's traces; '' = all traces.
CREATE TEMP MACRO sampled_kinds(wanted_evaluator, wanted_order, wanted_oracle, wanted_sample) AS TABLE
  WITH drawn AS (
    SELECT o.kind, count(*) AS n FROM outcomes AS o
    WHERE wanted_sample <> ''
      AND o.trace IN (SELECT s.trace FROM sampled AS s WHERE s.sample = wanted_sample)
    GROUP BY o.kind
  )
  SELECT j.* REPLACE (CASE WHEN wanted_sample = '' THEN j.n ELSE d.n END AS n)
  FROM judged_kinds(wanted_evaluator, wanted_order, wanted_oracle) AS j
  LEFT JOIN drawn AS d ON d.kind = j.kind
  WHERE wanted_sample = '' OR d.n IS NOT NULL;

-- Outcomes -----------------------------------------------------------------------------------

-- One row a trace and an oracle of its task, with the benchmark's own goal beside it.
CREATE TEMP MACRO judged(wanted_evaluator, wanted_order, wanted_oracle) AS TABLE
  SELECT
    k.* EXCLUDE (kind, n),
    o.* REPLACE (
      CASE WHEN NOT k.is_blank THEN o.error END AS error,
      CASE WHEN NOT k.is_blank THEN o.passed_at END AS passed_at,
      CASE WHEN NOT k.is_blank THEN o.first_failed END AS first_failed,
      CASE WHEN NOT k.is_blank THEN o.first_failed_action END AS first_failed_action,
      CASE WHEN NOT k.is_blank THEN o.failed_set END AS failed_set,
      CASE WHEN NOT k.is_blank THEN o.stopped_at END AS stopped_at,
      CASE WHEN NOT k.is_blank THEN o.reason END AS reason,
      CASE WHEN NOT k.is_blank THEN o.violations END AS violations
    )
  FROM outcomes AS o
  JOIN judged_kinds(wanted_evaluator, wanted_order, wanted_oracle) AS k ON k.kind = o.kind;

-- What success may mean, in the order in which it is listed.
CREATE TEMP MACRO meanings() AS TABLE
  FROM (VALUES
    (1, 'verdict'), (2, 'success_once'), (3, 'success_at_end'), (4, 'success_held_k'),
    (5, 'sequential'), (6, 'any_order'), (7, 'benchmark_success_once'),
    (8, 'benchmark_success_at_end')
  ) AS meanings(position, meaning);

-- The outcome of a row of judged or of a kind by one of the meanings.
CREATE TEMP MACRO outcome_by(
  meaning, verdict, once, at_end, held_k, sequential, any_order, benchmark_once, benchmark_at_end
) AS
  CASE
    WHEN meaning = 'benchmark_success_once' THEN benchmark_once
    WHEN meaning = 'benchmark_success_at_end' THEN benchmark_at_end
    -- Without a verdict, or with a broken one, the other meanings say nothing either.
    WHEN verdict IN ('error', 'not_evaluated') THEN verdict
    ELSE CASE meaning
      WHEN 'verdict' THEN verdict
      WHEN 'success_once' THEN once
      WHEN 'success_at_end' THEN at_end
      WHEN 'success_held_k' THEN held_k
      WHEN 'sequential' THEN sequential
      WHEN 'any_order' THEN any_order
    END
  END;

-- Kinds of outcomes by criterion of success; fine_grained has one for each oracle of the task.
CREATE TEMP MACRO scored_kinds(wanted_evaluator, wanted_order, wanted_oracle, with_faults) AS TABLE
  WITH said AS (
    SELECT
      *,
      -- Whatever an oracle says, the benchmark's goal says the same beside it.
      place IS NOT DISTINCT FROM min(place) OVER (PARTITION BY benchmark, suite, task) AS is_only
    FROM judged_kinds(wanted_evaluator, wanted_order, wanted_oracle)
  )
  SELECT
    c.criterion, s.kind, s.n, s.benchmark, s.suite, s.task, s.policy_label AS policy,
    s.policy AS policy_name, s.physics,
    CASE WHEN c.criterion = 'fine_grained' THEN short_digest(s.oracle) END AS oracle,
    CASE c.criterion
      WHEN 'fine_grained' THEN s.outcome
      WHEN 'benchmark_success_once' THEN s.success_once
      ELSE s.success_at_end
    END AS outcome
  FROM said AS s
  CROSS JOIN (VALUES
    ('benchmark_success_once'), ('benchmark_success_at_end'), ('fine_grained')
  ) AS c(criterion)
  WHERE (c.criterion = 'fine_grained' OR s.is_only) AND (with_faults OR NOT s.has_fault);

-- Against the benchmark ----------------------------------------------------------------------

-- Which field of the confusion matrix two outcomes are. The positive class is failure. What no field is for
-- has the name of its reason.
CREATE TEMP MACRO field_of(ours, theirs) AS
  CASE
    WHEN 'error' IN (ours, theirs) THEN 'error'
    WHEN 'not_evaluated' IN (ours, theirs) THEN 'not_evaluated'
    WHEN 'undetermined' IN (ours, theirs) THEN 'undetermined'
    WHEN ours = 'failed' AND theirs = 'failed' THEN 'tp'
    WHEN ours = 'passed' AND theirs = 'passed' THEN 'tn'
    WHEN ours = 'failed' THEN 'fp'
    ELSE 'fn'
  END;

-- The confusion matrix of every task and oracle, and in total; is_each_once: no trace counts twice.
CREATE TEMP MACRO confusion_counts(
  wanted_evaluator, wanted_order, wanted_oracle, wanted_sample) AS TABLE
  SELECT
    suite, task, oracle, grouping(task) AS is_total,
    counted(n, field = 'tp') AS tp,
    counted(n, field = 'tn') AS tn,
    counted(n, field = 'fp') AS fp,
    counted(n, field = 'fn') AS fn,
    counted(n, field = 'undetermined') AS undetermined,
    counted(n, field = 'error') AS errors,
    counted(n, field = 'not_evaluated') AS not_evaluated,
    each_once(benchmark, suite, task, oracle) AS is_each_once
  FROM (
    SELECT *, field_of(outcome, success_once) AS field
    FROM sampled_kinds(wanted_evaluator, wanted_order, wanted_oracle, wanted_sample)
  )
  GROUP BY GROUPING SETS ((suite, task, oracle), ());

-- Against labels -----------------------------------------------------------------------------

-- Labelled traces and oracles of their tasks, those that are alike as one row with their number n. counts: the
-- label is borne out, or at least not refuted; has_action: we name a first failed action; is_first: it is the
-- label's; is_next: the label's is among those that were next; distance: plan index of ours minus the label's,
-- NULL if we name none or the plan has not the label's action; states_off: see mango_trace/verdicts/derived.
CREATE TEMP MACRO localised(
  wanted_evaluator, wanted_order, wanted_oracle, wanted_who, wanted_sample) AS TABLE
  WITH alike AS (
    SELECT * FROM located_counts WHERE wanted_sample = '' AND who = wanted_who
    UNION ALL
    SELECT * EXCLUDE (trace), count(*)
    FROM located
    WHERE wanted_sample <> '' AND who = wanted_who
      AND trace IN (SELECT s.trace FROM sampled AS s WHERE s.sample = wanted_sample)
    GROUP BY ALL
  )
  SELECT
    k.benchmark, k.suite, k.task, k.oracle, k.outcome, k.success_once, l.counts, l.failure_class,
    l.label_position, l.n,
    NOT k.is_blank AND l.has_action AS has_action,
    NOT k.is_blank AND l.is_first AS is_first,
    NOT k.is_blank AND l.is_next AS is_next,
    NOT k.is_blank AND l.in_plan AS in_plan,
    CASE WHEN NOT k.is_blank THEN l.distance END AS distance,
    CASE WHEN NOT k.is_blank THEN l.states_off END AS states_off
  FROM alike AS l
  JOIN judged_kinds(wanted_evaluator, wanted_order, wanted_oracle) AS k ON k.kind = l.kind;

-- How often the first failed action is the label's, by what the label says, and in total. wanted_part is
-- failure_class or label_position; where the label does not say, part is unknown.
CREATE TEMP MACRO localised_by(
  wanted_part, wanted_evaluator, wanted_order, wanted_oracle, wanted_who, wanted_sample) AS TABLE
  WITH labelled AS (
    SELECT *, coalesce(
      CASE wanted_part WHEN 'failure_class' THEN failure_class ELSE label_position END, 'unknown') AS part
    FROM localised(wanted_evaluator, wanted_order, wanted_oracle, wanted_who, wanted_sample)
    WHERE counts
  ), summed AS (
    SELECT
      part, grouping(part) AS is_total,
      counted(n, true) AS n_labelled,
      counted(n, outcome = 'failed') AS n_failed,
      counted(n, outcome = 'failed' AND is_first) AS matched,
      counted(n, outcome = 'passed') AS n_missed,
      counted(n, outcome = 'undetermined') AS undetermined,
      counted(n, outcome = 'error') AS errors,
      counted(n, outcome = 'not_evaluated') AS not_evaluated,
      each_once(benchmark, suite, task, oracle) AS is_each_once
    FROM labelled
    GROUP BY GROUPING SETS ((part), ())
  )
  SELECT
    CASE WHEN is_total = 1 THEN 'TOTAL' ELSE part END AS part, is_total,
    n_labelled, n_failed AS n, matched, n_missed, undetermined, errors, not_evaluated,
    ratio(matched, n_failed) AS rate,
    CASE WHEN is_each_once THEN wilson_low(matched, n_failed) END AS low,
    CASE WHEN is_each_once THEN wilson_high(matched, n_failed) END AS high
  FROM summed;
