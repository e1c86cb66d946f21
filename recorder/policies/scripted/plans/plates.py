"""Mugs go on plates, and something goes next to a plate."""

from __future__ import annotations

from math import pi

from recorder.policies.scripted.plans.bowls import pick_bowl
from recorder.policies.scripted.plans.step import Plan, PlanStep, pick
from recorder.policies.scripted.scene import Scene, Vector, displaced
from recorder.policies.scripted.skills import Pick, Place

_RIGHT_OF_PLATE = "living_room_table_plate_right_region"
_LEFT_OF_PLATE = "living_room_table_plate_left_region"

# Gripper position at the grasp minus the object's origin (m, world axes, object upright as it starts).
# Mugs are wider than the gripper opens: it takes the rim, on the side without the handle.
_PORCELAIN_RIM = (-0.001, -0.057, 0.092)
_WHITE_YELLOW_RIM = (0.0, 0.06, 0.088)
_PUDDING = (0.0, 0.0, 0.0)
_ALONG_Y = pi / 2.0
_RED_MUG = Pick(body="red_coffee_mug_1", grasp_m=(0.0, -0.045, 0.08), yaw_rad=_ALONG_Y)


def two_mugs_on_two_plates() -> Plan:
    """LIBERO_10 task 4: the white mug on the left plate, the yellow and white one on the right plate."""
    return (
        pick("porcelain_mug_1", _PORCELAIN_RIM, yaw_rad=_ALONG_Y, decoy=_RED_MUG),
        _place_on_plate(
            "porcelain_mug_1", "plate_1", beside_m=(0.15, 0.13), drop_m=(0.15, 0.12), other="plate_2"
        ),
        pick("white_yellow_mug_1", _WHITE_YELLOW_RIM, yaw_rad=_ALONG_Y, decoy=_RED_MUG),
        _place_on_plate("white_yellow_mug_1", "plate_2", beside_m=(0.15, -0.13), drop_m=(0.13, -0.12)),
    )


def mug_on_plate_and_pudding_beside() -> Plan:
    """LIBERO_10 task 6: the white mug on the plate, the chocolate pudding to the right of the plate."""
    return (
        pick("porcelain_mug_1", _PORCELAIN_RIM, yaw_rad=_ALONG_Y, decoy=_RED_MUG),
        _place_on_plate(
            "porcelain_mug_1", "plate_1", beside_m=(-0.13, -0.13), drop_m=(-0.03, -0.05), rim_x_m=-0.055
        ),
        pick("chocolate_pudding_1", _PUDDING, yaw_rad=_ALONG_Y, decoy=_RED_MUG),
        _place_right_of_plate("chocolate_pudding_1"),
    )


def bowl_on_plate(*, beside_m: tuple[float, float], drop_m: tuple[float, float]) -> Plan:
    """LIBERO_GOAL task 8, LIBERO_SPATIAL tasks 0 and 2: the black bowl on the plate, from where it is."""
    return (
        pick_bowl("akita_black_bowl_1"),
        _place_on_plate("akita_black_bowl_1", "plate_1", beside_m=beside_m, drop_m=drop_m),
    )


def _place_on_plate(
    body: str,
    plate: str,
    *,
    beside_m: tuple[float, float],
    drop_m: tuple[float, float],
    rim_x_m: float = 0.055,
    other: str | None = None,
) -> PlanStep:
    """Set a mug or a bowl down in the middle of a plate; another plate may be mistaken for it."""

    def on(scene: Scene, name: str) -> Vector:
        return displaced(scene.body(name), 0.0, 0.0, 0.012)

    skill = Place(
        body=body,
        target=lambda scene: on(scene, plate),
        elsewhere=None if other is None else lambda scene: on(scene, other),
        beside_m=beside_m,
        drop_m=drop_m,
        rim_m=(rim_x_m, 0.0, 0.012),
    )
    return PlanStep("place_on", (body, plate), skill)


def _place_right_of_plate(body: str) -> PlanStep:
    """Set the pudding down in the part of the zone that is furthest from the plate.

    The hand is turned on the way, so that its broad side passes the mug on the plate.
    """

    def target(scene: Scene) -> Vector:
        return displaced(scene.site(_RIGHT_OF_PLATE), 0.0, 0.036, 0.044)

    def left_of_plate(scene: Scene) -> Vector:
        return displaced(scene.site(_LEFT_OF_PLATE), 0.0, -0.036, 0.044)

    skill = Place(
        body=body,
        target=target,
        elsewhere=left_of_plate,
        beside_m=(-0.14, 0.10),
        drop_m=(-0.07, 0.08),
        yaw_rad=0.0,
    )
    return PlanStep("place_on", (body, _RIGHT_OF_PLATE), skill)
