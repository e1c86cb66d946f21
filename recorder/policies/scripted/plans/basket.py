"""Groceries go into the basket."""

from __future__ import annotations

from math import pi

from recorder.policies.scripted.plans.step import Plan, PlanStep, pick
from recorder.policies.scripted.scene import Scene, Vector, displaced
from recorder.policies.scripted.skills import Pick, Place

_REGION = "basket_1_contain_region"

# Gripper position at the grasp minus the object's origin (m, world axes, object upright as it starts).
_CAN = (0.0, -0.004, 0.012)
_BOX = (0.0, 0.0, 0.0)
_ACROSS_BOX = pi / 2.0  # boxes lie with their long side along x; the fingers only span the other one
# Task 1: a milk carton, higher than the hand at the grasp, stands to the right of the cream cheese and
# somewhat nearer to the robot. The hand takes the far half and turns its side away; the box follows it.
_BOX_FAR_HALF = (0.018, 0.0, 0.0)
_CLEAR_OF_MILK = _ACROSS_BOX - 0.25

# Horizontal displacement (m) from the middle of the carry to a spot of the table that is free.
_BETWEEN_CANS = (-0.17, -0.02)
_BEYOND_BUTTER = (0.14, -0.04)
_BEYOND_BASKET = (0.18, -0.06)
_BEFORE_BASKET = (0.10, -0.08)
_MIDDLE_OF_TABLE = (0.06, -0.13)

# The same in the floor scenes of LIBERO_OBJECT, between what stands around.
_BEFORE_FLOOR_BASKET = (0.0, -0.04)

# Displacement (m) from the target to above the wall of the basket.
_RIM = (0.085, 0.0, 0.0)

# Horizontal displacement (m) from the target to a spot of the table that is free.
_FAR_CORNER = (0.20, -0.12)
# From the far corner, the hand would turn on its way to the cream cheese and catch the basket's rim.
_RIGHT_OF_BASKET = (0.05, -0.26)

# What can be mistaken for what shall be in the basket.
_BUTTER = Pick(body="butter_1", grasp_m=_BOX, yaw_rad=_ACROSS_BOX)
_TOMATO_SAUCE = Pick(body="tomato_sauce_1", grasp_m=_CAN)


def both_cans() -> Plan:
    """LIBERO_10 task 0: alphabet soup and tomato sauce."""
    return (
        pick("alphabet_soup_1", _CAN, decoy=_BUTTER),
        _place_in_basket("alphabet_soup_1", -0.022, drop_m=_BETWEEN_CANS),
        pick("tomato_sauce_1", _CAN, decoy=_BUTTER),
        _place_in_basket("tomato_sauce_1", 0.022, drop_m=_BETWEEN_CANS),
    )


def cream_cheese_and_butter() -> Plan:
    """LIBERO_10 task 1: cream cheese and butter."""
    return (
        pick("cream_cheese_1", _BOX_FAR_HALF, yaw_rad=_CLEAR_OF_MILK, decoy=_TOMATO_SAUCE),
        _place_in_basket("cream_cheese_1", -0.025, yaw_rad=_ACROSS_BOX, drop_m=_BEYOND_BUTTER),
        pick("butter_1", _BOX, yaw_rad=_ACROSS_BOX, decoy=_TOMATO_SAUCE),
        _place_in_basket("butter_1", 0.025, drop_m=_BEYOND_BASKET),
    )


def soup_and_cream_cheese() -> Plan:
    """LIBERO_10 task 7: alphabet soup and cream cheese."""
    return (
        pick("alphabet_soup_1", _CAN, decoy=_TOMATO_SAUCE),
        _place_in_basket("alphabet_soup_1", -0.025, beside_m=_RIGHT_OF_BASKET, drop_m=_BEFORE_BASKET),
        pick("cream_cheese_1", _BOX, yaw_rad=_ACROSS_BOX, decoy=_TOMATO_SAUCE),
        _place_in_basket("cream_cheese_1", 0.025, drop_m=_MIDDLE_OF_TABLE),
    )


def one_can(body: str) -> Plan:
    """LIBERO_OBJECT tasks 0 and 5: a can from the floor."""
    return (pick(body, _CAN), _place_in_basket(body, 0.0, drop_m=_BEFORE_FLOOR_BASKET))


def one_box(body: str) -> Plan:
    """LIBERO_OBJECT task 1: a box that lies on the floor."""
    return (
        pick(body, _BOX, yaw_rad=_ACROSS_BOX),
        _place_in_basket(body, 0.0, drop_m=_BEFORE_FLOOR_BASKET),
    )


def _place_in_basket(
    body: str,
    along_y_m: float,
    *,
    drop_m: tuple[float, float],
    beside_m: tuple[float, float] = _FAR_CORNER,
    yaw_rad: float | None = None,
) -> PlanStep:
    """Let go above the rim: the hand is wider than the basket. Two objects go side by side along y."""

    def target(scene: Scene) -> Vector:
        return displaced(scene.site(_REGION), 0.0, along_y_m, 0.075)

    skill = Place(
        body=body,
        target=target,
        beside_m=beside_m,
        drop_m=drop_m,
        hover_m=0.06,
        yaw_rad=yaw_rad,
        rim_m=_RIM,
        reachable=False,
    )
    return PlanStep("place_in", (body, _REGION), skill)
