"""Scenes for the rules: a kitchen made for these tests, and those of LIBERO_10 that come along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mango_trace.oracle import Libraries, link, read_oracles, read_tasks
from mango_trace.scene.bddl import Problem, parse_bddl
from mango_trace.scene.model import Articulation, Hand, Region, Scene, SceneObject, Surface, Threshold
from mango_trace.shipped import shipped
from mango_trace.store import Dataset

SAMPLE = Path(__file__).parents[3] / "datasets" / "libero-10-sample"
BOX = (0.05, 0.05, 0.05)
DOOR = Articulation(open=Threshold(">", 0.1), close=Threshold("<", 0.01))
KNOB = Articulation(turnon=Threshold(">", 0.5), turnoff=Threshold("<", 0.5))

BDDL = """(define (problem kitchen)
  (:language put the bowl on the plate)
  (:regions
    (bowl_left_region (:target table) (:ranges ((-0.01 -0.21 0.01 -0.19))))
    (bowl_right_region (:target table) (:ranges ((-0.01 0.19 0.01 0.21))))
    (plate_region (:target table) (:ranges ((0.09 -0.21 0.11 -0.19))))
    (plate_right_region (:target table) (:ranges ((0.05 -0.15 0.15 -0.05))))
    (ramekin_region (:target table) (:ranges ((-0.11 -0.21 -0.09 -0.19))))
    (white_mug_region (:target table) (:ranges ((0.19 0.09 0.21 0.11))))
    (mug_region (:target table) (:ranges ((0.19 -0.11 0.21 -0.09))))
    (stove_region (:target table) (:ranges ((-0.41 0.39 -0.39 0.41))))
    (cabinet_region (:target table) (:ranges ((-0.41 -0.41 -0.39 -0.39))))
    (top_region (:target wooden_cabinet_1)))
  (:obj_of_interest black_bowl_1 plate_1)
  (:init
    (On black_bowl_1 table_bowl_left_region) (On black_bowl_2 table_bowl_right_region)
    (On black_bowl_3 wooden_cabinet_1_top_region) (On black_bowl_4 flat_stove_1_cook_region)
    (On black_bowl_5 plate_1) (On plate_1 table_plate_region) (On porcelain_ramekin_1 table_ramekin_region)
    (On porcelain_mug_1 table_white_mug_region) (On white_yellow_mug_1 table_mug_region)
    (On flat_stove_1 table_stove_region) (On wooden_cabinet_1 table_cabinet_region) (Turnon flat_stove_1))
  (:goal (And (On black_bowl_1 plate_1))))
"""


def item(
    name: str, kind: str = "object", articulation: Articulation | None = None, *joints: str
) -> SceneObject:
    category = name.rsplit("_", 1)[0]
    return SceneObject(name, category, kind, f"{name}_main", joints, articulation or Articulation())  # type: ignore[arg-type]


def part(parent: str, rest: str, *joints: str) -> Region:
    name = f"{parent}_{rest}"
    return Region(name, name, BOX, parent=parent, joints=joints)


def spot(rest: str) -> Region:
    return Region(f"table_{rest}", f"table_{rest}", BOX, surface="table")


def kitchen() -> tuple[Scene, Problem]:
    """Five bowls in five places, two mugs, and furniture; the stove is on."""
    drawers = ("top", "bottom")
    scene = Scene(
        simulator="libero",
        task="kitchen",
        robot="robot0_base",
        objects=(
            *(item(f"black_bowl_{number}") for number in range(1, 6)),
            item("plate_1"),
            item("porcelain_ramekin_1"),
            item("porcelain_mug_1"),
            item("white_yellow_mug_1"),
            item("basket_1"),
            item("wooden_cabinet_1", "fixture", DOOR, *(f"{level}_level" for level in drawers)),
            item("microwave_1", "fixture", DOOR, "microjoint"),
            item("flat_stove_1", "fixture", KNOB, "knob"),
            item("two_layer_shelf_1", "fixture"),
            item("desk_caddy_1", "fixture"),
        ),
        regions=(
            *(
                spot(f"{rest}_region")
                for rest in ("bowl_left", "bowl_right", "plate", "plate_right", "ramekin")
            ),
            *(part("wooden_cabinet_1", f"{level}_region", f"{level}_level") for level in drawers),
            part("wooden_cabinet_1", "top_side"),
            part("microwave_1", "heating_region"),
            part("microwave_1", "top_side"),
            part("flat_stove_1", "cook_region"),
            part("basket_1", "contain_region"),
            *(part("two_layer_shelf_1", rest) for rest in ("top_side", "top_region", "bottom_region")),
            *(part("desk_caddy_1", f"{side}_contain_region") for side in ("left", "right")),
        ),
        surfaces=(Surface("table", "table"),),
        hands=(Hand("hand", "gripper", "grip_site", ("left",), ("right",)),),
    )
    return scene, parse_bddl(BDDL)


@dataclass(frozen=True)
class Task:
    """One task of LIBERO_10 as the sample has it."""

    name: str
    instruction: str
    scene: Scene
    problem: Problem


@cache
def libero_10() -> tuple[Task, ...]:
    def found() -> Iterator[Task]:
        dataset = Dataset(SAMPLE)
        seen = set()
        for record in dataset.records:
            if record.metadata.task not in seen:
                seen.add(record.metadata.task)
                package = dataset.scene(record.scene)
                assert package.problem is not None
                yield Task(record.metadata.task, record.metadata.instruction, package.scene, package.problem)

    return tuple(found())


@cache
def libraries() -> Libraries:
    """The libraries that come along."""
    folder = shipped("oracles") / "libero"
    return link(
        read_tasks(folder / "atomic_tasks.json"),
        read_oracles(folder / "atomic_oracles.json"),
        source="shipped",
    )
