-- How often the first failed action is the right one, by where the run failed
-- answers: Are failures localised as well late in a run as early? Over traces with a label that counts:
--   how often the first failed action equals the label's, for every third of the run in which the label
--   says that the failure began (its state / number of states; bounds belong to the earlier third).
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter order_mode VARCHAR 'report' -- verdicts with ordering violations only reported, or strict
-- parameter oracle VARCHAR '' -- fine-grained oracles by name or beginning of digest, comma between; '' = all
-- parameter who VARCHAR '' -- whose labels count, e.g. injected; '' = the first of each trace that the
--   states do not refute
-- parameter sample VARCHAR '' -- sample whose traces count, as mango-trace sample marks them; '' = all
-- column position -- early, middle, late, unknown where the label names no state of the run, or TOTAL
-- column n_labelled -- traces with a label that names the first failed action
-- column n -- of the labelled, judged failed: the denominator of the rate
-- column matched -- of the failed, first failed action equals the label
-- column n_missed -- labelled as failing but judged passed
-- column undetermined -- labelled, verdict undetermined
-- column errors -- labelled, trace or verdict is an error
-- column not_evaluated -- labelled, no verdict
-- column rate -- matched / n
-- column low -- lower bound of the rate's Wilson 95 % interval; none where several oracles count a
--   trace more than once
-- column high -- upper bound of the interval
SELECT part AS position, * EXCLUDE (part, is_total)
FROM localised_by('label_position', $evaluator, $order_mode, $oracle, $who, $sample)
ORDER BY is_total, list_position(['early', 'middle', 'late', 'unknown'], part)
