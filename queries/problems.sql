-- What was wrong with the input of an evaluation
-- answers: The problems that a run met: datasets and oracles that could not be read, oracles that do
--   not fit a scene, traces that could not be judged.
-- parameter run BIGINT 0 -- number of the run; 0 = the latest
-- column run -- number of the run
-- column started -- when it started, UTC
-- column finished -- when it finished; empty if it was interrupted
-- column subject -- file, dataset, oracle or trace
-- column message -- what is wrong with it
SELECT p.run, r.started, r.finished, p.subject, p.message
FROM problems AS p JOIN runs AS r ON r.run = p.run
WHERE p.run = CASE WHEN $run = 0 THEN (SELECT max(run) FROM runs) ELSE $run END
ORDER BY p.subject, p.message
