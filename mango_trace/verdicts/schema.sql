-- Tables of the verdict database. A verdict is a function of (trace, oracle, evaluator, order):
-- judging again replaces rows by equal ones.

CREATE TABLE IF NOT EXISTS meta (
  key VARCHAR PRIMARY KEY,
  value VARCHAR NOT NULL
);

-- One row a recorded trace that was handed to an evaluation.
CREATE TABLE IF NOT EXISTS traces (
  trace_id VARCHAR PRIMARY KEY,
  dataset VARCHAR NOT NULL,
  scene VARCHAR NOT NULL,
  benchmark VARCHAR NOT NULL,
  suite VARCHAR NOT NULL,
  task_index INTEGER,
  task VARCHAR NOT NULL,
  instruction VARCHAR NOT NULL,
  policy VARCHAR NOT NULL,
  policy_version VARCHAR NOT NULL,
  seed BIGINT NOT NULL,
  episode INTEGER NOT NULL,
  init_state_id INTEGER,
  initial_state VARCHAR NOT NULL,        -- digest of the first state's positions
  fault VARCHAR,
  n_states INTEGER NOT NULL,
  n_steps INTEGER NOT NULL,
  warmup_steps INTEGER NOT NULL,
  horizon INTEGER NOT NULL,
  longest_demonstration INTEGER,
  substeps INTEGER NOT NULL,             -- simulator steps between two recorded states
  ended VARCHAR NOT NULL,                -- terminated, truncated or error
  ended_error VARCHAR,
  live_success BOOLEAN,                  -- the benchmark's check while it ran
  live_first_success INTEGER,            -- state after the step at which it was first true
  source_label BOOLEAN,                  -- what an imported file claims; no verdict
  fidelity VARCHAR NOT NULL,
  mujoco_recorded VARCHAR,
  versions VARCHAR NOT NULL,             -- JSON
  status VARCHAR NOT NULL,               -- ok, or error: it could not be read
  status_error VARCHAR,
  undetermined_states INTEGER,           -- states that cannot be judged
  problems VARCHAR[],                    -- why they cannot, and what else a reader should know
  premise_violations VARCHAR[],          -- premises of the task that fail once settled
  recorded_at TIMESTAMP NOT NULL
);

CREATE TABLE IF NOT EXISTS oracles (
  oracle VARCHAR PRIMARY KEY,            -- digest of the canonical document
  kind VARCHAR NOT NULL,                 -- fine_grained or end_state
  name VARCHAR NOT NULL,
  instruction VARCHAR NOT NULL,
  n_actions INTEGER NOT NULL,
  document VARCHAR NOT NULL              -- canonical JSON
);

-- One row a predicate call inside an oracle; action -1 holds the invariants.
CREATE TABLE IF NOT EXISTS monitors (
  oracle VARCHAR NOT NULL,
  action INTEGER NOT NULL,
  position INTEGER NOT NULL,
  monitor VARCHAR NOT NULL,              -- canonical text; key of intervals
  negate BOOLEAN NOT NULL,
  predicate VARCHAR NOT NULL,
  PRIMARY KEY (oracle, action, position)
);

CREATE TABLE IF NOT EXISTS runs (
  run BIGINT PRIMARY KEY,
  evaluator VARCHAR NOT NULL,
  mujoco VARCHAR NOT NULL,
  order_mode VARCHAR NOT NULL,
  started TIMESTAMP NOT NULL,
  finished TIMESTAMP,                    -- NULL while it runs, or if it was interrupted
  n_traces INTEGER,
  n_errors INTEGER
);

-- What was wrong with the input of a run, other than a single trace.
CREATE TABLE IF NOT EXISTS problems (
  run BIGINT NOT NULL,
  subject VARCHAR NOT NULL,
  message VARCHAR NOT NULL
);

CREATE TABLE IF NOT EXISTS verdicts (
  trace_id VARCHAR NOT NULL,
  oracle VARCHAR NOT NULL,
  evaluator VARCHAR NOT NULL,
  order_mode VARCHAR NOT NULL,           -- report or strict
  outcome VARCHAR NOT NULL,              -- passed, failed, undetermined or error
  error VARCHAR,
  passed_at INTEGER,
  n_actions INTEGER NOT NULL,
  completed INTEGER NOT NULL,            -- actions that completed
  first_failed INTEGER,                  -- first action in plan order that did not complete
  first_failed_action VARCHAR,           -- its atomic task and arguments
  failed_set INTEGER[],                  -- all that were next when progress stopped
  stopped_at INTEGER,                    -- state where progress stopped
  reason VARCHAR,                        -- never_true, too_early, undone, wrong_order, invariant;
                                         -- NULL if it fails for sure but no one action is to blame
  invariant_at INTEGER,                  -- first state that breaks an invariant
  first_undetermined INTEGER,            -- first action whose outcome is unknown
  violations INTEGER NOT NULL,           -- actions whose effect came before their predecessor
  once VARCHAR NOT NULL,                 -- outcome under other meanings of success
  at_end VARCHAR NOT NULL,
  held_k VARCHAR NOT NULL,
  sequential VARCHAR NOT NULL,
  any_order VARCHAR NOT NULL,
  once_at INTEGER,                       -- first state at which all actions hold together
  hold INTEGER NOT NULL,                 -- states that held_k asks for
  intervals BOOLEAN NOT NULL,            -- whether the truth intervals of its monitors are stored
  PRIMARY KEY (trace_id, oracle, evaluator, order_mode)
);

CREATE TABLE IF NOT EXISTS actions (
  trace_id VARCHAR NOT NULL,
  oracle VARCHAR NOT NULL,
  evaluator VARCHAR NOT NULL,
  order_mode VARCHAR NOT NULL,
  action INTEGER NOT NULL,               -- position in plan order
  step INTEGER NOT NULL,
  action_id VARCHAR NOT NULL,
  parameters VARCHAR[] NOT NULL,
  outcome VARCHAR NOT NULL,
  started_at INTEGER,
  first_true INTEGER,
  completed_at INTEGER,
  last_true INTEGER,
  longest_run INTEGER NOT NULL,
  held_at_end BOOLEAN NOT NULL,
  ordering_violation BOOLEAN,            -- NULL: undetermined
  too_early_at INTEGER
);  -- no primary key: its index would stay in memory; rows come with those of verdicts, which have one

-- Run-length truth of every monitor, so that other thresholds and orders can be asked in SQL.
CREATE TABLE IF NOT EXISTS intervals (
  trace_id VARCHAR NOT NULL,
  monitor VARCHAR NOT NULL,              -- without its negation
  evaluator VARCHAR NOT NULL,
  first_state INTEGER NOT NULL,
  last_state INTEGER NOT NULL,           -- inclusive
  truth VARCHAR NOT NULL                 -- false, undetermined or true
);  -- no primary key, as of actions

-- Ground truth from people or injected faults.
CREATE TABLE IF NOT EXISTS labels (
  trace_id VARCHAR NOT NULL,
  who VARCHAR NOT NULL,
  position INTEGER NOT NULL,             -- in the order in which a trace's labels were given
  labelled_at TIMESTAMP,                 -- UTC; NULL for an injected fault
  action_id VARCHAR,
  parameters VARCHAR[],
  action_index INTEGER,
  state INTEGER,
  failure_class VARCHAR,
  verified BOOLEAN,                      -- an injected fault: whether it did what it was meant to
  note VARCHAR,
  PRIMARY KEY (trace_id, who, position)
);

-- Which traces were drawn for which sample, as the datasets say that were evaluated last.
CREATE TABLE IF NOT EXISTS samples (
  trace_id VARCHAR NOT NULL,
  sample VARCHAR NOT NULL,
  stratum VARCHAR NOT NULL,              -- early, middle, late, success, failed or unknown, when drawn
  PRIMARY KEY (trace_id, sample)
);

-- The benchmark's own goal.
CREATE TABLE IF NOT EXISTS end_state (
  trace_id VARCHAR NOT NULL,
  oracle VARCHAR NOT NULL,
  evaluator VARCHAR NOT NULL,
  outcome VARCHAR NOT NULL,              -- by the benchmark's protocol
  error VARCHAR,
  first_success INTEGER,                 -- first state in which it held
  at_end VARCHAR NOT NULL,               -- at the last recorded state
  lag_states INTEGER,                    -- states at which the live check said otherwise
  intervals BOOLEAN NOT NULL,            -- whether the truth intervals of its monitors are stored
  PRIMARY KEY (trace_id, oracle, evaluator)
);
