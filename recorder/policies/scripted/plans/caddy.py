"""Books go into the desk caddy."""

from __future__ import annotations

import math

from recorder.policies.scripted.plans.step import Plan, PlanStep
from recorder.policies.scripted.scene import Scene, Vector, displaced
from recorder.policies.scripted.skills import Pick, Place

_BOOK = "black_book_1"

# The book, upright, in its own axes: 28 mm thick along x, 110 mm wide along y, 134 mm high; its origin lies
# 12 mm off the middle of its width.
_BOOK_MIDDLE_Y_M = -0.012


def book_in_back_compartment() -> Plan:
    """LIBERO_10 task 5: the black book, which starts at any angle, into the back compartment."""
    return (_pick_book(), _place_in_back_compartment())


def _pick_book() -> PlanStep:
    """Across its thickness, near its upper edge, and up to where it passes over the caddy."""
    skill = Pick(
        body=_BOOK,
        grasp_m=(0.0, _BOOK_MIDDLE_Y_M, 0.10),
        lift_m=0.27,
        heading=lambda scene: scene.heading(_BOOK),
    )
    mug = Pick(body="white_yellow_mug_1", grasp_m=(0.0, 0.06, 0.088), yaw_rad=math.pi / 2.0, lift_m=0.27)
    return PlanStep("pick_up", (_BOOK,), skill, decoy=mug)


def _place_in_back_compartment() -> PlanStep:
    """Turn the book parallel to the back wall and lower it into the middle of the compartment.

    Once it stands on the caddy's floor its origin lies a few millimetres below the region: it counts as in
    the region only while it is lowered. The fingers open just before that.
    """
    region = "desk_caddy_1_back_contain_region"

    def in_compartment(scene: Scene, compartment: str) -> Vector:
        # The hand at yaw 0 holds the book half a turn from its own axes.
        return displaced(scene.site(compartment), 0.0, _BOOK_MIDDLE_Y_M, -0.068)

    skill = Place(
        body=_BOOK,
        target=lambda scene: in_compartment(scene, region),
        elsewhere=lambda scene: in_compartment(scene, "desk_caddy_1_right_contain_region"),
        beside_m=(0.22, -0.12),
        drop_m=(0.21, -0.20),
        hover_m=0.17,
        retreat_m=0.15,
        yaw_rad=0.0,
    )
    return PlanStep("place_in", (_BOOK, region), skill)
