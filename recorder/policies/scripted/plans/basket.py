"""Groceries go into the basket."""

from __future__ import annotations

from recorder.policies.scripted.plans.step import Plan, PlanStep, pick
from recorder.policies.scripted.scene import Scene, Vector, displaced
from recorder.policies.scripted.skills import Place

# Gripper position at the grasp minus the object's origin (m, world axes, object upright as it starts).
_CAN = (0.0, -0.004, 0.012)


def both_cans() -> Plan:
    """LIBERO_10 task 0: alphabet soup and tomato sauce."""
    return (
        pick("alphabet_soup_1", _CAN),
        _place_in_basket("alphabet_soup_1", -0.022),
        pick("tomato_sauce_1", _CAN),
        _place_in_basket("tomato_sauce_1", 0.022),
    )


def _place_in_basket(body: str, along_y_m: float) -> PlanStep:
    """Let go above the rim: the hand is wider than the basket. Two objects go side by side along y."""
    region = "basket_1_contain_region"

    def target(scene: Scene) -> Vector:
        return displaced(scene.site(region), 0.0, along_y_m, 0.075)

    skill = Place(body=body, target=target, beside_m=(0.20, -0.12), drop_m=(-0.17, -0.02), hover_m=0.06)
    return PlanStep("place_in", (body, region), skill)
