"""What the rules know of each atomic task and of how its end is seen, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from generator.rules.readings import Reading

Call: TypeAlias = tuple[str, ...]
"""A predicate and the parameters that it is called with."""

Readings: TypeAlias = frozenset[Reading]

_ALL: Final[Readings] = frozenset(Reading)
_NONE: Final[Readings] = frozenset()
_LENIENT: Final[Readings] = frozenset({Reading.LENIENT})
_STRICT: Final[Readings] = frozenset({Reading.STRICT})
_DEFAULT: Final[Readings] = frozenset({Reading.DEFAULT})
_NOT_LENIENT: Final[Readings] = _DEFAULT | _STRICT

_LET_GO: Final = "No part of the hand touches the object any more."


@dataclass(frozen=True, slots=True)
class OracleForm:
    """An atomic oracle.

    Attributes:
        id: Its name.
        description: What it says.
        calls: Calls that must hold together.
        always: Readings in which the task promises it.
        at_times: Readings in which it is for some scenes only.
    """

    id: str
    description: str
    calls: tuple[Call, ...]
    always: Readings = _ALL
    at_times: Readings = _NONE

    @property
    def readings(self) -> Readings:
        """Readings whose library has it."""
        return self.always | self.at_times


@dataclass(frozen=True, slots=True)
class TaskForm:
    """An atomic task.

    Attributes:
        description: What the robot does.
        parameters: Names of its parameters.
        preconditions: What must hold before, for people.
        oracles: How its end is seen; what is always asked for is what holds after.
    """

    description: str
    parameters: tuple[str, ...]
    preconditions: tuple[str, ...]
    oracles: tuple[OracleForm, ...]


FORMS: Final[Mapping[str, TaskForm]] = {
    "pick_up": TaskForm(
        "Take hold of an object and lift it off what it lies on.",
        ("object",),
        ("released(object)",),
        (
            OracleForm(
                "object_is_held_up",
                "Both finger pads hold the object and it is above where it lay.",
                (("grasped", "object"), ("lifted", "object")),
                always=_NOT_LENIENT,
                at_times=_LENIENT,
            ),
            OracleForm(
                "object_is_held",
                "Both finger pads touch the object.",
                (("grasped", "object"),),
                always=_LENIENT,
            ),
            OracleForm(
                "object_is_held_firmly",
                "The pads press the object from opposed sides.",
                (("firmly_grasped", "object"),),
                always=_STRICT,
            ),
        ),
    ),
    "place_in": TaskForm(
        "Put a held object into a container region and let go of it.",
        ("object", "region"),
        ("grasped(object)",),
        (
            OracleForm(
                "object_is_in_region",
                "The object is in the region, by the benchmark's own rule.",
                (("in", "object", "region"),),
            ),
            OracleForm("object_is_let_go", _LET_GO, (("released", "object"),), always=_NOT_LENIENT),
            OracleForm(
                "middle_of_object_is_in_region",
                "The middle of the object is in the region's box, where its origin lies outside of it.",
                (("inside", "object", "region"),),
                always=_STRICT,
                at_times=_DEFAULT,
            ),
            OracleForm(
                "door_is_still_open",
                "The door of the container is open: the object was not pushed in by closing it.",
                (("open", "door"),),
                always=_NONE,
                at_times=_NOT_LENIENT,
            ),
        ),
    ),
    "place_on": TaskForm(
        "Put a held object on a support or region and let go of it.",
        ("object", "support"),
        ("grasped(object)",),
        (
            OracleForm(
                "object_is_on_support",
                "The object is on the support or region, by the benchmark's own rule.",
                (("on", "object", "support"),),
            ),
            OracleForm("object_is_let_go_there", _LET_GO, (("released", "object"),), always=_NOT_LENIENT),
            OracleForm(
                "support_carries_object",
                "What has the support carries the object from below, and no hand touches it.",
                (("resting_on", "object", "carrier"),),
                always=_STRICT,
            ),
            OracleForm(
                "object_lies_still",
                "The object does not move, in a support whose steep walls may carry it.",
                (("at_rest", "object"),),
                always=_NONE,
                at_times=_STRICT,
            ),
        ),
    ),
    "push_to": TaskForm(
        "Move an object along what it lies on until it is at a region, and leave it there.",
        ("object", "region"),
        ("not on(object, region)",),
        (
            OracleForm(
                "object_is_at_region",
                "The object is over the region, by the benchmark's own rule.",
                (("on", "object", "region"),),
            ),
            OracleForm("object_is_left_there", _LET_GO, (("released", "object"),), always=_NOT_LENIENT),
            OracleForm(
                "region_carries_object",
                "What the region is of carries the object from below, and no hand touches it.",
                (("resting_on", "object", "carrier"),),
                always=_STRICT,
            ),
        ),
    ),
    "open": TaskForm(
        "Move a drawer or door until it is open.",
        ("part",),
        ("not open(part)",),
        (
            OracleForm(
                "part_is_open",
                "Some joint of the part is past its opening threshold.",
                (("open", "part"),),
            ),
        ),
    ),
    "close": TaskForm(
        "Move a drawer or door until it is closed.",
        ("part",),
        ("not close(part)",),
        (
            OracleForm(
                "part_is_closed",
                "Every joint of the part is past its closing threshold.",
                (("close", "part"),),
            ),
        ),
    ),
    "turn_on": TaskForm(
        "Turn a fixture's knob or switch until it is on.",
        ("fixture",),
        ("not turnon(fixture)",),
        (
            OracleForm(
                "fixture_is_on",
                "Some knob or switch of the fixture is past its threshold.",
                (("turnon", "fixture"),),
            ),
        ),
    ),
    "turn_off": TaskForm(
        "Turn a fixture's knob or switch until it is off.",
        ("fixture",),
        ("not turnoff(fixture)",),
        (
            OracleForm(
                "fixture_is_off",
                "Every knob or switch of the fixture is past its threshold for being off.",
                (("turnoff", "fixture"),),
            ),
        ),
    ),
}
"""Every atomic task that the rules can ask for."""
