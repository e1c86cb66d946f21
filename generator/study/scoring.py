"""How good what a run wrote is: read again from its documents, and tried on recorded traces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from rapidfuzz.distance import Levenshtein

from generator.modules.oracles import Oracles, oracles_as_data
from generator.modules.tasks import Tasks, as_data
from generator.modules.variant import Variant
from generator.study.records import Part, Run
from generator.study.running import oracles_in, tasks_in
from generator.targets import Target
from mango_trace.errors import MangoTraceError, UsageError
from mango_trace.evaluation import OracleSet, load_oracles
from mango_trace.evaluation.judging import Task, judge_batch, states_of
from mango_trace.evaluation.oracle_files import NamedOracle
from mango_trace.evaluation.shard import Workplace
from mango_trace.oracle import FineGrainedOracle, Libraries, compile_oracle, link, parse_oracle
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.proving import Proof, prove_all
from mango_trace.store import Dataset, TraceRecord

MEASURES: Final = (
    "validity", "executability", "similarity", "similarity_tasks", "similarity_oracles", "accepted",
    "mutation_score", "successes_passed", "tasks_tested", "calls", "tokens", "usd",
    "seconds_I", "seconds_II", "seconds_III",
)  # fmt: skip
"""What is measured of a run, in the order of tables."""

_READ: Final = ("time", "qpos", "qvel", "mocap_pos", "mocap_quat")

Scores = Mapping[str, float | None]
"""A run's measures; ``None`` where there is nothing to measure."""


def text_similarity(first: str, second: str) -> float:
    """Normalised Levenshtein similarity: 1 for equal texts, 0 for texts with nothing in common.

    >>> text_similarity("abcd", "abxd")
    0.75
    """
    return float(Levenshtein.normalized_similarity(first, second))


@dataclass(frozen=True, slots=True)
class References:
    """What people wrote.

    Attributes:
        oracles: Oracle by task.
        tasks: The atomic tasks that these use.
        atomic_oracles: The atomic oracles that these use.
    """

    oracles: Mapping[str, FineGrainedOracle]
    tasks: Tasks
    atomic_oracles: Oracles


def read_references(folder: Path, targets: Iterable[Target]) -> References:
    """Read reference oracles and the part of their libraries that they use.

    Args:
        folder: Oracles, named after their tasks, with libraries.
        targets: The tasks.

    Raises:
        MangoTraceError: A file cannot be read.
        UsageError: There is no oracle of any of the tasks.
    """
    wanted = {target.name for target in targets}
    found = load_oracles([folder])
    for problem in found.problems:
        raise problem
    oracles = {named.name: named.oracle for named in found.oracles if named.name in wanted}
    if not oracles:
        raise UsageError(f"{folder}: no reference oracle of any of the tasks there")
    actions = [action for oracle in oracles.values() for step in oracle.plan for action in step.actions]
    used = {action.action_id for action in actions}
    seen = {monitor.oracle_id for action in actions for monitor in action.monitoring}
    libraries = found.libraries or Libraries((), ())
    return References(
        oracles,
        tuple(task for task in libraries.tasks if task.id in used),
        tuple(oracle for oracle in libraries.oracles if oracle.oracle_id in seen),
    )


class Examiner:
    """Scores runs.

    Args:
        targets: The tasks.
        traces: Dataset whose traces the oracles are tried on.
        references: What people wrote.

    Attributes:
        problems: What was wrong with traces and scenes: subject and reason.
    """

    def __init__(self, targets: Sequence[Target], traces: Path, references: References) -> None:
        self._targets, self._references = targets, references
        self._dataset = Dataset(traces)
        self._workplaces: dict[str, Workplace] = {}
        self.problems = [(str(one).split(":", 1)[0], str(one)) for one in self._dataset.problems]

    def score(
        self,
        runs: Sequence[Run],
        variants: Sequence[Variant],
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Scores]:
        """Score some runs; mutants are judged once for all of them.

        Args:
            runs: The runs.
            variants: What took part in each.
            progress: Told while mutants are judged: traces done and all.

        Returns:
            The measures of each run.
        """
        proofs = self._prove([*map(self._valid, runs), self._references.oracles], progress)
        return [self._score(run, variant, proofs) for run, variant in zip(runs, variants, strict=True)]

    def _score(self, run: Run, variant: Variant, proofs: Mapping[tuple[str, str], Proof]) -> Scores:
        names = [target.name for target in self._targets]
        valid = self._valid(run)
        libraries = _linked(run) if variant.task_library and variant.oracle_library else None
        broken = variant.task_library and variant.oracle_library and libraries is None
        executable = {
            name: name in valid and not broken and self._is_executable(name, valid[name], libraries)
            for name in names
            if name in self._records
        }
        tested = [name for name in names if self._can_be_tested(name, proofs)]
        shown = {
            name: proofs.get((name, valid[name].digest)) if executable.get(name) else None for name in tested
        }
        parts = [run.tasks, run.oracles, *run.plans.values()]
        return {
            "validity": _mean(float(name in valid) for name in names),
            "executability": _mean(map(float, executable.values())),
            "similarity": _mean(
                text_similarity(valid[name].canonical, reference.canonical) if name in valid else 0.0
                for name, reference in self._references.oracles.items()
            ),
            "similarity_tasks": _library(run.tasks, as_data(tasks_in(run)), as_data(self._references.tasks)),
            "similarity_oracles": _library(
                run.oracles,
                oracles_as_data(oracles_in(run)),
                oracles_as_data(self._references.atomic_oracles),
            ),
            "accepted": _mean(float(name in run.plans and run.plans[name].accepted) for name in names),
            "mutation_score": _mean((proof.score or 0.0) if proof else 0.0 for proof in shown.values()),
            "successes_passed": _mean(
                proof.n_passed / proof.n_successes if proof else 0.0 for proof in shown.values()
            ),
            "tasks_tested": len(tested),
            "calls": sum(part.calls for part in parts if part),
            "tokens": sum(part.tokens for part in parts if part),
            "usd": sum(part.usd for part in parts if part),
            "seconds_I": run.tasks.seconds if run.tasks else None,
            "seconds_II": run.oracles.seconds if run.oracles else None,
            "seconds_III": _total(run.plans[name].seconds for name in names if name in run.plans),
        }

    def _valid(self, run: Run) -> dict[str, FineGrainedOracle]:
        """Oracles of a run whose structure is right, by task."""
        found = {}
        for name, part in run.plans.items():
            if part.document is not None:
                try:
                    found[name] = parse_oracle(json.dumps(part.document), name)
                except MangoTraceError:
                    continue
        return found

    @cached_property
    def _records(self) -> dict[str, TraceRecord]:
        """A trace of each task with states to judge."""
        return {
            record.metadata.task: record
            for record in reversed(self._dataset.records)
            if record.metadata.ended != "error" and record.n_states > record.metadata.warmup_steps
        }

    def _is_executable(self, name: str, oracle: FineGrainedOracle, libraries: Libraries | None) -> bool:
        """Whether an oracle compiles against its scene, and says something of a trace."""
        record = self._records[name]
        if name not in self._workplaces:
            self._workplaces[name] = Workplace(self._dataset.scene(record.scene))
        workplace = self._workplaces[name]
        try:
            compiled = compile_oracle(oracle, workplace.package.scene, CATALOGUE, libraries, name=name)
        except MangoTraceError:
            return False
        trace = self._dataset.load(record, _READ, actions=False)
        ((verdict, _),) = judge_batch(
            [trace], [states_of(trace)], workplace.kinematics, [[compiled]], Task(None, {}),
            order="report", hold=1, intervals=False,
        )  # fmt: skip
        return len(verdict.oracles) == 1

    def _can_be_tested(self, name: str, proofs: Mapping[tuple[str, str], Proof]) -> bool:
        """Whether the traces can show anything of a task: the reference passes one, and a mutant counts."""
        reference = self._references.oracles.get(name)
        proof = proofs.get((name, reference.digest)) if reference else None
        return proof is not None and proof.applicable > 0

    def _prove(
        self,
        found: Iterable[Mapping[str, FineGrainedOracle]],
        progress: Callable[[int, int], None] | None,
    ) -> dict[tuple[str, str], Proof]:
        """What the traces show of all oracles, each proven once; by task and digest."""
        distinct = {(name, one.digest): one for oracles in found for name, one in oracles.items()}
        named = tuple(
            NamedOracle(name, f"{name}/{digest}", one) for (name, digest), one in sorted(distinct.items())
        )
        names = frozenset(name for name, _ in distinct)
        report = prove_all(self._dataset, OracleSet(named, None, (), names), progress=progress)
        # That an oracle does not fit its scene is a result, and no problem of the input.
        sources = {one.source for one in named}
        self.problems += [one for one in report.problems if one[0] not in sources]
        return {(proof.name, proof.digest): proof for proof in report.proofs}


def _linked(run: Run) -> Libraries | None:
    """Both libraries of a run, or ``None`` where they do not fit together."""
    try:
        return link(tasks_in(run), oracles_in(run), source="run")
    except MangoTraceError:
        return None


def _library(
    part: Part | None, entries: list[dict[str, Any]], reference: list[dict[str, Any]]
) -> float | None:
    """Similarity of a library with its reference, whatever order the entries have."""
    if part is None or not reference:
        return None
    return text_similarity(_canonical(entries), _canonical(reference))


def _canonical(entries: list[dict[str, Any]]) -> str:
    return json.dumps(sorted(json.dumps(entry, sort_keys=True) for entry in entries))


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return fmean(found) if found else None


def _total(values: Iterable[float | None]) -> float | None:
    """Sum of values; of an unknown one nothing is known."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None
