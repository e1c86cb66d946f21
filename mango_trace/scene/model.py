"""The scene: what the parts of a model mean, as plain frozen data.

A scene is taken from a live simulator once and stored beside the model, so that nothing of the
simulator is needed to interpret a recorded state afterwards. Names are those of the benchmark;
geoms belong to an object because its body carries them, never because of how they are called.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from mango_trace.scene.kinds import ArgumentKind

_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False, defer_build=True)

FORMAT_VERSION = 1
"""Version of ``scene.json``."""


@dataclass(frozen=True, slots=True, config=_STRICT)
class Threshold:
    """One side of a joint's range, with an open or closed bound.

    Attributes:
        relation: How the joint position is compared with ``value``.
        value: Bound, rad for hinges and m for slides.
    """

    relation: Literal["<", "<=", ">", ">="]
    value: float

    def holds(self, position: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Compare joint positions of shape ``(T,)`` with the bound.

        >>> Threshold("<", -0.14).holds(np.array([-0.15, -0.14]))
        array([ True, False])
        """
        compare = {
            "<": np.less,
            "<=": np.less_equal,
            ">": np.greater,
            ">=": np.greater_equal,
        }[self.relation]
        return np.asarray(compare(position, self.value), dtype=np.bool_)


@dataclass(frozen=True, slots=True, config=_STRICT)
class Articulation:
    """When a fixture's joint counts as open, closed, on or off.

    The four rules are independent: a joint may be neither open nor closed.
    """

    open: Threshold | None = None
    close: Threshold | None = None
    turnon: Threshold | None = None
    turnoff: Threshold | None = None


@dataclass(frozen=True, slots=True, config=_STRICT)
class SceneObject:
    """A movable object or a fixture.

    Attributes:
        name: The benchmark's name of it.
        category: Its category, shared by several instances.
        kind: ``object`` moves freely, ``fixture`` stands where the reset put it.
        body: Root body in the model; every geom in its subtree belongs to it.
        joints: Articulated joints in the benchmark's order, without the free joint.
        articulation: Rules for these joints, if it has any.
        up: Axis of the body that points up when it stands, in the body's frame.
        uncounted_geoms: Colliding geoms that the benchmark's own contact test leaves out.
    """

    name: str
    category: str
    kind: Literal["object", "fixture"]
    body: str
    joints: tuple[str, ...] = ()
    articulation: Articulation = Articulation()
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    uncounted_geoms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, config=_STRICT)
class Region:
    """A box-shaped place, carried by a site.

    Attributes:
        name: The benchmark's name of it.
        site: Site in the model that gives position and orientation.
        half_size: Half extents along the site's axes, m, as the benchmark holds them.
        parent: Object or fixture that it belongs to, or ``None``.
        surface: Surface that it lies on when it has no parent.
        joints: Joints that move it, in the benchmark's order.
    """

    name: str
    site: str
    half_size: tuple[float, float, float]
    parent: str | None = None
    surface: str | None = None
    joints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, config=_STRICT)
class Surface:
    """A table top or floor.

    Attributes:
        name: The benchmark's name of it.
        body: Body whose subtree carries its geoms.
        geoms: Named geoms, where the body (the world) carries others too.
    """

    name: str
    body: str
    geoms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, config=_STRICT)
class Hand:
    """A gripper.

    Attributes:
        name: Name used in oracles.
        body: Root body of the gripper; its subtree holds palm, fingers and pads.
        center: Site at the grasp centre, between the finger tips.
        left_pads: Geoms of the left finger pad.
        right_pads: Geoms of the right finger pad.
        finger_joints: Finger joints; their positions have opposite signs.
    """

    name: str
    body: str
    center: str
    left_pads: tuple[str, ...]
    right_pads: tuple[str, ...]
    finger_joints: tuple[str, ...] = ()


@dataclass(frozen=True, config=_STRICT)
class Scene:
    """Everything that has a name in a scene.

    Attributes:
        simulator: Adapter that made it, e.g. ``libero``.
        task: Task that it was made for.
        robot: Root body of the robot.
        objects: Movable objects and fixtures.
        regions: Places.
        surfaces: Table tops and floors.
        hands: Grippers.
        termination: How the benchmark ends a rollout: LIBERO at the first success.
        control_hz: Control steps per second.
        substeps: Simulator steps per control step.
        longest_demonstration: Control steps of the benchmark's longest demonstration, if known; a
            shorter horizon cuts runs off.
        format_version: Version of this document.
    """

    simulator: str
    task: str
    robot: str
    objects: tuple[SceneObject, ...]
    regions: tuple[Region, ...]
    surfaces: tuple[Surface, ...]
    hands: tuple[Hand, ...]
    termination: Literal["first_success", "horizon"] = "first_success"
    control_hz: float = 20.0
    substeps: int = 1
    longest_demonstration: int | None = None
    format_version: int = FORMAT_VERSION

    @cached_property
    def _kinds(self) -> dict[str, ArgumentKind]:
        kinds: dict[str, ArgumentKind] = {}
        for item in self.objects:
            kinds.update(dict.fromkeys(item.joints, ArgumentKind.JOINT))
        for region in self.regions:
            kinds[region.name] = ArgumentKind.REGION
        kinds.update((surface.name, ArgumentKind.SURFACE) for surface in self.surfaces)
        kinds.update((hand.name, ArgumentKind.HAND) for hand in self.hands)
        for item in self.objects:
            kinds[item.name] = ArgumentKind(item.kind)
        return kinds

    @cached_property
    def _by_name(self) -> dict[str, SceneObject | Region | Surface | Hand]:
        return {
            item.name: item
            for group in (self.objects, self.regions, self.surfaces, self.hands)
            for item in group
        }

    def kind_of(self, name: str) -> ArgumentKind | None:
        """Kind of thing that ``name`` is here, or ``None``."""
        return self._kinds.get(name)

    def names(self, kind: ArgumentKind) -> tuple[str, ...]:
        """All names of one kind, in scene order."""
        return tuple(name for name, found in self._kinds.items() if found is kind)

    def item(self, name: str) -> SceneObject | Region | Surface | Hand:
        """Object, fixture, region, surface or hand called ``name``.

        Raises:
            KeyError: There is none.
        """
        return self._by_name[name]

    def object(self, name: str) -> SceneObject:
        """Movable object or fixture called ``name``.

        Raises:
            KeyError: There is none.
        """
        found = self._by_name[name]
        if not isinstance(found, SceneObject):
            raise KeyError(name)
        return found

    def owner_of_joint(self, joint: str) -> SceneObject:
        """Fixture that a joint belongs to.

        Raises:
            KeyError: No fixture has it.
        """
        for item in self.objects:
            if joint in item.joints:
                return item
        raise KeyError(joint)


SCENE_ADAPTER: TypeAdapter[Scene] = TypeAdapter(Scene)
"""Reads and writes ``scene.json``."""
