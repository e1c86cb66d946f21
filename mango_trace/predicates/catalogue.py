"""The catalogue of predicates: what an oracle can ask, with its types.

To add one, write a pure function ``(signals, *arguments) -> truth`` in the file it belongs to and an
entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from mango_trace.predicates import holding, libero, moving, placing, robosuite
from mango_trace.predicates.signature import Need, Parameter, Predicate
from mango_trace.scene.kinds import ArgumentKind

_OBJECT = (ArgumentKind.OBJECT,)
_BODY = (ArgumentKind.OBJECT, ArgumentKind.FIXTURE)
_REGION = (ArgumentKind.REGION,)
_POSED = (ArgumentKind.OBJECT, ArgumentKind.FIXTURE, ArgumentKind.REGION, ArgumentKind.HAND)
_SOLID = (ArgumentKind.OBJECT, ArgumentKind.FIXTURE, ArgumentKind.SURFACE, ArgumentKind.HAND)
_SUPPORT = (ArgumentKind.OBJECT, ArgumentKind.FIXTURE, ArgumentKind.SURFACE, ArgumentKind.REGION)
_JOINTED = (ArgumentKind.FIXTURE, ArgumentKind.REGION, ArgumentKind.JOINT)


def _item(doc: str = "What is asked about.", kinds: tuple[ArgumentKind, ...] = _OBJECT) -> Parameter:
    return Parameter("item", kinds, doc)


def _number(name: str, doc: str, unit: str, default: float, maximum: float | None = None) -> Parameter:
    return Parameter(
        name, (ArgumentKind.NUMBER,), doc, unit, default, 0.0, exclusive_minimum=True, maximum=maximum
    )


_LIBERO: Final = (
    Predicate(
        "in",
        (_item(kinds=_BODY), Parameter("region", _REGION, "Region that holds it.")),
        "Origin in the box that LIBERO puts around the region (wrong when the region is turned).",
        "LIBERO",
        libero.inside_region,
        geometric="inside",
    ),
    Predicate(
        "on",
        (
            _item(kinds=_BODY),
            Parameter("support", (*_BODY, *_REGION), "What it should lie on."),
        ),
        "LIBERO's on: contact and origins within 0.03 m, or over a region of up to 0.10 m height.",
        "LIBERO",
        libero.on,
        (Need.POSE, Need.CONTACT),
        geometric="resting_on",
    ),
    Predicate(
        "open",
        (_item("What should be open.", _JOINTED),),
        "Any joint past its opening threshold.",
        "LIBERO",
        libero.is_open,
        (Need.JOINT,),
        check=partial(libero.joint_fault, "open"),
    ),
    Predicate(
        "close",
        (_item("What should be closed.", _JOINTED),),
        "Every joint past its closing threshold; not the opposite of open.",
        "LIBERO",
        libero.is_closed,
        (Need.JOINT,),
        check=partial(libero.joint_fault, "close"),
    ),
    Predicate(
        "turnon",
        (_item("What should be on.", (ArgumentKind.FIXTURE, ArgumentKind.JOINT)),),
        "Any joint past its switching threshold.",
        "LIBERO",
        libero.is_turned_on,
        (Need.JOINT,),
        check=partial(libero.joint_fault, "turnon"),
    ),
    Predicate(
        "turnoff",
        (_item("What should be off.", (ArgumentKind.FIXTURE, ArgumentKind.JOINT)),),
        "Every joint past its switching-off threshold; not the opposite of turnon.",
        "LIBERO",
        libero.is_turned_off,
        (Need.JOINT,),
        check=partial(libero.joint_fault, "turnoff"),
    ),
    Predicate(
        "up",
        (_item(kinds=(*_BODY, *_REGION)),),
        "Origin at least 1.0 m above the world's origin.",
        "LIBERO",
        libero.up,
    ),
)

_HOLDING: Final = (
    Predicate(
        "grasped",
        (_item(kinds=_BODY),),
        "Both finger pads of a hand are in contact with it.",
        "robosuite",
        holding.grasped,
        (Need.POSE, Need.CONTACT),
        geometric="firmly_grasped",
    ),
    Predicate(
        "firmly_grasped",
        (_item(kinds=_BODY),),
        "Both finger pads press it from opposed sides (cosine of the normals <= -0.3).",
        "mango_trace",
        holding.firmly_grasped,
        (Need.POSE, Need.CONTACT),
    ),
    Predicate(
        "released",
        (_item(kinds=_BODY),),
        "No part of a hand is in contact with it.",
        "mango_trace",
        holding.released,
        (Need.POSE, Need.CONTACT),
    ),
)

_ROBOSUITE: Final = (
    Predicate(
        "raised",
        (
            _item(),
            Parameter("region", _REGION, "Region that it is raised above."),
            _number("above_m", "Height, itself excluded.", "m", 0.04),
        ),
        "Origin more than above_m above the middle of the region, wherever in the plane.",
        "robosuite",
        robosuite.raised,
    ),
)

_PLACING: Final = (
    Predicate(
        "contact",
        (Parameter("first", _SOLID, "One thing."), Parameter("second", _SOLID, "The other.")),
        "A contact between the two that the solver acts on.",
        "MuJoCo",
        placing.contact,
        (Need.POSE, Need.CONTACT),
    ),
    Predicate(
        "touching",
        (Parameter("first", _SOLID, "One thing."), Parameter("second", _SOLID, "The other.")),
        "Their surfaces touch or overlap, whatever margin and gap say.",
        "mango_trace",
        placing.touching,
        (Need.POSE, Need.CONTACT),
    ),
    Predicate(
        "near",
        (
            Parameter("first", _POSED, "One thing."),
            Parameter("second", _POSED, "The other."),
            _number("within_m", "Largest distance, itself excluded.", "m", 0.05),
        ),
        "Origins (hand: grasp centre) less than within_m apart.",
        "mango_trace",
        placing.near,
    ),
    Predicate(
        "distance",
        (Parameter("first", _POSED, "One thing."), Parameter("second", _POSED, "The other.")),
        "Distance between the origins (hand: grasp centre), m.",
        "mango_trace",
        placing.distance,
        result="number",
    ),
    Predicate(
        "inside",
        (_item(), Parameter("region", _REGION, "Region that holds it.")),
        "Middle of the object in the region's turned box.",
        "mango_trace",
        placing.inside,
    ),
    Predicate(
        "resting_on",
        (_item(), Parameter("support", _SUPPORT, "What should carry it.")),
        "Carried from below by the support, touched by no hand.",
        "mango_trace",
        placing.resting_on,
        (Need.POSE, Need.CONTACT),
    ),
    Predicate(
        "upright",
        (
            _item(kinds=_BODY),
            _number("max_tilt_deg", "Largest tilt, itself excluded.", "deg", 36.87, 180.0),
        ),
        "Its own vertical is tilted by less than max_tilt_deg.",
        "mango_trace",
        placing.upright,
    ),
)

_MOVING: Final = (
    Predicate(
        "lifted",
        (_item(), _number("height_m", "Height above the settled position.", "m", 0.03)),
        "More than height_m above where it lay once settled.",
        "mango_trace",
        moving.lifted,
    ),
    Predicate(
        "moved",
        (_item(), _number("by_m", "Distance from the settled position.", "m", 0.02)),
        "More than by_m from where it lay once settled.",
        "mango_trace",
        moving.moved,
    ),
    Predicate(
        "at_rest",
        (
            _item(),
            _number("max_speed_m_s", "Largest linear speed, itself excluded.", "m/s", 0.02),
            _number("max_spin_rad_s", "Largest angular speed, itself excluded.", "rad/s", 0.5),
        ),
        "Linear and angular speed below their bounds.",
        "mango_trace",
        moving.at_rest,
        (Need.VELOCITY,),
    ),
)

CATALOGUE: Final[Mapping[str, Predicate]] = MappingProxyType(
    {entry.name: entry for entry in (*_LIBERO, *_ROBOSUITE, *_HOLDING, *_PLACING, *_MOVING)}
)
"""Every predicate by its name."""
