"""What clauses, goals and oracles ask for, in one form, so that they can be held against each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from generator.rules.units import Unit
from mango_trace.oracle import Action, FineGrainedOracle, Monitor
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.scene.bddl import Literal

Call: TypeAlias = tuple[str, ...]
"""The benchmark's predicate, or ``not`` before it, and what it is asked of."""

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


def call_of(function: str, arguments: Iterable[str]) -> Call:
    """A call, by the benchmark's name where the function is a geometric version."""
    return _BENCHMARK_NAMES.get(function, function), *arguments


def effect_of(unit: Unit) -> Call | None:
    """What holds once a unit is done, as a condition; nothing lasts of picking up."""
    if unit.place is not None:
        return call_of(_FUNCTIONS[unit.place.task_id], (unit.thing, unit.place.target))
    return None if unit.moves else call_of(_FUNCTIONS[unit.verb], (unit.thing,))


def monitors_in(oracle: FineGrainedOracle) -> Iterator[Monitor]:
    """All monitors of an oracle; an invariant is what it forbids, negated."""
    for action in _actions(oracle):
        yield from action.monitoring
    for monitor in oracle.never:
        yield monitor.model_copy(update={"negate": not monitor.negate})


def asked(monitor: Monitor) -> Call:
    """What a monitor asks for."""
    call = call_of(monitor.handle_as.function, map(str, monitor.handle_as.arguments))
    return ("not", *call) if monitor.negate else call


def names_in(monitor: Monitor) -> tuple[str, ...]:
    """Names of the scene among a monitor's arguments."""
    return tuple(value for value in monitor.handle_as.arguments if isinstance(value, str))


def show(call: Call) -> str:
    """A call as people write it."""
    return f"not {show(call[1:])}" if call[0] == "not" else str(Literal(call[0], call[1:]))


def is_ordered(oracle: FineGrainedOracle, earlier: Unit, later: Unit) -> bool | None:
    """Whether an oracle asks for one unit before another.

    Args:
        oracle: The oracle.
        earlier: What should come before.
        later: What should come after.

    Returns:
        Whether some action of the later one must come after some action of the earlier one; ``None`` where
        one of both is not monitored at all.
    """
    places = [
        (step, index, {asked(monitor) for monitor in action.monitoring})
        for step, group in enumerate(oracle.plan)
        for index, action in enumerate(group.actions)
    ]
    first = [(step, index) for step, index, calls in places if calls & _signs(earlier)]
    second = [(step, index) for step, index, calls in places if calls & _signs(later)]
    if not first or not second:
        return None
    return any(_before(oracle, one, other) for one in first for other in second)


def _before(oracle: FineGrainedOracle, one: tuple[int, int], other: tuple[int, int]) -> bool:
    mode = oracle.plan[one[0]].execution_mode if one[0] == other[0] else oracle.execution_mode
    return mode == "sequential" and one < other


def _signs(unit: Unit) -> set[Call]:
    """Calls by which a unit is seen to be done."""
    effect = effect_of(unit)
    return {("grasped", unit.thing), ("lifted", unit.thing)} if effect is None else {effect}


def _actions(oracle: FineGrainedOracle) -> Iterator[Action]:
    for step in oracle.plan:
        yield from step.actions
