"""From an instruction, a scene and the libraries to the fine-grained oracle.

* Verbs that place something ask for two actions, ``pick_up`` and the placing; a pushed thing is not picked
  up.
* What depends on what came before is sequential: the same thing, a container that is opened or closed, a
  support that was moved. All else may be done in any order, unless the instruction says "then"
  (:mod:`generator.rules.order`).
* An effect must still be there at the end, unless a later clause undoes it. An object that is put behind a
  door which is closed afterwards must be there while the door is open: it was not pushed in by the door.
* What is switched on from the start, is used and is not to be switched off stays on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from generator.rules.grammar import parse_instruction
from generator.rules.grounding import Grounding
from generator.rules.monitors import monitors_of
from generator.rules.order import groups_of
from generator.rules.units import Unit, units_of
from mango_trace.oracle import Action, FineGrainedOracle, Libraries, Monitor, Step
from mango_trace.scene.bddl import Problem
from mango_trace.scene.model import Scene

_ORACLES: Final[Mapping[str, tuple[str, ...]]] = {
    "pick_up": ("object_is_held_up",),
    "place_in": ("object_is_in_region", "object_is_let_go"),
    "place_on": ("object_is_on_support", "object_is_let_go_there"),
    "push_to": ("object_is_at_region", "object_is_left_there"),
    "open": ("part_is_open",),
    "close": ("part_is_closed",),
    "turn_on": ("fixture_is_on",),
    "turn_off": ("fixture_is_off",),
}
"""Atomic oracles that an action of each atomic task is monitored by."""

_ORIGIN_OUTSIDE: Final = frozenset({"desk_caddy"})
"""Containers so shallow that the origin of what stands in them lies outside the benchmark's region."""

_MAX_TEXT: Final = 1000
"""Most characters of what a step says to people."""

_UNDONE: Final = {"open": "close", "close": "open", "turn_on": "turn_off", "turn_off": "turn_on"}


def write_oracle(instruction: str, scene: Scene, problem: Problem, libraries: Libraries) -> FineGrainedOracle:
    """Write the oracle of an instruction.

    Args:
        instruction: What the robot is told.
        scene: The scene.
        problem: The task's BDDL: premises and rectangles say where things start. Its goal is not looked at,
            so that the oracle can be held against it.
        libraries: Atomic tasks and oracles that the oracle is made of.

    Returns:
        The oracle; it compiles against the scene with these libraries.

    Raises:
        InstructionError: The instruction is not understood, or does not fit the scene.
        UnknownNameError: A library lacks what the instruction needs.
    """
    grounding = Grounding(scene, problem)
    units = units_of(parse_instruction(instruction), grounding)
    plan = _Plan(units, grounding, libraries)
    mode, groups = groups_of(units)
    steps = tuple(
        Step(
            step=number,
            instruction=" and ".join(units[index].text for index in group.units)[:_MAX_TEXT],
            execution_mode=group.mode,
            actions=tuple(action for index in group.units for action in plan.actions(index)),
        )
        for number, group in enumerate(groups, 1)
    )
    return FineGrainedOracle(
        instruction=instruction,
        execution_mode=mode,
        plan=steps,
        never=tuple(plan.invariants(problem)),
    )


class _Plan:
    """Actions of the units of one instruction."""

    def __init__(self, units: Sequence[Unit], grounding: Grounding, libraries: Libraries) -> None:
        self._units = units
        self._grounding = grounding
        self._libraries = libraries

    def actions(self, index: int) -> Iterator[Action]:
        """Actions of a unit, in order."""
        unit = self._units[index]
        if unit.verb == "pick_up" or (unit.place and unit.verb != "push" and not self._is_held(index)):
            yield self._pick_up(unit)
        if unit.place is not None:
            yield self._placing(index)
        elif not unit.moves:
            parameter = "fixture" if unit.verb in ("turn_on", "turn_off") else "part"
            yield self._action(unit.verb, {parameter: unit.thing}, at_end=self._lasts(index))

    def invariants(self, problem: Problem) -> Iterator[Monitor]:
        """What may not happen: that something in use is switched off."""
        switched = {unit.thing for unit in self._units if unit.verb in ("turn_on", "turn_off")}
        used = {unit.place.anchor for unit in self._units if unit.place}
        for premise in problem.initial:
            name = premise.arguments[0]
            if premise.predicate == "turnon" and name in used - switched:
                for monitor in monitors_of(self._libraries, "fixture_is_on", {"fixture": name}):
                    yield monitor.model_copy(update={"negate": not monitor.negate})

    def _pick_up(self, unit: Unit) -> Action:
        action = self._action("pick_up", {"object": unit.thing}, at_end=False)
        if not unit.laden:
            return action
        # The hand may hold a stack by the upper one; then only its height tells.
        lifted = tuple(one for one in action.monitoring if one.handle_as.function == "lifted")
        return action.model_copy(update={"monitoring": lifted})

    def _placing(self, index: int) -> Action:
        unit = self._units[index]
        assert unit.place is not None
        task_id, target = unit.place.task_id, unit.place.target
        parameter = {"place_in": "region", "place_on": "support", "push_to": "region"}[task_id]
        names = {"object": unit.thing, parameter: target}
        oracles = list(_ORACLES[task_id])
        behind_door = task_id == "place_in" and self._is_closed_later(index)
        if task_id == "place_in":
            if self._grounding.scene.object(unit.place.anchor).category in _ORIGIN_OUTSIDE:
                oracles[0] = "middle_of_object_is_in_region"
            if behind_door:
                oracles.append("door_is_still_open")
        return self._action(
            task_id,
            names,
            oracles,
            {**names, "door": unit.place.anchor},
            at_end=not behind_door and self._lasts(index),
        )

    def _action(
        self,
        task_id: str,
        parameters: Mapping[str, str],
        oracles: Sequence[str] = (),
        names: Mapping[str, str] | None = None,
        *,
        at_end: bool,
    ) -> Action:
        order = self._libraries.task(task_id).parameters
        return Action(
            action_id=task_id,
            parameters=tuple(parameters[name] for name in order),
            monitoring=tuple(
                monitor
                for oracle_id in oracles or _ORACLES[task_id]
                for monitor in monitors_of(self._libraries, oracle_id, names or parameters)
            ),
            at_end=at_end,
        )

    def _is_held(self, index: int) -> bool:
        """Whether the thing was picked up and not put down since."""
        thing = self._units[index].thing
        before = [unit for unit in self._units[:index] if unit.thing == thing]
        return bool(before) and before[-1].verb == "pick_up"

    def _lasts(self, index: int) -> bool:
        """Whether no later unit undoes what this one does."""
        unit = self._units[index]
        return not any(
            later.thing == unit.thing and (unit.moves or later.verb == _UNDONE[unit.verb])
            for later in self._units[index + 1 :]
        )

    def _is_closed_later(self, index: int) -> bool:
        """Whether the container has a door that is closed afterwards; a drawer takes along what is in it."""
        place = self._units[index].place
        assert place is not None
        region = self._grounding.region(place.target)
        is_drawer = region is not None and bool(region.joints)
        return not is_drawer and any(
            later.verb == "close" and later.thing == place.anchor for later in self._units[index + 1 :]
        )
