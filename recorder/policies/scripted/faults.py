"""Faults that can be injected: each changes the plan so that one known action is the first to fail."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from recorder.policies.scripted.errors import FaultNotApplicableError, FaultSyntaxError
from recorder.policies.scripted.plans import Plan, PlanStep, plan_for
from recorder.policies.scripted.skills import (
    BadGrasp,
    Drop,
    Insert,
    Miss,
    Pick,
    Place,
    Pull,
    Push,
    PutBack,
    Skill,
    Turn,
    Wait,
)

# How long the arm does nothing in place of an action that is left out.
_IDLE_STEPS = 20
# The part of the way after which a push, a pull or a turn is given up.
_PUSH_PART_M = 0.06
_TURN_PART_RAD = 0.1


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One way to fail.

    Attributes:
        summary: What happens, in one line.
        failure_class: Slug of the failure taxonomy.
        alter: Gives the plan with the fault at an index, or None where the fault does not apply. The index
            is that of the first failed action in the plan without fault.
    """

    summary: str
    failure_class: str
    alter: Callable[[Plan, int], Plan | None]


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault at one action of a plan, written ``kind@index``.

    Attributes:
        kind: Slug, a key of `FAULT_KINDS`.
        action: Index, in the plan without fault, of the action that is the first to fail.
    """

    kind: str
    action: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``kind@index``, e.g. ``"never_closes@2"``; the inverse of ``str``.

        Raises:
            FaultSyntaxError: The text has another form or the kind does not exist.
        """
        kind, _, index = text.partition("@")
        if kind not in FAULT_KINDS or not (index.isascii() and index.isdigit()):
            raise FaultSyntaxError(text, tuple(FAULT_KINDS))
        return cls(kind, int(index))

    def __str__(self) -> str:
        """Write ``kind@index``."""
        return f"{self.kind}@{self.action}"


def applicable_faults(suite: str, task_index: int) -> tuple[Fault, ...]:
    """List every fault that can be injected into the plan of a task.

    Raises:
        ScriptedPlanMissingError: The task has no plan.
    """
    plan = plan_for(suite, task_index)
    return tuple(
        Fault(kind, index)
        for kind, how in FAULT_KINDS.items()
        for index in range(len(plan))
        if how.alter(plan, index) is not None
    )


def faulty_plan(suite: str, task_index: int, fault: Fault) -> Plan:
    """Return the plan of a task with a fault in it.

    Raises:
        ScriptedPlanMissingError: The task has no plan.
        FaultNotApplicableError: The fault does not apply to that action of the plan.
    """
    plan = plan_for(suite, task_index)
    kind = FAULT_KINDS.get(fault.kind)
    altered = kind.alter(plan, fault.action) if kind and 0 <= fault.action < len(plan) else None
    if altered is None:
        applicable = tuple(str(known) for known in applicable_faults(suite, task_index))
        raise FaultNotApplicableError(str(fault), suite, task_index, applicable)
    return altered


def _with_skill(plan: Plan, index: int, skill: Skill) -> Plan:
    return (*plan[:index], replace(plan[index], skill=skill), *plan[index + 1 :])


def _in_pick(how: BadGrasp) -> Callable[[Plan, int], Plan | None]:
    def alter(plan: Plan, index: int) -> Plan | None:
        skill = plan[index].skill
        return _with_skill(plan, index, replace(skill, fails=how)) if isinstance(skill, Pick) else None

    return alter


def _drops(where: Drop) -> Callable[[Plan, int], Plan | None]:
    def alter(plan: Plan, index: int) -> Plan | None:
        skill = plan[index].skill
        return _with_skill(plan, index, replace(skill, drops=where)) if isinstance(skill, Place) else None

    return alter


def _places(where: Miss) -> Callable[[Plan, int], Plan | None]:
    def alter(plan: Plan, index: int) -> Plan | None:
        skill = plan[index].skill
        if not isinstance(skill, Place):
            return None
        if where is Miss.SHAKY and plan[index].action_id != "place_on":
            return None  # what can be in something is too wide for a shaking hand to miss
        if (where is Miss.ON_RIM and skill.rim_m is None) or (
            where is Miss.ELSEWHERE and skill.elsewhere is None
        ):
            return None
        return _with_skill(plan, index, replace(skill, misses=where))

    return alter


def _grasps_wrong_object(plan: Plan, index: int) -> Plan | None:
    # The other object goes all the way of the right one.
    step = plan[index]
    if step.decoy is None:
        return None
    altered = _with_skill(plan, index, step.decoy)
    place = plan[index + 1].skill if index + 1 < len(plan) else None
    if isinstance(place, Place):
        altered = _with_skill(altered, index + 1, replace(place, body=step.decoy.body))
    return (*altered[:index], replace(altered[index], deviates=True), *altered[index + 1 :])


def _skips_object(plan: Plan, index: int) -> Plan | None:
    # Only where something else is left to do, else it is a policy that does nothing.
    if plan[index].action_id != "pick_up" or len(plan) <= index + 2:
        return None
    return (*plan[:index], replace(plan[index + 2], deviates=True), *plan[index + 3 :])


def _stalls(plan: Plan, index: int) -> Plan | None:
    return (*plan[:index], replace(plan[index], stalls=True))


def _undoing(plan: Plan, index: int) -> PlanStep | None:
    """Give the step that takes the effect of the action at an index away again."""
    step = plan[index]
    if step.undo is not None:
        return replace(step, skill=step.undo, before=None, deviates=True)
    picked = plan[index - 1].skill if index else None
    if isinstance(step.skill, Place) and step.skill.reachable and isinstance(picked, Pick):
        return replace(step, skill=PutBack(picked, step.skill), before=None, deviates=True)
    return None


def _undoes(plan: Plan, index: int) -> Plan | None:
    undoing = _undoing(plan, index)
    if undoing is None or index + 1 == len(plan):
        return None
    return (*plan[: index + 1], undoing, *plan[index + 1 :])


def _undoes_at_end(plan: Plan, index: int) -> Plan | None:
    undoing = _undoing(plan, index)
    return None if undoing is None else (*plan, undoing)


def _pushed_in_by_door(plan: Plan, index: int) -> Plan | None:
    # Only with a door to follow that is to push it in.
    skill = plan[index].skill
    if not isinstance(skill, Insert) or _closed_later(plan, index) is None:
        return None
    return _with_skill(plan, index, replace(skill, stops_short=True))


def _leaves_undone(plan: Plan, index: int) -> Plan | None:
    step = plan[index]
    if step.action_id not in ("close", "open", "turn_on"):
        return None
    idle = replace(step, skill=Wait(steps=_IDLE_STEPS), deviates=True)
    return (*plan[:index], idle, *plan[index + 1 :])


def _stops_half_way(plan: Plan, index: int) -> Plan | None:
    skill = plan[index].skill
    if isinstance(skill, Push):
        return _with_skill(plan, index, replace(skill, stops_after_m=_PUSH_PART_M, attempts=1))
    if isinstance(skill, Pull):
        return _with_skill(plan, index, replace(skill, stops_after_m=_PUSH_PART_M))
    if isinstance(skill, Turn):
        return _with_skill(plan, index, replace(skill, stops_after_rad=_TURN_PART_RAD))
    return None


def _closes_before_placing(plan: Plan, index: int) -> Plan | None:
    # The close itself succeeds; what fails is the place_in, and the faulty motion is the early close.
    late = _closed_later(plan, index)
    if late is None:
        return None
    return (replace(late, deviates=True), *(other for other in plan if other is not late))


def _closed_later(plan: Plan, index: int) -> PlanStep | None:
    """Give the step that closes what a place_in at an index puts something in."""
    step = plan[index]
    if step.action_id != "place_in":
        return None
    _, region = step.parameters
    for late in plan[index + 1 :]:
        # What is closed is the region itself, as a drawer, or the fixture it belongs to, as a microwave.
        if late.action_id == "close" and f"{region}_".startswith(f"{late.parameters[0]}_"):
            return late
    return None


FAULT_KINDS: Mapping[str, FaultKind] = {
    "never_closes": FaultKind(
        "the fingers stay open at a pick", "never_grasped", _in_pick(BadGrasp.FINGERS_OPEN)
    ),
    "closes_in_the_air": FaultKind(
        "the fingers close 10 cm above the object", "missed_approach", _in_pick(BadGrasp.IN_THE_AIR)
    ),
    "grasps_wrong_object": FaultKind(
        "another object is picked up and placed instead", "wrong_object", _grasps_wrong_object
    ),
    "skips_object": FaultKind("an object is left out, the rest is done", "skipped_step", _skips_object),
    "drops_early": FaultKind(
        "the object is let go soon after it was lifted", "slipped_or_dropped", _drops(Drop.EARLY)
    ),
    "drops_midway": FaultKind(
        "the object is let go over the table, half-way", "slipped_or_dropped", _drops(Drop.MIDWAY)
    ),
    "drops_late": FaultKind(
        "the object falls beside its target from the height of the carry",
        "slipped_or_dropped",
        _drops(Drop.LATE),
    ),
    "places_beside": FaultKind(
        "the object is set down well beside its target", "misplaced", _places(Miss.BESIDE)
    ),
    "places_on_rim": FaultKind("the object is set down on the rim", "misplaced", _places(Miss.ON_RIM)),
    "places_elsewhere": FaultKind(
        "the object is set down at another region", "wrong_target", _places(Miss.ELSEWHERE)
    ),
    "pushed_in_by_door": FaultKind(
        "the object is left before the doorway, for the closing door to push in",
        "misplaced",
        _pushed_in_by_door,
    ),
    "leaves_undone": FaultKind(
        "a close, open or turn_on is left out; the arm idles instead",
        "articulation_untouched",
        _leaves_undone,
    ),
    "stops_half_way": FaultKind(
        "a push, a pull or a turn is given up long before its end", "articulation_incomplete", _stops_half_way
    ),
    "closes_before_placing": FaultKind(
        "the drawer or door is closed first: nothing can go in", "wrong_order", _closes_before_placing
    ),
    "undoes": FaultKind("what was done is taken away again at once, the rest is done", "undone", _undoes),
    "undoes_at_end": FaultKind(
        "when all is done, the effect of the action is taken away again", "undone", _undoes_at_end
    ),
    "shakes_at_pick": FaultKind("the hand shakes at a pick", "jitter", _in_pick(BadGrasp.SHAKY)),
    "shakes_at_place": FaultKind("the hand shakes when it sets down", "jitter", _places(Miss.SHAKY)),
    "stalls": FaultKind("the arm stops before the action and moves no more", "stalled", _stalls),
}
"""Every kind of fault by its slug."""
