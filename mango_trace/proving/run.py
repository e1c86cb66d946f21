"""Proving oracles on a dataset: scene by scene, mutants of a scene judged together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final

from mango_trace.errors import MangoTraceError
from mango_trace.evaluation.judging import states_of
from mango_trace.evaluation.oracle_files import OracleSet, load_oracles, unused_oracles
from mango_trace.evaluation.shard import Workplace
from mango_trace.oracle import CompiledOracle
from mango_trace.proving.gate import Limits, MutantSeen, Proof, SourceSeen, weigh
from mango_trace.proving.trial import Candidate, Trial
from mango_trace.store import Dataset, Trace, TraceRecord
from mango_trace.store.verify import in_stored_order

_TOGETHER: Final = 16
"""Traces whose mutants are held at a time: progress is seen, and what is done for a batch pays."""

_READ: Final = ("time", "qpos", "qvel", "mocap_pos", "mocap_quat")


@dataclass(slots=True)
class ProofReport:
    """What came of proving some oracles.

    Attributes:
        proofs: One for each oracle, in the order of their files.
        problems: What was wrong with the input: subject and reason.
        seconds: How long it took.
    """

    proofs: list[Proof] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    def note(self, subject: str, message: str) -> None:
        """Add a problem, once."""
        if (subject, message) not in self.problems:
            self.problems.append((subject, message))

    @property
    def exit_code(self) -> int:
        """0 when every oracle is proven, 1 when one is not, 3 when any input was bad."""
        if self.problems:
            return 3
        return 0 if self.proofs and all(proof.outcome == "proven" for proof in self.proofs) else 1


@dataclass(slots=True)
class _Evidence:
    """What was seen of an oracle so far."""

    sources: list[SourceSeen] = field(default_factory=list)
    mutants: list[MutantSeen] = field(default_factory=list)

    def add(self, seen: SourceSeen | MutantSeen) -> None:
        """Add what it said of a trace or of a mutant."""
        if isinstance(seen, SourceSeen):
            self.sources.append(seen)
        else:
            self.mutants.append(seen)


def prove(
    root: Path | str,
    oracle_paths: Sequence[Path],
    *,
    limits: Limits | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ProofReport:
    """Prove oracles on the traces that they are for.

    Args:
        root: Dataset: folder or URL.
        oracle_paths: Oracle and library files, or folders of them.
        limits: What is asked of an oracle.
        progress: Called with the number of traces done and of all.

    Returns:
        What the traces show of each oracle, and what was wrong with the input.

    Raises:
        DatasetError: There is no such dataset.
    """
    dataset = Dataset(root)
    metadata = [record.metadata for record in dataset.records]
    oracles = load_oracles(oracle_paths, frozenset(one.task for one in metadata))
    problems = [(str(one).split(":", 1)[0], str(one)) for one in (*dataset.problems, *oracles.problems)]
    problems += unused_oracles(oracles, oracle_paths, metadata)
    report = prove_all(dataset, oracles, limits=limits, progress=progress)
    report.problems = [*problems, *report.problems]
    return report


def prove_all(
    dataset: Dataset,
    oracles: OracleSet,
    *,
    limits: Limits | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ProofReport:
    """Prove oracles that are at hand.

    Args:
        dataset: The traces.
        oracles: The oracles with their libraries.
        limits: What is asked of an oracle.
        progress: Called with the number of traces done and of all that any oracle is for.

    Returns:
        What the traces show of each oracle, and what was wrong with traces and scenes.
    """
    limits, report, started = limits or Limits(), ProofReport(), time.monotonic()
    records = [record for record in in_stored_order(dataset.records) if oracles.for_trace(record.metadata)]
    evidence = {named.source: _Evidence() for named in oracles.oracles}
    done = 0
    for scene, members in groupby(sorted(records, key=_scene_of), key=_scene_of):
        for tried in _try_scene(dataset, scene, list(members), oracles, evidence, report):
            done += tried
            if progress is not None:
                progress(done, len(records))
    report.proofs = [
        weigh(named, evidence[named.source].sources, evidence[named.source].mutants, limits)
        for named in oracles.oracles
    ]
    report.seconds = time.monotonic() - started
    return report


def _scene_of(record: TraceRecord) -> str:
    return record.scene


def _try_scene(
    dataset: Dataset,
    scene: str,
    records: Sequence[TraceRecord],
    oracles: OracleSet,
    evidence: dict[str, _Evidence],
    report: ProofReport,
) -> Iterator[int]:
    """Put the oracles to the test on the traces of a scene; yields how many traces were done each time."""
    try:
        workplace = Workplace(dataset.scene(scene))
    except MangoTraceError as error:
        report.note(scene, str(error))
        yield len(records)
        return
    if workplace.goal_problem is not None:
        report.note(f"{workplace.package.scene.task}.end_state", workplace.goal_problem)
    trial = Trial(workplace)
    for start in range(0, len(records), _TOGETHER):
        part = records[start : start + _TOGETHER]
        candidates, owners = [], {}
        for record in part:
            compiled = dict(_fitting(workplace, record, oracles, report))
            owners[record.trace_id] = compiled
            loaded = _load(dataset, workplace, record, report) if compiled else None
            if loaded is not None:
                distinct = {one.digest: one for one in compiled.values()}
                candidates.append(Candidate(record.trace_id, loaded, tuple(distinct.values())))
        if candidates:
            for digest, seen in trial.run(candidates):
                for source, one in owners[seen.trace_id].items():
                    if one.digest == digest:
                        evidence[source].add(seen)
        yield len(part)


def _fitting(
    workplace: Workplace, record: TraceRecord, oracles: OracleSet, report: ProofReport
) -> Iterator[tuple[str, CompiledOracle]]:
    """File and compiled form of every oracle that is for a trace and fits its scene."""
    for named in oracles.for_trace(record.metadata):
        compiled = workplace.compile(named, oracles)
        if isinstance(compiled, MangoTraceError):
            report.note(named.source, str(compiled))
        else:
            yield named.source, compiled


def _load(dataset: Dataset, workplace: Workplace, record: TraceRecord, report: ProofReport) -> Trace | None:
    """A trace with states to judge that fits its scene; an episode that broke while it ran says nothing."""
    if record.metadata.ended == "error" or record.n_states <= record.metadata.warmup_steps:
        return None
    try:
        trace = dataset.load(record, _READ, actions=False)
        workplace.kinematics.check(states_of(trace))
    except MangoTraceError as error:
        report.note(record.trace_id, str(error))
        return None
    return trace
