"""Evaluating whole datasets: shards out to workers, rows back to one committer."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import mujoco

from mango_trace.errors import BadInputError, MangoTraceError, UsageError
from mango_trace.evaluation.engines import Engine, local
from mango_trace.evaluation.judging import BATCH_STATES
from mango_trace.evaluation.oracle_files import OracleSet, load_oracles, unused_oracles
from mango_trace.evaluation.rows import add_label_rows
from mango_trace.evaluation.shard import (
    EVALUATOR,
    Options,
    Shard,
    ShardResult,
    forget_scenes,
    open_dataset,
)
from mango_trace.oracle.goal import goal_oracle
from mango_trace.store import Dataset, Label, TraceRecord
from mango_trace.store.location import is_of_this_process, locate
from mango_trace.store.verify import in_stored_order
from mango_trace.verdicts import Rows, VerdictDatabase

SHARD_TRACES = 32
"""Traces in a shard, at most: small enough for progress, large enough to share chunks."""

COMMIT_EVERY_S = 1.0
"""Time after which finished shards are committed: so much work is lost at most when it is killed."""


@dataclass(slots=True)
class EvaluationSummary:
    """What an evaluation did.

    Attributes:
        judged: Traces that were judged now.
        skipped: Traces whose verdicts were there already.
        trace_errors: Traces that could not be judged, with the reason.
        problems: What else was wrong with the input: subject and reason, each once.
    """

    judged: int = 0
    skipped: int = 0
    trace_errors: dict[str, str] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def note(self, subject: str, message: str) -> None:
        """Add a problem, once."""
        if (subject, message) not in self.problems:
            self.problems.append((subject, message))

    @property
    def exit_code(self) -> int:
        """0, or 3 when any input was bad."""
        return 3 if self.trace_errors or self.problems else 0


def evaluate(
    roots: Sequence[Path | str],
    oracle_paths: Sequence[Path],
    database: Path,
    *,
    options: Options | None = None,
    workers: int | None = 1,
    engine: Engine = local,
    shard_traces: int = SHARD_TRACES,
    commit_every_s: float = COMMIT_EVERY_S,
    progress: Callable[[int, int], None] | None = None,
) -> EvaluationSummary:
    """Judge every trace of some datasets and store the verdicts.

    Running it again changes nothing; interrupted, it goes on where it stopped. What cannot be
    judged is stored with its error and the rest goes on.

    Args:
        roots: Datasets: folders or URLs.
        oracle_paths: Oracle and library files, or folders of them. The benchmark's own goal is
            judged in any case.
        database: DuckDB file to write to.
        options: How to judge.
        workers: How many shards are judged at the same time; as the engine likes, when ``None``.
        engine: Where they are judged: :func:`~mango_trace.evaluation.engines.local`, in processes of this
            machine, :class:`~mango_trace.evaluation.engines.OnRay`, or another one.
        shard_traces: Traces that are judged together, at most.
        commit_every_s: Time after which finished shards are committed.
        progress: Called with the number of traces done and of all that are to be done.

    Returns:
        What was done and what was wrong.

    Raises:
        UsageError: A number is out of range, a URL cannot be read, or an engine cannot be used.
        DatabaseError: The database cannot be written.
    """
    options = options or Options()
    if (workers is not None and workers < 1) or shard_traces < 1 or options.hold < 1:
        raise UsageError("workers, shard size and hold must each be at least 1")
    if options.rules and not options.intervals:
        raise UsageError("--rules needs truth intervals, which --verdicts-only leaves out")
    places = [locate(root) for root in roots]
    _check_shared(places, engine, workers)
    forget_scenes()
    try:
        return _evaluate(
            places, oracle_paths, database, options, workers, engine, shard_traces, commit_every_s, progress
        )
    finally:
        forget_scenes()


def _evaluate(
    roots: Sequence[Path],
    oracle_paths: Sequence[Path],
    database: Path,
    options: Options,
    workers: int | None,
    engine: Engine,
    shard_traces: int,
    commit_every_s: float,
    progress: Callable[[int, int], None] | None,
) -> EvaluationSummary:
    summary = EvaluationSummary()
    datasets = list(_open(roots, summary))
    tasks = frozenset(r.metadata.task for dataset in datasets for r in dataset.records)
    oracles = load_oracles(oracle_paths, tasks)
    for problem in oracles.problems:
        summary.note(getattr(problem, "source", str(problem).split(":", 1)[0]), str(problem))
    metadata = [record.metadata for dataset in datasets for record in dataset.records]
    for source, message in unused_oracles(oracles, oracle_paths, metadata) if metadata else ():
        summary.note(source, message)
    if roots and not datasets:
        return summary  # nothing could be opened, so there is nothing to make a database for
    with VerdictDatabase(database) as verdicts:
        run = verdicts.start_run(EVALUATOR, mujoco.__version__, options.order)
        judged = set()
        if not options.rules:
            judged = verdicts.judged(EVALUATOR, options.order, options.hold, intervals=options.intervals)
        shards: list[Shard] = []
        for dataset in datasets:
            todo = _todo(dataset, oracles, judged, options, summary)
            shards.extend(_shards(dataset, todo, oracles, options, shard_traces))
        _keep_samples_in_step(verdicts, datasets)
        total = sum(len(shard.records) for shard in shards)
        done = 0
        with closing(_results(engine, shards, workers)) as found:
            for results in _collected(found, commit_every_s):
                verdicts.commit([result.tables for result in results])
                done += sum(result.n_traces for result in results)
                for result in results:
                    summary.judged += result.n_traces - len(result.trace_errors)
                    summary.trace_errors.update(result.trace_errors)
                    for subject, message in result.problems:
                        summary.note(subject, message)
                if progress is not None:
                    progress(done, total)
        _add_new_labels(verdicts, datasets)
        for subject, message in (*summary.problems, *summary.trace_errors.items()):
            verdicts.note_problem(run, subject, message)
        verdicts.finish_run(run, done, len(summary.trace_errors))
    return summary


def _check_shared(places: Sequence[Path], engine: Engine, workers: int | None) -> None:
    """See that whoever judges can read the datasets."""
    own = [place for place in places if is_of_this_process(place)]
    if own and (engine is not local or workers not in (None, 1)):
        raise UsageError(f"{own[0]}: no other process sees the memory of this one; judge it with one worker")


def _results(
    engine: Engine, shards: Sequence[Shard], workers: int | None
) -> Generator[ShardResult, None, None]:
    """What an engine yields, such that closing it ends the engine."""
    yield from engine(shards, workers)


def _add_new_labels(verdicts: VerdictDatabase, datasets: Sequence[Dataset]) -> None:
    """Labels that were given after their traces were judged."""
    there = verdicts.labelled()
    given: dict[str, dict[Label, None]] = {}  # a trace may be in several datasets
    for dataset in datasets:
        for record in dataset.records:
            if record.metadata.labels:
                given.setdefault(record.trace_id, {}).update(dict.fromkeys(record.metadata.labels))
    rows = Rows()
    for trace_id, labels in given.items():
        if any((trace_id, one.who, place) not in there for place, one in enumerate(labels)):
            add_label_rows(rows, trace_id, tuple(labels))
    tables = rows.to_arrow()
    if tables:
        verdicts.commit([tables])


def _keep_samples_in_step(verdicts: VerdictDatabase, datasets: Sequence[Dataset]) -> None:
    """Samples as the datasets have them now; they may be drawn and drawn again after judging.

    Of a dataset whose samples cannot be read nothing is known, so what is stored of its traces stays.
    """
    given: dict[str, dict[str, str]] = {}  # a trace may be in several datasets; the first one decides
    for dataset in datasets:
        if dataset.samples is None:
            continue
        for record in dataset.records:
            given[record.trace_id] = {**record.samples, **given.get(record.trace_id, {})}
    verdicts.replace_samples(given)


def _collected(results: Iterator[ShardResult], every_s: float) -> Iterator[list[ShardResult]]:
    """Results in groups, each with what came within some time; a commit costs as much as many rows."""
    group: list[ShardResult] = []
    started = time.monotonic()
    for result in results:
        group.append(result)
        if time.monotonic() - started >= every_s:
            yield group
            group, started = [], time.monotonic()
    if group:
        yield group


def _open(roots: Sequence[Path], summary: EvaluationSummary) -> Iterator[Dataset]:
    for root in roots:
        try:
            dataset = open_dataset(root)
            found = dataset.records
        except BadInputError as error:
            summary.note(str(root), str(error))
            continue
        for problem in dataset.problems:
            summary.note(str(problem).split(":", 1)[0], str(problem))
        if found or not dataset.problems:
            yield dataset


def _todo(
    dataset: Dataset,
    oracles: OracleSet,
    judged: set[tuple[str, str]],
    options: Options,
    summary: EvaluationSummary,
) -> list[TraceRecord]:
    """Traces that lack a verdict of any oracle that is for them."""
    goals: dict[str, set[str]] = {}
    fitting: dict[tuple[str, str], set[str]] = {}
    todo = []
    for record in in_stored_order(dataset.records):
        if record.scene not in goals:
            goals[record.scene] = _goal_digests(dataset, record.scene)
        key = (record.metadata.task, record.metadata.instruction)
        if key not in fitting:
            fitting[key] = {named.oracle.digest for named in oracles.for_task(*key)}
        wanted = fitting[key] | goals[record.scene]
        if wanted and all((record.trace_id, digest) in judged for digest in wanted):
            summary.skipped += 1
        else:
            todo.append(record)
    return todo


def _goal_digests(dataset: Dataset, scene: str) -> set[str]:
    try:
        package = dataset.scene(scene)
        problem = package.problem
        return {goal_oracle(problem, package.scene, name=scene).digest} if problem else set()
    except MangoTraceError:
        return set()  # reported by the shard that meets it


def _shards(
    dataset: Dataset,
    records: Sequence[TraceRecord],
    oracles: OracleSet,
    options: Options,
    size: int,
) -> Iterator[Shard]:
    by_scene = sorted(records, key=lambda record: record.scene)  # stable: keeps the stored order
    fitting: dict[frozenset[tuple[str, str]], OracleSet] = {}
    for scene, members in groupby(by_scene, key=lambda record: record.scene):
        for traces in _parts(members, size):
            tasks = frozenset((trace.metadata.task, trace.metadata.instruction) for trace in traces)
            if tasks not in fitting:
                fitting[tasks] = oracles.only(one for task in tasks for one in oracles.for_task(*task))
            yield Shard(dataset.root, scene, tuple(traces), fitting[tasks], options)


def _parts(records: Iterable[TraceRecord], size: int) -> Iterator[list[TraceRecord]]:
    part: list[TraceRecord] = []
    states = 0
    for record in records:
        if part and (len(part) == size or states + record.n_states > BATCH_STATES):
            yield part
            part, states = [], 0
        part.append(record)
        states += record.n_states
    if part:
        yield part
