"""The plan of each supported task: atomic tasks in order, each with the skill that does it.

To add a task, add an entry to `PLANS`; an object that is grasped gets a line in `_GRASPS`. Parameters are the
names that the BDDL file of the task uses.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recorder.policies.scripted.errors import ScriptedPlanMissingError
from recorder.policies.scripted.motion import about_x, pointing_down
from recorder.policies.scripted.scene import Scene, Vector, displaced
from recorder.policies.scripted.skills import Pick, Place, Push, PushPose, Skill


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One atomic task of a plan.

    Attributes:
        action_id: Atomic task, e.g. ``"pick_up"``.
        parameters: What it is about: an object, an object and a region, or a region.
        skill: How it is done.
        before: What prepares the plan at this point without being an atomic task of its own.
        deviates: True is a fault: the step as a whole is wrong, left out or out of turn.
    """

    action_id: str
    parameters: tuple[str, ...]
    skill: Skill
    before: Skill | None = None
    deviates: bool = False


Plan = tuple[PlanStep, ...]

_BOTTOM_REGION = "white_cabinet_1_bottom_region"
_BOTTOM_DRAWER = "white_cabinet_1_bottom_level"  # 0 m closed, about -0.15 m open

# Gripper position at the grasp minus the object's origin (m, world axes, object upright as it starts).
_GRASPS: Mapping[str, tuple[float, float, float]] = {
    "alphabet_soup_1": (0.0, -0.004, 0.012),
    "tomato_sauce_1": (0.0, -0.004, 0.012),
    "akita_black_bowl_1": (-0.047, 0.0, 0.031),  # the rim nearest to the robot
}


def plan_for(suite: str, task_index: int) -> Plan:
    """Return the plan of a task.

    Raises:
        ScriptedPlanMissingError: There is none.
    """
    try:
        return PLANS[suite, task_index]
    except KeyError:
        raise ScriptedPlanMissingError(suite, task_index, tuple(PLANS)) from None


def _pick(body: str, before: Skill | None = None) -> PlanStep:
    return PlanStep("pick_up", (body,), Pick(body=body, grasp_m=_GRASPS[body]), before)


def _place_in_basket(body: str, along_y_m: float) -> PlanStep:
    """Let go above the rim: the hand is wider than the basket. Two objects go side by side along y."""
    region = "basket_1_contain_region"

    def target(scene: Scene) -> Vector:
        return displaced(scene.site(region), 0.0, along_y_m, 0.075)

    skill = Place(body=body, target=target, beside_m=(0.20, -0.12), drop_m=(-0.17, -0.02), hover_m=0.06)
    return PlanStep("place_in", (body, region), skill)


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

    def target(scene: Scene) -> Vector:
        if scene.joint(_BOTTOM_DRAWER) > -0.07:
            return displaced(scene.site("white_cabinet_1_top_side"), 0.04, -0.02, 0.008)
        # Relative to the cabinet: the handles are fixed to it, and a drawer that is touched gives way.
        return displaced(scene.body("white_cabinet_1"), 0.035, -0.168, 0.034)

    skill = Place(
        body=body, target=target, beside_m=(0.085, -0.29), drop_m=(0.09, -0.10), hover_m=0.10, aim_m=0.005
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


PLANS: Mapping[tuple[str, int], Plan] = {
    ("libero_10", 0): (
        _pick("alphabet_soup_1"),
        _place_in_basket("alphabet_soup_1", -0.022),
        _pick("tomato_sauce_1"),
        _place_in_basket("tomato_sauce_1", 0.022),
    ),
    ("libero_10", 3): (
        _pick("akita_black_bowl_1", before=_pull_out_bottom_drawer()),
        _place_in_bottom_drawer("akita_black_bowl_1"),
        _close_bottom_drawer(),
    ),
}
"""Plans by suite and task index."""
