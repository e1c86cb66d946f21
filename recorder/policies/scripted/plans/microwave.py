"""Things go into the microwave, and it is closed."""

from __future__ import annotations

import numpy as np

from recorder.policies.scripted.motion import about_x, about_z, pointing_down
from recorder.policies.scripted.plans.step import Plan, PlanStep
from recorder.policies.scripted.scene import Scene, Vector, displaced
from recorder.policies.scripted.skills import Insert, Pick, Push, PushPose

_MUG = "white_yellow_mug_1"
_MICROWAVE = "microwave_1"
_DOOR = "microwave_1_microjoint"  # 0 rad closed, about -1.6 open

# Gripper position at the grasp minus the object's origin (m, world axes, object upright as it starts).
_MUG_HANDLE = (0.0, -0.062, 0.067)  # at its start it points away from the microwave

# Microwave, in its own axes, from its origin: the cavity is 207 mm wide, its floor ends at the doorway.
_MUG_X_M = -0.03  # a little to the right of the middle: away from the door
_FLOOR_Z_M = 0.024
_TOP_Z_M = 0.187
_PUSH_Z_M = 0.165  # at the upper edge of the door: the hand above the fingers passes over it
_HINGE_M = (-0.1725, -0.088)
# From the hinge's axis: where the hand pushes, clear of the handle, and how thick the door is.
_PUSH_RADIUS_M = 0.17
_DOOR_FACE_M = 0.025


def mug_in_microwave() -> Plan:
    """LIBERO_10 task 9: the yellow-and-white mug into the microwave, which is closed."""
    return (_pick_mug(), _place_in_microwave(), _close_microwave())


def _pick_mug() -> PlanStep:
    """By the handle, wherever it points: a door that is closed too early brushes the mug and turns it."""
    skill = Pick(body=_MUG, grasp_m=_MUG_HANDLE, heading=lambda scene: scene.heading(_MUG) + np.pi / 2.0)
    return PlanStep("pick_up", (_MUG,), skill)


def _place_in_microwave() -> PlanStep:
    """Slide the mug in by its handle as far as the upright hand gets, which stays outside; push the rest.

    On a closed microwave the only place left is its top.
    """
    region = "microwave_1_heating_region"

    def on_top(scene: Scene) -> Vector:
        return displaced(scene.body(_MICROWAVE), _MUG_X_M, -0.02, _TOP_Z_M + 0.008)

    def target(scene: Scene) -> Vector:
        if scene.joint(_DOOR) > -0.5:
            return on_top(scene)
        return displaced(scene.body(_MICROWAVE), _MUG_X_M, -0.066, _FLOOR_Z_M + 0.008)

    skill = Insert(
        body=_MUG,
        target=target,
        elsewhere=on_top,
        doorway_m=(0.045, -0.134),
        reachable=False,
        beside_m=(0.10, -0.37),
        drop_m=(0.14, -0.12),
        hover_m=0.02,
        retreat_m=0.20,
        nudge=_push_mug_in(),
    )
    return PlanStep("place_in", (_MUG, region), skill)


def _push_mug_in() -> Push:
    """Push the handle with a tilted hand until the mug is clear of the door; only a mug in the doorway."""

    def pose(scene: Scene) -> PushPose:
        point = displaced(scene.body(_MUG), 0.01, -0.078, 0.05)
        return PushPose(point, np.array([0.0, 1.0, 0.0]), about_x(0.6) @ pointing_down())

    def done(scene: Scene) -> bool:
        x, y, z = scene.body(_MUG) - scene.body(_MICROWAVE)
        in_doorway = abs(x - _MUG_X_M) < 0.05 and y > -0.10 and abs(z - _FLOOR_Z_M) < 0.03
        return not in_doorway or y > -0.008

    return Push(pose=pose, done=done, approach_m=0.03, lead_m=0.03, retreat_m=0.04)


def _close_microwave() -> PlanStep:
    """Push the outer face of the door along its arc, and go on a little: it may rebound."""

    def pose(scene: Scene) -> PushPose:
        turned = about_z(scene.joint(_DOOR))
        hinge = displaced(scene.body(_MICROWAVE), *_HINGE_M, _PUSH_Z_M)
        point = hinge + turned @ np.array([_PUSH_RADIUS_M, -_DOOR_FACE_M, 0.0])
        return PushPose(point, turned @ np.array([0.0, 1.0, 0.0]), pointing_down())

    def done(scene: Scene) -> bool:
        # The benchmark's own threshold is -0.005 rad.
        return scene.joint(_DOOR) > -0.003

    skill = Push(pose=pose, done=done, approach_m=0.06, budget=80, hold_steps=8, attempts=2)
    return PlanStep("close", (_MICROWAVE,), skill)
