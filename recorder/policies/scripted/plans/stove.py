"""The stove is turned on, and pots and bowls go onto it."""

from __future__ import annotations

import math
from dataclasses import replace

from recorder.policies.scripted.plans.bowls import pick_bowl
from recorder.policies.scripted.plans.step import Plan, PlanStep
from recorder.policies.scripted.scene import Scene, Vector, displaced
from recorder.policies.scripted.skills import Pick, Place, Turn

_STOVE = "flat_stove_1"
_KNOB = "flat_stove_1_button"  # 0 rad off, on from 0.5 rad, 2.1 rad at most
_COOK_REGION = "flat_stove_1_cook_region"

# Gripper position at the grasp minus the object's origin (m, world axes, object upright as it starts).
_MOKA_POT_HANDLE = (0.0, -0.074, 0.035)
# Height of an object's origin above the cook region when it is let go.
_POT_ABOVE_M = 0.093
_BOWL_ABOVE_M = 0.030
# High enough for a pot to pass over another one that stands on the stove already.
_OVER_A_POT_M = 0.24
# Distance from the middle of the burner, which is 150 mm wide, at which a pot stands half beside it.
_RIM_M = 0.10


def turn_on_and_moka_pot() -> Plan:
    """LIBERO_10 task 2: turn on the stove and put the moka pot on it."""
    return (
        _turn_on(),
        _pick_moka_pot("moka_pot_1"),
        _place_on_stove("moka_pot_1", 0.0, beside_m=(0.20, -0.02), drop_m=(0.18, -0.06)),
    )


def both_moka_pots() -> Plan:
    """LIBERO_10 task 8: both moka pots on the stove, which is on; the far one first."""
    return (
        _pick_moka_pot("moka_pot_1", lift_m=_OVER_A_POT_M),
        _place_on_stove("moka_pot_1", 0.046, beside_m=(0.18, 0.0), drop_m=(0.22, -0.06)),
        _pick_moka_pot("moka_pot_2", lift_m=_OVER_A_POT_M),
        _place_on_stove("moka_pot_2", -0.046, beside_m=(0.27, 0.0), drop_m=(0.20, 0.0)),
    )


def turn_on_only() -> Plan:
    """LIBERO_GOAL task 7 and LIBERO_90 task 20: turn on the stove."""
    return (_turn_on(),)


def bowl_on_stove() -> Plan:
    """LIBERO_GOAL task 1: the black bowl on the stove."""
    body = "akita_black_bowl_1"
    place = _place_on_stove(body, 0.0, above_m=_BOWL_ABOVE_M, beside_m=(0.22, 0.09), drop_m=(0.03, -0.07))
    return (pick_bowl(body), place)


def _turn_on() -> PlanStep:
    """Turn the bar of the knob well past where the stove is on."""

    def knob(scene: Scene) -> Vector:
        return displaced(scene.body(_STOVE), -0.003, 0.0, 0.035)

    def angle(scene: Scene) -> float:
        return scene.joint(_KNOB)

    def done(scene: Scene) -> bool:
        return scene.joint(_KNOB) > 0.8

    def off(scene: Scene) -> bool:
        return scene.joint(_KNOB) < 0.1

    turn = Turn(knob=knob, angle=angle, done=done, yaw_rad=math.pi / 2)
    return PlanStep("turn_on", (_STOVE,), turn, undo=replace(turn, done=off, sense=-1))


def _pick_moka_pot(body: str, *, lift_m: float = 0.18) -> PlanStep:
    return PlanStep("pick_up", (body,), Pick(body=body, grasp_m=_MOKA_POT_HANDLE, lift_m=lift_m))


def _place_on_stove(
    body: str,
    along_x_m: float,
    *,
    beside_m: tuple[float, float],
    drop_m: tuple[float, float],
    above_m: float = _POT_ABOVE_M,
) -> PlanStep:
    """Set a pot or a bowl down on the burner. Two pots go side by side along x, handles on the same side."""

    def target(scene: Scene) -> Vector:
        return displaced(scene.site(_COOK_REGION), along_x_m, 0.01, above_m)

    rim_m = (math.copysign(_RIM_M, along_x_m) - along_x_m, 0.0, 0.0)
    skill = Place(body=body, target=target, beside_m=beside_m, drop_m=drop_m, rim_m=rim_m)
    return PlanStep("place_on", (body, _COOK_REGION), skill)
