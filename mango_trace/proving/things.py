"""What moves in a scene, and where its numbers lie in a state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import mujoco

from mango_trace.oracle import CompiledOracle, Group
from mango_trace.scene.kinds import ArgumentKind
from mango_trace.scene.model import Region, Scene, SceneObject

_WIDTHS: Final = {int(mujoco.mjtJoint.mjJNT_FREE): (7, 6), int(mujoco.mjtJoint.mjJNT_BALL): (4, 3)}
"""Numbers in qpos and in qvel of joints that have more than one."""


@dataclass(frozen=True, slots=True)
class Thing:
    """Something that moves: an object with its free joint, or the joints of a fixture or region.

    Attributes:
        name: What the scene calls it.
        qpos: Its columns in ``qpos``.
        qvel: Its columns in ``qvel``.
        free: Whether it is an object that moves freely.
    """

    name: str
    qpos: tuple[int, ...]
    qvel: tuple[int, ...]
    free: bool

    def overlaps(self, other: Thing) -> bool:
        """Whether both move with some joint."""
        return not set(self.qpos).isdisjoint(other.qpos)


def thing_of(model: mujoco.MjModel, scene: Scene, name: str) -> Thing | None:
    """What moves when ``name`` does; ``None`` for what cannot move and for names that there are not."""
    kind = scene.kind_of(name)
    if kind is ArgumentKind.JOINT:
        return _thing(model, name, [int(model.joint(name).id)], free=False)
    if kind is None:
        return None
    item = scene.item(name)
    if isinstance(item, SceneObject) and item.kind == "object":
        body = model.body(item.body)
        joints = range(int(body.jntadr[0]), int(body.jntadr[0]) + int(body.jntnum[0]))
        free = [joint for joint in joints if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE]
        return _thing(model, name, free, free=True)
    if isinstance(item, SceneObject | Region):
        return _thing(model, name, [int(model.joint(joint).id) for joint in item.joints], free=False)
    return None


def free_things(model: mujoco.MjModel, scene: Scene) -> tuple[Thing, ...]:
    """Every object that moves freely, in scene order."""
    found = (thing_of(model, scene, item.name) for item in scene.objects)
    return tuple(thing for thing in found if thing is not None and thing.free)


def things_of_actions(
    model: mujoco.MjModel, scene: Scene, compiled: CompiledOracle
) -> tuple[Thing | None, ...]:
    """For each action of a plan what it is about: the first of its parameters that moves."""
    return tuple(
        next(filter(None, (thing_of(model, scene, name) for name in action.parameters)), None)
        for action in compiled.actions
    )


def declares_order(
    compiled: CompiledOracle, about: Sequence[Thing | None], first: Thing, second: Thing
) -> bool:
    """Whether a plan wants everything about one thing done before anything about another.

    Args:
        compiled: The oracle.
        about: What each of its actions is about (:func:`things_of_actions`).
        first: What is to be dealt with first.
        second: What is to be dealt with then.
    """
    befores, afters = (
        [index for index, thing in enumerate(about) if thing is not None and thing.overlaps(one)]
        for one in (first, second)
    )
    return bool(befores and afters) and all(
        _is_before(compiled.root, before, after) for before in befores for after in afters
    )


def declares_way(compiled: CompiledOracle, about: Sequence[Thing | None], thing: Thing) -> bool:
    """Whether a plan wants one action about a thing done before another: more than where it ends."""
    mine = [index for index, one in enumerate(about) if one is not None and one.overlaps(thing)]
    return any(
        _is_before(compiled.root, before, after) for before in mine for after in mine if before < after
    )


def _is_before(group: Group, before: int, after: int) -> bool:
    """Whether a group's order says that one action completes before another starts."""
    where = {action: number for number, child in enumerate(group.children) for action in _actions(child)}
    if where[before] != where[after]:
        return group.mode == "sequential" and where[before] < where[after]
    child = group.children[where[before]]
    return isinstance(child, Group) and _is_before(child, before, after)


def _actions(node: Group | int) -> Iterable[int]:
    if isinstance(node, int):
        return [node]
    return [action for child in node.children for action in _actions(child)]


def _thing(model: mujoco.MjModel, name: str, joints: Sequence[int], *, free: bool) -> Thing | None:
    if not joints:
        return None
    qpos: list[int] = []
    qvel: list[int] = []
    for joint in joints:
        at, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        positions, velocities = _WIDTHS.get(int(model.jnt_type[joint]), (1, 1))
        qpos += range(at, at + positions)
        qvel += range(dof, dof + velocities)
    return Thing(name, tuple(qpos), tuple(qvel), free)
