-- Where the benchmark's predicates and the geometric ones disagree
-- answers: For every trace and arguments for which both rules were computed (an oracle asks for both):
--   in how many states they differ, and from which on. Undetermined states are not compared.
-- parameter evaluator VARCHAR '' -- evaluator whose verdicts count; '' = that of the latest run
-- parameter all BOOLEAN false -- show calls that agree everywhere too
-- parameter limit BIGINT 0 -- rows at most; 0 = all
-- column suite -- suite of the task
-- column task -- task
-- column trace_id -- the trace
-- column benchmark_rule -- the benchmark's predicate
-- column geometric_rule -- the geometric one
-- column arguments -- what both were asked about
-- column n -- states after warm-up in which both are decided
-- column both -- states in which both hold
-- column only_benchmark -- states in which only the benchmark's holds
-- column only_geometric -- states in which only the geometric one holds
-- column first_difference -- first state in which they differ
-- column differ_at_end -- whether they differ in the last state; empty if it is undetermined
SELECT * EXCLUDE (evaluator)
FROM rule_counts AS r
WHERE r.evaluator = chosen_evaluator($evaluator) AND ($all OR r.first_difference IS NOT NULL)
ORDER BY suite, task, benchmark_rule, arguments, trace_id
LIMIT rows_of($limit)
