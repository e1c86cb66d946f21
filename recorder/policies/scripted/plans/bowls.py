"""Bowls are picked up by the rim, and things go into them."""

from __future__ import annotations

from math import pi

from recorder.policies.scripted.plans.step import Plan, PlanStep, pick
from recorder.policies.scripted.scene import Scene, Vector, displaced
from recorder.policies.scripted.skills import Place

_BOWL = "akita_black_bowl_1"
_CREAM_CHEESE = "cream_cheese_1"

# Gripper position at the grasp minus the object's origin (m, world axes, object upright as it starts).
_BOWL_FAR_RIM = (0.047, 0.0, 0.031)  # furthest from the robot: what stands before the bowl is not touched
_BOX = (0.0, 0.0, 0.0)
_ACROSS_BOX = pi / 2.0  # boxes lie with their long side along x; the fingers only span the other one


def cream_cheese_in_bowl() -> Plan:
    """LIBERO_GOAL task 6: the cream cheese into the bowl."""
    return (pick(_CREAM_CHEESE, _BOX, yaw_rad=_ACROSS_BOX), _place_in_bowl(_CREAM_CHEESE))


def pick_bowl(body: str) -> PlanStep:
    """Pick a bowl up by its far rim: it is wider than the gripper opens."""
    return pick(body, _BOWL_FAR_RIM)


def _place_in_bowl(body: str) -> PlanStep:
    """Let go between the walls of the bowl. The benchmark calls it on the bowl."""

    def target(scene: Scene) -> Vector:
        return displaced(scene.body(_BOWL), 0.0, 0.0, 0.045)

    skill = Place(body=body, target=target, beside_m=(0.10, 0.25), drop_m=(0.10, 0.085))
    return PlanStep("place_on", (body, _BOWL), skill)
