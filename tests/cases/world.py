"""Small models with a meaning, for cases whose numbers must be exact.

::

    world = build(box("mug", 0.02), box("plate", (0.05, 0.05, 0.01)), objects=[thing("mug"), thing("plate")])
    states = world.states(mug=[(0.012, 0, 0.004)], plate=[(0, 0, 0)])
    world.ask(states, "on", "mug", "plate")      # ['true']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.scene.model import Articulation, Hand, Region, Scene, SceneObject, Surface, Threshold
from mango_trace.scene.package import ScenePackage
from mango_trace.signals import SceneKinematics
from mango_trace.truth import NAMES

WOODEN_CABINET = Articulation(open=Threshold("<", -0.14), close=Threshold(">", 0.0))
STOVE = Articulation(turnon=Threshold(">=", 0.5), turnoff=Threshold("<", 0.0))
TABLE = '<body name="table" pos="0 0 -0.05"><geom name="table_top" type="box" size="1 1 0.05"/></body>'


@dataclass(frozen=True)
class World:
    """A package with short ways to place things and to ask."""

    package: ScenePackage

    @cached_property
    def kinematics(self) -> SceneKinematics:
        return SceneKinematics(self.package)

    @property
    def model(self) -> mujoco.MjModel:
        return self.kinematics.model

    def states(self, **placed: Sequence[Any]) -> dict[str, np.ndarray]:
        """States with some joints placed: by joint name, or by body name for its free joint.

        A free joint takes positions ``(x, y, z)`` or positions with a wxyz quaternion, another joint
        numbers; all sequences have one entry a state.
        """
        n = len(next(iter(placed.values()))) if placed else 1
        qpos = np.tile(self.model.qpos0, (n, 1))
        for name, values in placed.items():
            known = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, name) >= 0
            start = int(self.model.joint(name if known else f"{name}_joint").qposadr[0])
            rows = np.asarray(values, dtype=np.float64).reshape(n, -1)
            qpos[:, start : start + rows.shape[1]] = rows
        return {"time": np.arange(n) * 0.05, "qpos": qpos, "qvel": np.zeros((n, self.model.nv))}

    def signals(self, states: Mapping[str, np.ndarray], **options: Any) -> Any:
        return self.kinematics.signals(states, **options)

    def ask(
        self, states: Mapping[str, np.ndarray], predicate: str, *arguments: Any, **options: Any
    ) -> list[str]:
        """Truth of one call at every state, by name."""
        entry = CATALOGUE[predicate]
        defaults = [p.default for p in entry.parameters[len(arguments) :]]
        truth = entry.evaluate(self.signals(states, **options), *arguments, *defaults)
        return [NAMES[value] for value in truth]


def build(
    *bodies: str,
    objects: Sequence[SceneObject] = (),
    regions: Sequence[Region] = (),
    surfaces: Sequence[Surface] = (),
    hands: Sequence[Hand] = (),
    option: str = "",
    tail: str = "",
    bddl: str | None = None,
    **fields: Any,
) -> World:
    """Make a world from the XML of its bodies and their meaning."""
    xml = (
        f'<mujoco><compiler angle="radian" autolimits="true"/><option {option}/>'
        f"<worldbody>{''.join(bodies)}</worldbody>{tail}</mujoco>"
    )
    scene = Scene(
        simulator="test",
        task="test_task",
        robot="robot",
        objects=tuple(objects),
        regions=tuple(regions),
        surfaces=tuple(surfaces),
        hands=tuple(hands),
        **fields,
    )
    return World(ScenePackage(scene, xml, {}, bddl))


def box(name: str, half: float | Sequence[float], *, geom: str = "", inner: str = "", body: str = "") -> str:
    """A free box with the joint ``<name>_joint``."""
    size = (half,) * 3 if isinstance(half, float) else half
    return free(body or name, f'<geom name="{name}_g0" type="box" size="{_text(size)}" {geom}/>{inner}', name)


def ball(name: str, radius: float, geom: str = "") -> str:
    """A free sphere with the joint ``<name>_joint``."""
    return free(name, f'<geom name="{name}_g0" size="{radius}" {geom}/>')


def free(body: str, content: str, joint: str = "") -> str:
    """A free body; it has a mass even when its content has none."""
    return (
        f'<body name="{body}"><freejoint name="{joint or body}_joint"/>'
        f'<inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/>{content}</body>'
    )


def site(name: str, half: Sequence[float], pos: Sequence[float] = (0, 0, 0)) -> str:
    """A box-shaped site."""
    return f'<site name="{name}" type="box" size="{_text(half)}" pos="{_text(pos)}"/>'


def thing(name: str, kind: Any = "object", body: str = "", **fields: Any) -> SceneObject:
    """An object whose category is its name without the number."""
    return SceneObject(name, name.rsplit("_", 1)[0], kind, body or name, **fields)


def cabinet(name: str = "cabinet") -> tuple[str, SceneObject, list[Region]]:
    """A fixture with three drawers that slide along its y axis: XML, object and regions."""
    levels = ("top", "middle", "bottom")
    drawers = "".join(
        f'<body name="{name}_{level}" pos="0 0 {0.25 - 0.1 * index}">'
        f'<joint name="{name}_{level}_joint" type="slide" axis="0 1 0"/>'
        f'<geom name="{name}_{level}_floor" type="box" size="0.1 0.1 0.005" pos="0 0 -0.035"/>'
        f"{site(f'{name}_{level}_region', (0.09, 0.09, 0.03))}</body>"
        for index, level in enumerate(levels)
    )
    top = f'<geom name="{name}_lid" type="box" size="0.11 0.11 0.005" pos="0 0 0.3"/>'
    side = site(f"{name}_top_side", (0.1, 0.1, 0.002), (0, 0, 0.305))
    xml = f'<body name="{name}">{top}{side}{drawers}</body>'
    joints = tuple(f"{name}_{level}_joint" for level in levels)
    item = thing(name, "fixture", joints=joints, articulation=WOODEN_CABINET)
    regions = [
        Region(f"{name}_{level}_region", f"{name}_{level}_region", (0.09, 0.09, 0.03), name, joints=(joint,))
        for level, joint in zip(levels, joints, strict=True)
    ]
    return xml, item, [*regions, Region(f"{name}_top_side", f"{name}_top_side", (0.1, 0.1, 0.002), name)]


HAND_XML = (
    '<body name="robot"><geom name="robot_base" type="box" size="0.02 0.02 0.02" pos="0 0 5"/>'
    '<body name="hand"><joint name="hand_x" type="slide" axis="1 0 0"/>'
    '<joint name="hand_z" type="slide" axis="0 0 1"/>'
    '<geom name="palm" size="0.01" pos="0 0 0.5"/><site name="grip" pos="0 0 0"/>'
    + "".join(
        f'<body name="{side}_finger"><joint name="{side}_y" type="slide" axis="0 1 0"/>'
        f'<joint name="{side}_z" type="slide" axis="0 0 1"/>'
        f'<geom name="{side}_pad" size="0.01" mass="0.1"/></body>'
        for side in ("left", "right")
    )
    + "</body></body>"
)
"""A hand with two round pads of radius 0.01 that move along y and z."""

HAND = Hand("hand", "hand", "grip", ("left_pad",), ("right_pad",), ("left_y", "right_y"))


def pads(radius: float, angle: float, depth: float = 1e-4) -> dict[str, list[float]]:
    """Joints that press both pads on a ball at the origin, ``angle`` rad from its top on either side."""
    reach = radius + 0.01 - depth
    y, z = reach * np.sin(angle), reach * np.cos(angle)
    return {"left_y": [y], "left_z": [z], "right_y": [-y], "right_z": [z]}


def away() -> dict[str, list[float]]:
    """Joints of a hand that is far from everything."""
    return {"left_y": [0.3], "left_z": [0.0], "right_y": [-0.3], "right_z": [0.0], "hand_z": [2.0]}


def yaw(degrees: float) -> tuple[float, float, float, float]:
    """Quaternion wxyz of a turn about z."""
    return float(np.cos(np.deg2rad(degrees) / 2)), 0.0, 0.0, float(np.sin(np.deg2rad(degrees) / 2))


def tilt(degrees: float) -> tuple[float, float, float, float]:
    """Quaternion wxyz of a turn about x."""
    return float(np.cos(np.deg2rad(degrees) / 2)), float(np.sin(np.deg2rad(degrees) / 2)), 0.0, 0.0


def _text(values: Sequence[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
