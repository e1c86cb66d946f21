"""Where instruction, goal and oracle of a task disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from generator.rules.calls import Call, asked, call_of, effect_of, is_ordered, monitors_in, names_in, show
from generator.rules.errors import InstructionError, NotUnderstoodError
from generator.rules.grammar import parse_instruction
from generator.rules.grounding import Grounding
from generator.rules.order import depends
from generator.rules.syntax import Clause
from generator.rules.units import Unit, units_of
from mango_trace.oracle import FineGrainedOracle, Monitor
from mango_trace.scene.bddl import Literal as Condition
from mango_trace.scene.bddl import Problem
from mango_trace.scene.model import Scene

_SAID: Final = {"in": "in", "under": "under", "on": "on", "on_top": "on top of"}
_SAME: Final = {"in": "in", "on": "on", "on_top": "on"}
"""The benchmark's predicate that is a preposition's own."""


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
    OTHER_INSTANCE = "other_instance"
    """The goal asks the same as the instruction, of another thing of that sort."""
    OTHER_RELATION = "other_relation"
    """The goal asks for another relation than the instruction's preposition says."""
    FIXED_PLACE = "fixed_place"
    """The instruction says where by a thing, the goal by a fixed part of a surface."""
    ORDER_WITHOUT_CONDITION = "order_without_condition"
    """The instruction says "then", which a goal, which sees one state, cannot check."""
    ORDER_WITHOUT_MONITOR = "order_without_monitor"
    """One clause has to come after another, and the oracle leaves their order open."""
    THING_WITHOUT_CLAUSE = "thing_without_clause"
    """The BDDL says that the task is about something that the instruction never names."""
    THING_WITHOUT_MONITOR = "thing_without_monitor"
    """The instruction or the BDDL names something that no monitor asks about."""
    OTHER_MEANING = "other_meaning"
    """The BDDL's own wording asks for something else than the instruction."""
    OTHER_WORDING = "other_wording"
    """The BDDL's own wording cannot be understood in the scene."""
    MONITOR_WITHOUT_CONDITION = "monitor_without_condition"
    """The oracle monitors something that the goal does not check."""
    GEOMETRIC_MONITOR = "geometric_monitor"
    """The oracle asks only the geometric version of what the goal checks."""
    NEEDED_ORDER = "needed_order"
    """One clause has to come after another that it depends on, which a goal cannot check."""


FURTHER: Final = frozenset({Kind.MONITOR_WITHOUT_CONDITION, Kind.GEOMETRIC_MONITOR, Kind.NEEDED_ORDER})
"""Kinds that are no disagreement: the oracle goes further than the goal, in what both have in common."""


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
    clauses = parse_instruction(instruction)
    units = units_of(clauses, grounding)
    conditions = {call_of(one.predicate, one.arguments): one for one in problem.goal}
    monitors = {asked(one): one for one in monitors_in(oracle)}
    found = [
        *_against_goal(units, conditions, problem, grounding),
        *_against_oracle(units, conditions, monitors, oracle),
        *_places(units, conditions, grounding),
        *_orders(units, oracle),
        *_things(clauses, units, problem, monitors.values(), grounding),
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


def _against_goal(
    units: Sequence[Unit], conditions: Mapping[Call, Condition], problem: Problem, grounding: Grounding
) -> Iterator[_Found]:
    """Clauses that the goal does not check, and conditions that nobody asked for."""
    effects = {effect_of(unit) for unit in units}
    rest = {call: one for call, one in conditions.items() if call not in effects}
    for index, unit in enumerate(units):
        effect = effect_of(unit)
        if effect is None:
            if not any(later.place and later.thing == unit.thing for later in units[index + 1 :]):
                yield Kind.CLAUSE_WITHOUT_CONDITION, f"{unit.text!r} is not in the goal", (unit.thing,)
        elif effect not in conditions:
            like = next((call for call in rest if _alike(call, effect, grounding)), None)
            if like is None:
                yield Kind.CLAUSE_WITHOUT_CONDITION, f"{unit.text!r} is not in the goal", effect[1:]
                continue
            text = f"{unit.text!r} means {show(effect)}, and the goal asks {rest.pop(like)}"
            differing = {name for pair in zip(effect, like, strict=True) if len({*pair}) > 1 for name in pair}
            yield Kind.OTHER_INSTANCE, text, tuple(sorted(differing))
    for one in rest.values():
        start = ", and holds from the start" if one in problem.initial else ""
        yield Kind.CONDITION_WITHOUT_CLAUSE, f"{one} is in no clause{start}", one.arguments


def _alike(call: Call, effect: Call, grounding: Grounding) -> bool:
    """Whether two calls ask the same of things of one sort."""

    def sort(name: str) -> str | None:
        owner = grounding.owner(name)
        return next((item.category for item in grounding.scene.objects if item.name == owner), None)

    return (
        call[0] == effect[0]
        and len(call) == len(effect)
        and all(
            one == other or (sort(one) is not None and sort(one) == sort(other))
            for one, other in zip(call[1:], effect[1:], strict=True)
        )
    )


def _against_oracle(
    units: Sequence[Unit],
    conditions: Mapping[Call, Condition],
    monitors: Mapping[Call, Monitor],
    oracle: FineGrainedOracle,
) -> Iterator[_Found]:
    """Clauses and conditions that the oracle does not monitor, and what it monitors beyond the goal."""
    for unit in units:
        effect = effect_of(unit)
        is_seen = effect in monitors
        if effect is None:
            is_seen = ("grasped", unit.thing) in monitors or ("lifted", unit.thing) in monitors
        if not is_seen:
            names = (unit.thing,) if effect is None else effect[1:]
            yield Kind.CLAUSE_WITHOUT_MONITOR, f"{unit.text!r} is not monitored", names
    exact = {(one.handle_as.function, *one.handle_as.arguments) for one in monitors_in(oracle)}
    for call, one in conditions.items():
        if call not in monitors:
            yield Kind.CONDITION_WITHOUT_MONITOR, f"{one} is not monitored", one.arguments
        elif monitors[call].handle_as.function != one.predicate and call not in exact:
            text = f"{one} is monitored as {monitors[call].handle_as.function} alone"
            yield Kind.GEOMETRIC_MONITOR, text, one.arguments
    for call, monitor in monitors.items():
        if call not in conditions:
            yield Kind.MONITOR_WITHOUT_CONDITION, f"{show(call)} is not in the goal", names_in(monitor)


def _places(
    units: Sequence[Unit], conditions: Mapping[Call, Condition], grounding: Grounding
) -> Iterator[_Found]:
    """Places that the goal checks in another way than the instruction says them."""
    for unit in units:
        effect = effect_of(unit)
        if unit.place is None or effect is None or effect not in conditions:
            continue
        said, condition = unit.place.relation, conditions[effect]
        if said in _SAID and _SAME.get(said) != effect[0]:
            text = f"{unit.text!r} says {_SAID[said]!r}, and the goal asks {condition}"
            yield Kind.OTHER_RELATION, text, effect[1:]
        region = grounding.region(unit.place.target)
        if region is not None and region.parent is None:
            text = f"{unit.text!r} is checked by {condition}, a fixed place wherever {unit.place.anchor} is"
            yield Kind.FIXED_PLACE, text, (unit.place.anchor, unit.place.target)


def _orders(units: Sequence[Unit], oracle: FineGrainedOracle) -> Iterator[_Found]:
    """Orders that the goal cannot check, and those that the oracle does not."""
    for index, later in enumerate(units):
        # That a thing is put somewhere after it was picked up goes without saying.
        before = [one for one in units[:index] if effect_of(one) is not None and depends(later, one)]
        for earlier in before:
            if any(depends(between, earlier) for between in before if between is not earlier):
                continue  # it follows from two others
            text = f"{later.text!r} comes after {earlier.text!r}, and the goal sees one state"
            kind = Kind.ORDER_WITHOUT_CONDITION if later.phase > earlier.phase else Kind.NEEDED_ORDER
            yield kind, text, tuple(dict.fromkeys((earlier.thing, later.thing)))
            if is_ordered(oracle, earlier, later) is False:
                text = f"{later.text!r} comes after {earlier.text!r}, and the oracle does not ask for it"
                yield Kind.ORDER_WITHOUT_MONITOR, text, tuple(dict.fromkeys((earlier.thing, later.thing)))


def _things(
    clauses: Sequence[Clause],
    units: Sequence[Unit],
    problem: Problem,
    monitors: Iterable[Monitor],
    grounding: Grounding,
) -> Iterator[_Found]:
    monitored = {grounding.owner(name) for monitor in monitors for name in names_in(monitor)}
    places = [unit.place for unit in units if unit.place]
    # What only tells where a fixed place is, is a finding of its own.
    marks = {
        place.anchor for place in places if place.anchor not in (place.target, grounding.owner(place.target))
    }
    named = [*(unit.thing for unit in units), *(place.anchor for place in places)]
    of_interest = [grounding.owner(name) for name in problem.objects_of_interest]
    for name in dict.fromkeys([*map(grounding.owner, named), *of_interest]):
        if name not in monitored | marks:
            yield Kind.THING_WITHOUT_MONITOR, f"{name} is named and not monitored", (name,)
    known = {*map(grounding.owner, named), *(place.target for place in places)}
    known |= set(_landmarks(clauses, grounding))
    for name in dict.fromkeys(of_interest):
        if name not in known:
            yield Kind.THING_WITHOUT_CLAUSE, f"the BDDL is about {name}, which is in no clause", (name,)


def _landmarks(clauses: Sequence[Clause], grounding: Grounding) -> Iterator[str]:
    """What things and places are described with."""
    for clause in clauses:
        anchors = clause.destination.anchors if clause.destination else ()
        for phrase in (*clause.objects, *anchors):
            for relation in phrase.relations:
                for mark in relation.anchors:
                    with suppress(InstructionError):  # several fit, and nothing hung on which is meant
                        yield from map(grounding.owner, grounding.each(mark))


def _wording(problem: Problem, grounding: Grounding, units: Sequence[Unit]) -> Iterator[_Found]:
    if not problem.instruction:
        return
    said = f"the BDDL says {problem.instruction!r}"
    try:
        other = units_of(parse_instruction(problem.instruction), grounding)
    except NotUnderstoodError as error:
        where = f"word {error.position}, {error.word!r}" if error.word else "its end"
        yield Kind.OTHER_WORDING, f"{said}: not understood at {where}", ()
        return
    except InstructionError as error:
        yield Kind.OTHER_WORDING, f"{said}: {error}", ()
        return
    ours, theirs = [_meaning(unit) for unit in units], [_meaning(unit) for unit in other]
    if ours != theirs:
        names = {name for meaning in {*ours} ^ {*theirs} for name in meaning[1:]}
        yield Kind.OTHER_MEANING, said, tuple(sorted(names))


def _meaning(unit: Unit) -> Call:
    return effect_of(unit) or (unit.verb, unit.thing)
