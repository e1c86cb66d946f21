"""From an instruction, a scene and the libraries to the fine-grained oracle.

* Verbs that place something ask for two actions, ``pick_up`` and the placing; a pushed thing is not picked
  up.
* What depends on what came before is sequential: the same thing, a container that is opened or closed, a
  support that was moved. All else may be done in any order, unless the instruction says "then"
  (:mod:`generator.rules.order`).
* An effect must still be there at the end, unless a later clause undoes it. An object that is put behind a
  door which is closed afterwards must be there while the door is open: it was not pushed in by the door.
* What is switched on from the start, is used and is not to be switched off stays on.

What is asked of each action is a matter of the reading (:mod:`generator.rules.readings`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from generator.rules.forms import FORMS
from generator.rules.grammar import parse_instruction
from generator.rules.grounding import Grounding
from generator.rules.monitors import monitors_of
from generator.rules.order import groups_of
from generator.rules.readings import HOLD_S, Reading
from generator.rules.units import Unit, units_of
from mango_trace.oracle import Action, FineGrainedOracle, Libraries, Monitor, Step
from mango_trace.scene.bddl import Problem
from mango_trace.scene.model import Scene

_ORIGIN_OUTSIDE: Final = frozenset({"desk_caddy"})
"""Containers so shallow that the origin of what stands in them lies outside the benchmark's region."""

_IN: Final = "object_is_in_region"
_MIDDLE_IN: Final = "middle_of_object_is_in_region"
_CARRIED: Final = "support_carries_object"
_STILL: Final = "object_lies_still"

_HOLLOW: Final = frozenset({"bowl", "frypan", "pan"})
"""What things are called whose walls are so steep that what lies between them is not carried from below."""

_MAX_TEXT: Final = 1000
"""Most characters of what a step says to people."""

_UNDONE: Final = {"open": "close", "close": "open", "turn_on": "turn_off", "turn_off": "turn_on"}


def write_oracle(
    instruction: str,
    scene: Scene,
    problem: Problem,
    libraries: Libraries,
    reading: Reading = Reading.DEFAULT,
) -> FineGrainedOracle:
    """Write the oracle of an instruction.

    Args:
        instruction: What the robot is told.
        scene: The scene.
        problem: The task's BDDL: premises and rectangles say where things start. Its goal is not looked at,
            so that the oracle can be held against it.
        libraries: Atomic tasks and oracles that the oracle is made of, of the same reading.
        reading: How well things have to be done.

    Returns:
        The oracle; it compiles against the scene with these libraries.

    Raises:
        InstructionError: The instruction is not understood, or does not fit the scene.
        UnknownNameError: A library lacks what the instruction needs.
    """
    grounding = Grounding(scene, problem)
    units = units_of(parse_instruction(instruction), grounding)
    plan = _Plan(units, grounding, libraries, reading)
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

    def __init__(
        self, units: Sequence[Unit], grounding: Grounding, libraries: Libraries, reading: Reading
    ) -> None:
        self._units = units
        self._grounding = grounding
        self._libraries = libraries
        self._reading = reading
        self._hold = round(HOLD_S * grounding.scene.control_hz) if reading is Reading.STRICT else 1

    def actions(self, index: int) -> Iterator[Action]:
        """Actions of a unit, in order."""
        unit = self._units[index]
        if unit.verb == "pick_up" or (unit.place and unit.verb != "push" and not self._is_held(index)):
            yield self._pick_up(unit)
        if unit.place is not None:
            yield from self._placing(index)
        elif not unit.moves:
            parameter = "fixture" if unit.verb in ("turn_on", "turn_off") else "part"
            yield self._effect(unit.verb, {parameter: unit.thing}, at_end=self._lasts(index))

    def invariants(self, problem: Problem) -> Iterator[Monitor]:
        """What may not happen: that something in use is switched off."""
        if self._reading is Reading.LENIENT:
            return
        switched = {unit.thing for unit in self._units if unit.verb in ("turn_on", "turn_off")}
        used = {unit.place.anchor for unit in self._units if unit.place}
        for premise in problem.initial:
            name = premise.arguments[0]
            if premise.predicate == "turnon" and name in used - switched:
                for monitor in monitors_of(self._libraries, "fixture_is_on", {"fixture": name}):
                    yield monitor.model_copy(update={"negate": not monitor.negate})

    def _pick_up(self, unit: Unit) -> Action:
        if not unit.laden:
            return self._action("pick_up", {"object": unit.thing})
        # The hand may hold a stack by the upper one; then only its height tells.
        action = self._action("pick_up", {"object": unit.thing}, ["object_is_held_up"])
        lifted = tuple(one for one in action.monitoring if one.handle_as.function == "lifted")
        return action.model_copy(update={"monitoring": lifted})

    def _placing(self, index: int) -> Iterator[Action]:
        unit = self._units[index]
        assert unit.place is not None
        task_id, target = unit.place.task_id, unit.place.target
        parameter = {"place_in": "region", "place_on": "support", "push_to": "region"}[task_id]
        names = {"object": unit.thing, parameter: target}
        if task_id != "place_in" or self._reading is Reading.LENIENT:
            oracles = self._always(task_id)
            if _CARRIED in oracles and self._is_hollow(target):
                oracles = [_STILL if name == _CARRIED else name for name in oracles]
            carried = {**names, "carrier": self._grounding.owner(target)}
            yield self._effect(task_id, names, oracles, carried, at_end=self._lasts(index))
            return
        oracles = self._always(task_id)
        if self._grounding.scene.object(unit.place.anchor).category in _ORIGIN_OUTSIDE:
            oracles = [_MIDDLE_IN, *(name for name in oracles if name not in (_IN, _MIDDLE_IN))]
            if self._reading is Reading.STRICT:
                yield self._action(task_id, names, [_IN])  # on its way it is where the benchmark looks
        if not self._is_closed_later(index):
            yield self._effect(task_id, names, oracles, at_end=self._lasts(index))
            return
        door = {**names, "door": unit.place.anchor}
        yield self._effect(task_id, names, [*oracles, "door_is_still_open"], door, at_end=False)
        if self._reading is Reading.STRICT:
            yield self._effect(task_id, names, oracles, at_end=self._lasts(index))

    def _effect(
        self,
        task_id: str,
        parameters: Mapping[str, str],
        oracles: Sequence[str] = (),
        names: Mapping[str, str] | None = None,
        *,
        at_end: bool,
    ) -> Action:
        """An action whose effect lasts as long as the reading asks for."""
        lasting = {"hold": self._hold, "at_end": at_end and self._reading is not Reading.LENIENT}
        return self._action(task_id, parameters, oracles, names).model_copy(update=lasting)

    def _action(
        self,
        task_id: str,
        parameters: Mapping[str, str],
        oracles: Sequence[str] = (),
        names: Mapping[str, str] | None = None,
    ) -> Action:
        order = self._libraries.task(task_id).parameters
        return Action(
            action_id=task_id,
            parameters=tuple(parameters[name] for name in order),
            monitoring=tuple(
                monitor
                for oracle_id in oracles or self._always(task_id)
                for monitor in monitors_of(self._libraries, oracle_id, names or parameters)
            ),
        )

    def _always(self, task_id: str) -> list[str]:
        """Atomic oracles that an action of an atomic task is monitored by as a rule."""
        return [form.id for form in FORMS[task_id].oracles if self._reading in form.always]

    def _is_hollow(self, name: str) -> bool:
        """Whether a support is an object with steep walls."""
        category = next((item.category for item in self._grounding.scene.objects if item.name == name), "")
        return bool(_HOLLOW & set(category.split("_")))

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
