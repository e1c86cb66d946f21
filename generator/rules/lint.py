"""Where instruction, goal and oracle of a task disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from generator.rules.errors import InstructionError
from generator.rules.grammar import parse_instruction
from generator.rules.grounding import Grounding
from generator.rules.units import Unit, units_of
from mango_trace.oracle import FineGrainedOracle, Monitor
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.scene.bddl import Literal as Condition
from mango_trace.scene.bddl import Problem
from mango_trace.scene.model import Scene

_BENCHMARK_NAMES: Final = {entry.geometric: entry.name for entry in CATALOGUE.values() if entry.geometric}
_FUNCTIONS: Final = {
    "place_in": "in",
    "place_on": "on",
    "push_to": "on",
    "open": "open",
    "close": "close",
    "turn_on": "turnon",
    "turn_off": "turnoff",
}
_Call: TypeAlias = tuple[str, ...]


class Kind(StrEnum):
    """Kinds of disagreement."""

    CLAUSE_WITHOUT_CONDITION = "clause_without_condition"
    """The instruction asks for something that the goal never checks."""
    CLAUSE_WITHOUT_MONITOR = "clause_without_monitor"
    """The instruction asks for something that the oracle does not monitor."""
    CONDITION_WITHOUT_CLAUSE = "condition_without_clause"
    """The goal checks something that no clause of the instruction names."""
    CONDITION_WITHOUT_MONITOR = "condition_without_monitor"
    """The goal checks something that the oracle does not monitor."""
    MONITOR_WITHOUT_CONDITION = "monitor_without_condition"
    """The oracle monitors something that the goal does not check."""
    THING_WITHOUT_MONITOR = "thing_without_monitor"
    """The instruction or the BDDL names something that no monitor asks about."""
    OTHER_MEANING = "other_meaning"
    """The BDDL's own wording asks for something else than the instruction."""
    OTHER_WORDING = "other_wording"
    """The BDDL's own wording cannot be understood in the scene."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One disagreement.

    Attributes:
        kind: What kind it is.
        task: The task.
        text: The clause, condition, monitor, name or wording that it is about, and what it lacks.
        concerns: Names of the scene that it is about.
    """

    kind: Kind
    task: str
    text: str
    concerns: tuple[str, ...]


def lint(instruction: str, scene: Scene, problem: Problem, oracle: FineGrainedOracle) -> tuple[Finding, ...]:
    """Hold instruction, goal and oracle of a task against each other.

    The benchmark's predicate and its geometric version count as the same, and so do a condition and an
    invariant that forbids its opposite. Picking something up counts as checked where it is placed later.

    Args:
        instruction: What the robot is told.
        scene: The scene.
        problem: The task's BDDL, with its goal and its own wording of the instruction.
        oracle: An oracle of the task, by whomever.

    Returns:
        Findings, sorted by kind in the order of :class:`Kind`.

    Raises:
        InstructionError: The instruction is not understood, or does not fit the scene.
    """
    grounding = Grounding(scene, problem)
    units = units_of(parse_instruction(instruction), grounding)
    conditions = {_call(one.predicate, one.arguments): one for one in problem.goal}
    monitors = {_asked(one): one for one in _monitors(oracle)}
    found = [
        *_clauses(units, conditions, monitors),
        *(
            (Kind.CONDITION_WITHOUT_CLAUSE, f"{one} is in no clause", one.arguments)
            for call, one in conditions.items()
            if call not in {_effect(unit) for unit in units}
        ),
        *(
            (Kind.CONDITION_WITHOUT_MONITOR, f"{one} is not monitored", one.arguments)
            for call, one in conditions.items()
            if call not in monitors
        ),
        *(
            (Kind.MONITOR_WITHOUT_CONDITION, f"{_show(call)} is not in the goal", _names(one))
            for call, one in monitors.items()
            if call not in conditions
        ),
        *_things(units, problem, monitors.values(), grounding),
        *_wording(problem, grounding, units),
    ]
    order = list(Kind)
    return tuple(
        Finding(kind, scene.task, text, concerns)
        for kind, text, concerns in sorted(found, key=lambda one: order.index(one[0]))
    )


def count_kinds(findings: Iterable[Finding]) -> dict[Kind, int]:
    """How many findings there are of each kind, those without any included."""
    counts = Counter(finding.kind for finding in findings)
    return {kind: counts[kind] for kind in Kind}


_Found: TypeAlias = tuple[Kind, str, tuple[str, ...]]


def _clauses(
    units: tuple[Unit, ...], conditions: Iterable[_Call], monitors: Iterable[_Call]
) -> Iterator[_Found]:
    goal, asked = set(conditions), set(monitors)
    for index, unit in enumerate(units):
        effect = _effect(unit)
        if effect is None:
            placed = any(later.place and later.thing == unit.thing for later in units[index + 1 :])
            if not placed:
                yield Kind.CLAUSE_WITHOUT_CONDITION, f"{unit.text!r} is not in the goal", (unit.thing,)
            if ("grasped", unit.thing) not in asked and ("lifted", unit.thing) not in asked:
                yield Kind.CLAUSE_WITHOUT_MONITOR, f"{unit.text!r} is not monitored", (unit.thing,)
            continue
        if effect not in goal:
            yield Kind.CLAUSE_WITHOUT_CONDITION, f"{unit.text!r} is not in the goal", effect[1:]
        if effect not in asked:
            yield Kind.CLAUSE_WITHOUT_MONITOR, f"{unit.text!r} is not monitored", effect[1:]


def _things(
    units: tuple[Unit, ...], problem: Problem, monitors: Iterable[Monitor], grounding: Grounding
) -> Iterator[_Found]:
    monitored = {grounding.owner(name) for monitor in monitors for name in _names(monitor)}
    named = [unit.thing for unit in units]
    named += [unit.place.anchor for unit in units if unit.place]
    named += problem.objects_of_interest
    for name in dict.fromkeys(map(grounding.owner, named)):
        if name not in monitored:
            yield Kind.THING_WITHOUT_MONITOR, f"{name} is named and not monitored", (name,)


def _wording(problem: Problem, grounding: Grounding, units: tuple[Unit, ...]) -> Iterator[_Found]:
    if not problem.instruction:
        return
    try:
        other = units_of(parse_instruction(problem.instruction), grounding)
    except InstructionError as error:
        yield Kind.OTHER_WORDING, f"the BDDL says {error}", ()
        return
    ours, theirs = [_meaning(unit) for unit in units], [_meaning(unit) for unit in other]
    if ours != theirs:
        names = {name for meaning in {*ours} ^ {*theirs} for name in meaning[1:]}
        text = f"the BDDL says {problem.instruction!r}"
        yield Kind.OTHER_MEANING, text, tuple(sorted(names))


def _effect(unit: Unit) -> _Call | None:
    """What holds once a unit is done, as a condition; nothing lasts of picking up."""
    if unit.place is not None:
        return _call(_FUNCTIONS[unit.place.task_id], (unit.thing, unit.place.target))
    return None if unit.moves else _call(_FUNCTIONS[unit.verb], (unit.thing,))


def _meaning(unit: Unit) -> _Call:
    return _effect(unit) or (unit.verb, unit.thing)


def _monitors(oracle: FineGrainedOracle) -> Iterator[Monitor]:
    for step in oracle.plan:
        for action in step.actions:
            yield from action.monitoring
    for monitor in oracle.never:
        yield monitor.model_copy(update={"negate": not monitor.negate})


def _asked(monitor: Monitor) -> _Call:
    call = _call(monitor.handle_as.function, map(str, monitor.handle_as.arguments))
    return ("not", *call) if monitor.negate else call


def _call(function: str, arguments: Iterable[str]) -> _Call:
    return _BENCHMARK_NAMES.get(function, function), *arguments


def _names(monitor: Monitor) -> tuple[str, ...]:
    return tuple(value for value in monitor.handle_as.arguments if isinstance(value, str))


def _show(call: _Call) -> str:
    if call[0] == "not":
        return f"not {_show(call[1:])}"
    return str(Condition(call[0], call[1:]))
