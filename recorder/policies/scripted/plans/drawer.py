"""Things go into drawers, and drawers are closed."""

from __future__ import annotations

import numpy as np

from recorder.policies.scripted.motion import about_x, pointing_down
from recorder.policies.scripted.plans.step import Plan, PlanStep, pick
from recorder.policies.scripted.scene import Scene, Vector, displaced
from recorder.policies.scripted.skills import Pick, Place, Pull, Push, PushPose

_BOTTOM_REGION = "white_cabinet_1_bottom_region"
_BOTTOM_DRAWER = "white_cabinet_1_bottom_level"  # 0 m closed, about -0.15 m open
_TOP_REGION = "wooden_cabinet_1_top_region"
_TOP_DRAWER = "wooden_cabinet_1_top_level"

# Gripper position at the grasp minus the object's origin (m, world axes, object upright as it starts).
_BOWL_NEAR_RIM = (-0.047, 0.0, 0.031)  # nearest to the robot
_WINE_BOTTLE = Pick(body="wine_bottle_1", grasp_m=(0.0, 0.0, 0.12))


def bowl_in_bottom_drawer() -> Plan:
    """LIBERO_10 task 3: the black bowl into the bottom drawer, which is closed."""
    return (
        pick("akita_black_bowl_1", _BOWL_NEAR_RIM, before=_pull_out_bottom_drawer(), decoy=_WINE_BOTTLE),
        _place_in_bottom_drawer("akita_black_bowl_1"),
        _close_bottom_drawer(),
    )


def bowl_in_bottom_drawer_left_open() -> Plan:
    """LIBERO_90 task 24: the black bowl into the bottom drawer of the same scene, which stays open."""
    return bowl_in_bottom_drawer()[:-1]


def open_top_drawer() -> Plan:
    """LIBERO_90 tasks 7 and 11: the top drawer of the wooden cabinet, by its handle."""

    def handle(scene: Scene) -> Vector:
        return displaced(scene.site(_TOP_REGION), 0.006, 0.113, -0.002)

    def done(scene: Scene) -> bool:
        # The benchmark's own threshold is -0.14 m; the drawer ends at -0.16 m.
        return scene.joint(_TOP_DRAWER) < -0.15

    # The hand is nearly level, one finger above the bar and one below: there is no room behind it.
    rotation = about_x(-1.3) @ pointing_down(np.pi / 2.0)
    skill = Pull(handle=handle, direction=(0.0, 1.0, 0.0), rotation=rotation, done=done)
    return (PlanStep("open", (_TOP_REGION,), skill),)


def _pull_out_bottom_drawer() -> Push:
    """Push the front of the open drawer outwards from the inside, as far as it goes.

    Drawers start with 141 to 158 mm of 160 mm: without the rest, a bowl does not fit between the front of
    the drawer and the handles of the drawers above. A closed drawer is left alone.
    """

    def pose(scene: Scene) -> PushPose:
        point = displaced(scene.site(_BOTTOM_REGION), 0.0, -0.063, 0.016)
        return PushPose(point, np.array([0.0, -1.0, 0.0]), pointing_down())

    def done(scene: Scene) -> bool:
        return not -0.157 < scene.joint(_BOTTOM_DRAWER) < -0.07

    return Push(pose=pose, done=done, retreat_m=0.02)


def _place_in_bottom_drawer(body: str) -> PlanStep:
    """Lower a bowl, held at the near rim, between the front of the open drawer and the handles above.

    On a closed drawer the only place left is the top of the cabinet.
    """

    def on_top(scene: Scene) -> Vector:
        return displaced(scene.site("white_cabinet_1_top_side"), 0.04, -0.02, 0.008)

    def target(scene: Scene) -> Vector:
        if scene.joint(_BOTTOM_DRAWER) > -0.07:
            return on_top(scene)
        # Relative to the cabinet: the handles are fixed to it, and a drawer that is touched gives way.
        return displaced(scene.body("white_cabinet_1"), 0.035, -0.168, 0.034)

    skill = Place(
        body=body,
        target=target,
        elsewhere=on_top,
        beside_m=(0.085, -0.29),
        drop_m=(0.09, -0.10),
        hover_m=0.10,
        aim_m=0.005,
        reachable=False,
    )
    return PlanStep("place_in", (body, _BOTTOM_REGION), skill)


def _close_bottom_drawer() -> PlanStep:
    """Push the upper edge of the drawer's front, above its handle.

    That is high enough to pass over a bowl that still stands before the cabinet. The hand is tilted, so
    that it stays clear of the handle of the middle drawer, and the more the further the drawer is in: near
    the wine rack there is no room for it.
    """

    def pose(scene: Scene) -> PushPose:
        open_share = np.clip(-scene.joint(_BOTTOM_DRAWER) / 0.14, 0.0, 1.0)
        tilt = about_x(1.1 - 0.35 * open_share)
        point = displaced(scene.site(_BOTTOM_REGION), 0.0, -0.108, 0.021)
        return PushPose(point, np.array([0.0, 1.0, 0.0]), tilt @ pointing_down())

    def done(scene: Scene) -> bool:
        return scene.joint(_BOTTOM_DRAWER) > 0.001

    return PlanStep("close", (_BOTTOM_REGION,), Push(pose=pose, done=done))
