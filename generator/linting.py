"""Holding instruction, goal and oracle of many tasks against each other, in processes if there are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from generator.rules import Finding, lint, write_libraries, write_oracle
from generator.targets import Target
from mango_trace.errors import BadInputError, MangoTraceError
from mango_trace.evaluation.oracle_files import NamedOracle, OracleSet
from mango_trace.oracle import FineGrainedOracle, Libraries, compile_oracle
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.workers import KILLED, each

Given: TypeAlias = tuple[tuple[NamedOracle, ...], Libraries | None]
"""Oracles that are meant for a task, and their libraries."""


@dataclass(frozen=True, slots=True)
class Linted:
    """What was found about a task.

    Attributes:
        task: The task.
        suite: Its suite, or the empty string.
        findings: Where instruction, goal and oracle disagree.
        error: Why nothing can be said of it, if so.
    """

    task: str
    suite: str
    findings: tuple[Finding, ...] = ()
    error: str = ""


def lint_targets(
    targets: Sequence[Target], oracles: OracleSet | None = None, workers: int = 1
) -> Iterator[Linted]:
    """Lint tasks.

    Args:
        targets: The tasks.
        oracles: Their oracles; those that the rules write, when not given.
        workers: Processes; this one alone, when 1.

    Yields:
        One result for each task, in their order.
    """
    work = [(target, None if oracles is None else _given(target, oracles)) for target in targets]
    if workers == 1 or len(work) <= 1:
        for target, given in work:
            yield _lint(target, given)
        return
    found: dict[str, Linted] = {}
    for (target, _), linted in each(_lint_given, work, workers):
        killed = Linted(target.name, target.suite, error=f"the process that looked at it {KILLED}")
        found[target.name] = linted or killed
        while targets and targets[0].name in found:  # those that come early wait for their turn
            yield found[targets[0].name]
            targets = targets[1:]


def _given(target: Target, oracles: OracleSet) -> Given:
    """The file of the task where there is one, else what has its instruction."""
    found = oracles.for_task(target.name, target.instruction)
    own = tuple(named for named in found if named.name == target.name)
    return own or found, oracles.libraries


def _lint_given(work: tuple[Target, Given | None]) -> Linted:
    return _lint(*work)


def _lint(target: Target, given: Given | None) -> Linted:
    try:
        oracle = _written(target) if given is None else _chosen(target, *given)
        found = lint(target.instruction, target.scene, target.problem, oracle)
    except MangoTraceError as error:
        return Linted(target.name, target.suite, error=str(error))
    return Linted(target.name, target.suite, found)


def _written(target: Target) -> FineGrainedOracle:
    libraries = write_libraries([target.instruction])
    return write_oracle(target.instruction, target.scene, target.problem, libraries)


def _chosen(target: Target, found: tuple[NamedOracle, ...], libraries: Libraries | None) -> FineGrainedOracle:
    if len(found) != 1:
        names = ", ".join(named.source for named in found)
        raise BadInputError(f"several oracles: {names}" if found else "no oracle has its name or instruction")
    oracle = found[0].oracle
    compile_oracle(oracle, target.scene, CATALOGUE, libraries, name=found[0].source)
    return oracle
