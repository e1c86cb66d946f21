"""The unit of work: some traces of one scene, judged by one process.

A shard depends on nothing but its own arguments, so results are the same whatever the engine, the
number of workers or the order. It returns Arrow tables; only the committer writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import mujoco
import pyarrow as pa

from mango_trace.errors import MangoTraceError
from mango_trace.evaluation.judging import Task, TraceVerdict, batches_of, judge_batch, states_of
from mango_trace.evaluation.notes import instance_notes, version_notes
from mango_trace.evaluation.oracle_files import NamedOracle, OracleSet
from mango_trace.evaluation.rows import (
    add_end_state_row,
    add_interval_rows,
    add_label_rows,
    add_oracle_rows,
    add_verdict_rows,
    describe_states,
    error_verdict_row,
    trace_row,
)
from mango_trace.oracle import CompiledOracle, compile_oracle
from mango_trace.oracle.goal import goal_oracle, premise_monitors
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.predicates.signature import Need
from mango_trace.scene.package import ScenePackage
from mango_trace.signals import SceneKinematics, TraceStates, Validity
from mango_trace.store import Dataset, Trace, TraceRecord
from mango_trace.verdicts import Rows

EVALUATOR: Final = f"1/mujoco-{mujoco.__version__}"
"""Version of everything that a verdict depends on, apart from trace and oracle."""

_READ: Final = ("time", "qpos", "mocap_pos", "mocap_quat")
"""State components that every signal is computed from; velocities are read where they are needed."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge.

    Attributes:
        order: ``strict`` makes an ordering violation a failure, ``report`` only notes it.
        hold: States that the held-k meaning of success asks for.
        rules: Also compute the geometric counterpart of every benchmark rule that an oracle asks,
            so that their disagreements can be queried. Traces are judged again for it.
        intervals: Compute and store the truth intervals of every monitor. Without them verdicts are the
            same and come sooner.
    """

    order: Literal["report", "strict"] = "report"
    hold: int = 10
    rules: bool = False
    intervals: bool = True


@dataclass(frozen=True, slots=True)
class Shard:
    """Traces of one scene of one dataset.

    Attributes:
        root: The dataset.
        scene: Digest of the scene.
        records: The traces, in stored order.
        oracles: Oracles that are for them, with their libraries.
        options: How to judge.
        name: What rows call the dataset, where that is not how ``root`` reads.
    """

    root: Path
    scene: str
    records: tuple[TraceRecord, ...]
    oracles: OracleSet
    options: Options
    name: str = ""

    @property
    def dataset(self) -> str:
        """The dataset as rows call it: as it was given."""
        return self.name or str(self.root)


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What came of a shard.

    Attributes:
        tables: Rows by table.
        n_traces: Traces that were judged or tried.
        trace_errors: Traces that could not be judged: id and reason.
        problems: Oracles that do not fit the scene: name and reason.
    """

    tables: dict[str, pa.Table]
    n_traces: int
    trace_errors: tuple[tuple[str, str], ...]
    problems: tuple[tuple[str, str], ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes as streams of Arrow: columns one by one take six times as long."""
        streams = {name: _to_stream(table) for name, table in self.tables.items()}
        return _received, (streams, self.n_traces, self.trace_errors, self.problems)


def _to_stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _received(streams: dict[str, bytes], *others: Any) -> ShardResult:
    tables = {name: pa.ipc.open_stream(stream).read_all() for name, stream in streams.items()}
    return ShardResult(tables, *others)


class Workplace:
    """A scene with everything compiled against it."""

    def __init__(self, package: ScenePackage) -> None:
        self.package = package
        self.kinematics = SceneKinematics(package)
        self.task = Task(None, {})
        self.goal_problem: str | None = None
        self._compiled: dict[tuple[str, str], CompiledOracle | MangoTraceError] = {}
        try:
            problem = package.problem
            if problem is not None:
                name = f"{package.scene.task}.end_state"
                premises = premise_monitors(problem, package.scene)
                self.task = Task(goal_oracle(problem, package.scene, name=name), premises)
        except MangoTraceError as error:
            self.goal_problem = str(error)

    def needs(self, oracles: Sequence[CompiledOracle]) -> set[Need]:
        """What the predicates of some oracles read, and those of the task and of geometric rules."""
        asked = [monitor for oracle in oracles for monitor in oracle.monitors]
        asked += self.task.goal.monitors if self.task.goal else ()
        asked += [monitor for monitors in self.task.premises.values() for monitor in monitors]
        geometric = {monitor.predicate.geometric for monitor in asked} - {None}
        predicates = [monitor.predicate for monitor in asked] + [CATALOGUE[str(name)] for name in geometric]
        return {need for predicate in predicates for need in predicate.needs}

    def compile(self, named: NamedOracle, oracles: OracleSet) -> CompiledOracle | MangoTraceError:
        """Compile an oracle against the scene, once."""
        key = (named.source, named.oracle.digest)
        if key not in self._compiled:
            try:
                self._compiled[key] = compile_oracle(
                    named.oracle,
                    self.package.scene,
                    CATALOGUE,
                    oracles.libraries,
                    name=named.name,
                )
            except MangoTraceError as error:
                self._compiled[key] = error
        return self._compiled[key]


@lru_cache(maxsize=4)
def open_dataset(root: Path) -> Dataset:
    """A dataset, opened once until :func:`forget_scenes`."""
    return Dataset(root)


@lru_cache(maxsize=8)
def _workplace(root: Path, scene: str) -> Workplace:
    return Workplace(open_dataset(root).scene(scene))


def forget_scenes() -> None:
    """Drop what this process keeps between shards, after an evaluation."""
    open_dataset.cache_clear()
    _workplace.cache_clear()


def judge_shard(shard: Shard) -> ShardResult:
    """Judge every trace of a shard.

    Args:
        shard: The traces and the oracles.

    Returns:
        Rows for the database; a trace that cannot be judged is a row with its error.
    """
    rows = Rows()
    errors: list[tuple[str, str]] = []
    problems: dict[str, str] = {}
    try:
        workplace = _workplace(shard.root, shard.scene)
    except MangoTraceError as error:
        return broken_shard(shard, str(error))
    if workplace.goal_problem is not None:
        problems[f"{workplace.package.scene.task}.end_state"] = workplace.goal_problem
    used: dict[str, tuple[CompiledOracle, str]] = {}
    if workplace.task.goal is not None:
        used[workplace.task.goal.digest] = (workplace.task.goal, "end_state")
    work = _Work(shard, workplace)
    for record in shard.records:
        if work.is_empty(record):
            continue
        oracles = list(_fitting(workplace, record, shard.oracles, problems))
        used.update((compiled.digest, (compiled, "fine_grained")) for compiled in oracles)
        work.load(record, oracles)
    work.judge()
    for record in shard.records:  # in stored order, whatever was judged together
        reason = work.add_rows(rows, record)
        if reason is not None:
            errors.append((record.trace_id, reason))
    for compiled, kind in used.values():
        add_oracle_rows(rows, compiled, kind)
    return ShardResult(rows.to_arrow(), len(shard.records), tuple(errors), tuple(problems.items()))


def broken_shard(shard: Shard, reason: str) -> ShardResult:
    """What comes of a shard of which no trace can be judged: for each a row with the reason."""
    rows = Rows()
    for record in shard.records:
        _add_broken_trace(rows, record, shard, [], None, reason)
    errors = tuple((record.trace_id, reason) for record in shard.records)
    return ShardResult(rows.to_arrow(), len(shard.records), errors, ())


def _fitting(
    workplace: Workplace, record: TraceRecord, oracles: OracleSet, problems: dict[str, str]
) -> Iterator[CompiledOracle]:
    seen = set()
    for named in oracles.for_trace(record.metadata):
        compiled = workplace.compile(named, oracles)
        if isinstance(compiled, MangoTraceError):
            problems[named.source] = str(compiled)
        elif compiled.digest not in seen:
            seen.add(compiled.digest)
            yield compiled


class _Work:
    """The traces of a shard, each with what came of it."""

    def __init__(self, shard: Shard, workplace: Workplace) -> None:
        self._shard, self._workplace = shard, workplace
        self._oracles: dict[str, list[CompiledOracle]] = {}
        self._traces: dict[str, Trace] = {}
        self._states: dict[str, TraceStates] = {}
        self._found: dict[str, tuple[TraceVerdict, Validity]] = {}
        self._errors: dict[str, str] = {}

    def is_empty(self, record: TraceRecord) -> bool:
        """Whether a trace is but the row of an episode that could not be imported."""
        if record.n_steps > 0 or record.metadata.ended != "error":
            return False
        self._oracles[record.trace_id] = []
        self._errors[record.trace_id] = record.metadata.error or "nothing was recorded"
        return True

    def load(self, record: TraceRecord, oracles: list[CompiledOracle]) -> None:
        """Read a trace that has some oracles, and see that it fits the scene."""
        self._oracles[record.trace_id] = oracles
        try:
            needs = self._workplace.needs(oracles)
            components = (*_READ, "qvel") if Need.VELOCITY in needs else _READ
            trace = open_dataset(self._shard.root).load(record, components, actions=False)
            states = states_of(trace)
            self._workplace.kinematics.check(states)
        except MangoTraceError as error:
            self._errors[record.trace_id] = getattr(error, "reason", str(error))
        else:
            self._traces[record.trace_id], self._states[record.trace_id] = trace, states

    def judge(self) -> None:
        """Judge what was read, as much together as can be."""
        trace_ids, options = list(self._states), self._shard.options
        for batch in batches_of(list(self._states.values())):
            members = [trace_ids[index] for index in batch]
            found = judge_batch(
                [self._traces[trace_id] for trace_id in members],
                [self._states[trace_id] for trace_id in members],
                self._workplace.kinematics,
                [self._oracles[trace_id] for trace_id in members],
                self._workplace.task,
                order=options.order,
                hold=options.hold,
                rules=options.rules,
                intervals=options.intervals,
            )
            self._found.update(zip(members, found, strict=True))

    def add_rows(self, rows: Rows, record: TraceRecord) -> str | None:
        """Add the rows of a trace and return why it could not be judged, if so."""
        trace_id = record.trace_id
        if trace_id in self._errors:
            self._add_broken(rows, record, self._errors[trace_id])
            return self._errors[trace_id]
        self._add_judged(rows, record, self._traces[trace_id], *self._found[trace_id])
        return None

    def _add_judged(
        self, rows: Rows, record: TraceRecord, trace: Trace, verdict: TraceVerdict, validity: Validity
    ) -> None:
        metadata, trace_id, workplace = record.metadata, record.trace_id, self._workplace
        order, intervals = self._shard.options.order, self._shard.options.intervals
        goal = workplace.task.goal
        row = trace_row(record, self._shard.dataset)
        describe_states(row, trace, workplace.package.scene, validity, verdict)
        row["problems"] += version_notes(metadata, workplace.kinematics.model)
        if goal is not None:
            row["problems"] += instance_notes(trace, workplace.kinematics, goal, verdict.end_state)
        rows.add("traces", row)
        add_label_rows(rows, trace_id, metadata.labels)
        # An episode that broke while it ran says nothing about the policy.
        error = f"recording ended in an error: {metadata.error}" if metadata.ended == "error" else None
        for found in verdict.oracles:
            if error is None:
                add_verdict_rows(rows, trace_id, EVALUATOR, order, found, intervals=intervals)
            else:
                rows.add("verdicts", error_verdict_row(trace_id, found.compiled, EVALUATOR, order, error))
        if goal is not None:
            add_end_state_row(rows, trace_id, goal, EVALUATOR, verdict, error, intervals=intervals)
        add_interval_rows(rows, trace_id, EVALUATOR, verdict.truths)

    def _add_broken(self, rows: Rows, record: TraceRecord, reason: str) -> None:
        _add_broken_trace(
            rows, record, self._shard, self._oracles[record.trace_id], self._workplace.task.goal, reason
        )


def _add_broken_trace(
    rows: Rows,
    record: TraceRecord,
    shard: Shard,
    oracles: list[CompiledOracle],
    goal: CompiledOracle | None,
    reason: str,
) -> None:
    row = trace_row(record, shard.dataset)
    row["status"], row["status_error"] = "error", reason
    rows.add("traces", row)
    add_label_rows(rows, record.trace_id, record.metadata.labels)
    for compiled in oracles:
        rows.add(
            "verdicts",
            error_verdict_row(record.trace_id, compiled, EVALUATOR, shard.options.order, reason),
        )
    if goal is not None:
        add_end_state_row(rows, record.trace_id, goal, EVALUATOR, None, reason, intervals=False)
