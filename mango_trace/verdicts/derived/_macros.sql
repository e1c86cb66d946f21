-- Texts and classes that derived tables and queries write alike.

CREATE TEMP MACRO policy_label(policy, version) AS
  CASE WHEN version = '' THEN policy ELSE policy || '@' || version END;

CREATE TEMP MACRO call_text(name, arguments) AS
  name || '(' || array_to_string(arguments, ', ') || ')';

-- The third of a run in which a state lies, bounds to the earlier third; NULL for a state that the
-- run has not. The same rule draws samples.
CREATE TEMP MACRO position_class(state, n_states) AS
  CASE
    WHEN state < 0 OR state >= n_states THEN NULL
    WHEN 3 * state::BIGINT <= n_states THEN 'early'
    WHEN 3 * state::BIGINT <= 2 * n_states::BIGINT THEN 'middle'
    WHEN state IS NOT NULL THEN 'late'
  END;
