"""Poses of bodies and sites in many states at once.

This is MuJoCo's ``mj_kinematics`` over arrays: every link of a chain takes a few operations on all
states together, and only bodies that are asked about are computed. Positions of free bodies are the
recorded numbers themselves. All else equals MuJoCo's result to rounding, not to the last bit; where
that could decide an answer, :meth:`mango_trace.signals.base.Signals.exact_pose` is asked.

Source: MuJoCo's documentation of forward kinematics and the definition of its joint types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.signals.base import Floats

POSE_FIELDS: Final = ("body_pos", "body_quat", "site_pos", "site_quat", "jnt_pos", "jnt_axis", "qpos0")
"""Fields of the model that poses depend on, beside its structure."""

_IDENTITY: Final = np.eye(3)
_UNIT: Final = 1e-9  # how far from 1 the length of a quaternion or an axis may be


@dataclass(frozen=True, slots=True)
class Pose:
    """A frame in ``N`` states; what is the same in all of them has one column instead of ``N``.

    Attributes:
        position: Origin in the world, ``(3, N)`` m.
        rotation: Rotation from the frame to the world, ``(3, 3, N)``.
    """

    position: Floats
    rotation: Floats

    def apply(self, point: Floats) -> Floats:
        """World position of a point of the frame: ``(3,)`` or ``(3, N)`` to ``(3, N)``."""
        return self.position + rotated(self.rotation, point)

    def at(self, states: npt.NDArray[np.intp]) -> Pose:
        """The frame in some of the states; what never moves stays as it is."""
        position, rotation = self.position, self.rotation
        if position.shape[1] > 1:
            position = position[:, states]
        if rotation.shape[2] > 1:
            rotation = rotation[:, :, states]
        return Pose(position, rotation)


class Poses(Protocol):
    """Where bodies and sites are."""

    def body(self, index: int) -> Pose:
        """Pose of a body."""

    def site(self, index: int) -> Pose:
        """Pose of a site."""


class BatchPoses:
    """Poses computed over arrays, each body once.

    Args:
        model: The model; its structure is read, the fields come from ``fields``.
        qpos: Positions, one row a coordinate: ``(nq, N)``.
        mocap: Positions ``(3 * nmocap, N)`` and wxyz quaternions ``(4 * nmocap, N)`` of mocap
            bodies, or ``None``.
        fields: Values of :data:`POSE_FIELDS`, one entry for each version of the model.
        version: Version of the model that each state belongs to, ``(N,)``.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        qpos: Floats,
        mocap: tuple[Floats, Floats] | None,
        fields: Sequence[Mapping[str, Floats]],
        version: npt.NDArray[np.intp],
    ) -> None:
        self._model, self._qpos, self._mocap, self._version = model, qpos, mocap, version
        self._fields = {name: np.stack([one[name] for one in fields]) for name in POSE_FIELDS}
        nothing = Pose(np.zeros((3, 1)), np.eye(3)[:, :, None])
        self._bodies: dict[int, Pose] = {0: nothing}
        self._sites: dict[int, Pose] = {}

    def body(self, index: int) -> Pose:
        """Pose of a body."""
        if index not in self._bodies:
            self._bodies[index] = self._find_body(index)
        return self._bodies[index]

    def site(self, index: int) -> Pose:
        """Pose of a site."""
        if index not in self._sites:
            carrier = self.body(int(self._model.site_bodyid[index]))
            rotation = matrices(self._field("site_quat", index))
            self._sites[index] = Pose(
                carrier.apply(self._field("site_pos", index)),
                product(carrier.rotation, rotation),
            )
        return self._sites[index]

    def _find_body(self, index: int) -> Pose:
        model = self._model
        first, count = int(model.body_jntadr[index]), int(model.body_jntnum[index])
        if count == 1 and model.jnt_type[first] == mujoco.mjtJoint.mjJNT_FREE:
            start = int(model.jnt_qposadr[first])
            quaternion = _normalized(self._qpos[start + 3 : start + 7])
            return Pose(self._qpos[start : start + 3], matrices(quaternion))
        parent = self.body(int(model.body_parentid[index]))
        place, turn = self._field("body_pos", index), self._field("body_quat", index)
        mocap = int(model.body_mocapid[index])
        if mocap >= 0 and self._mocap is not None:
            place = self._mocap[0][3 * mocap : 3 * mocap + 3]
            turn = _normalized(self._mocap[1][4 * mocap : 4 * mocap + 4])
        pose = Pose(parent.apply(place), product(parent.rotation, matrices(turn)))
        for joint in range(first, first + count):
            pose = self._moved(pose, joint)
        return pose

    def _moved(self, pose: Pose, joint: int) -> Pose:
        """A body's pose after one more of its joints."""
        start, kind = int(self._model.jnt_qposadr[joint]), self._model.jnt_type[joint]
        axis = self._field("jnt_axis", joint)
        travel = self._qpos[start] - self._field("qpos0", start)[0]
        if kind == mujoco.mjtJoint.mjJNT_SLIDE:
            return Pose(pose.position + rotated(pose.rotation, axis) * travel, pose.rotation)
        if kind == mujoco.mjtJoint.mjJNT_HINGE:
            rotation = _turned(pose.rotation, axis, travel)
        else:
            quaternion = _normalized(self._qpos[start : start + 4])
            rotation = product(pose.rotation, matrices(quaternion))
        anchor = self._field("jnt_pos", joint)
        if not anchor.any():
            return Pose(pose.position, rotation)
        return Pose(pose.apply(anchor) - rotated(rotation, anchor), rotation)

    def _field(self, name: str, index: int) -> Floats:
        """Numbers of one element, ``(k, N)``, or ``(k, 1)`` if all versions have the same."""
        values = self._fields[name][:, index].reshape(len(self._fields[name]), -1)
        if (values == values[0]).all():
            return np.asarray(values[:1].T)
        return np.asarray(values[self._version].T)


def computable(fields: Mapping[str, Floats]) -> bool:
    """Whether :class:`BatchPoses` can take these fields: quaternions and axes have length one.

    Compiled models do; an override may hold anything, and MuJoCo then scales by that length.
    """
    return all(
        bool((np.abs((fields[name] ** 2).sum(axis=-1) - 1) < _UNIT).all())
        for name in ("body_quat", "site_quat", "jnt_axis")
    )


def rotated(rotation: Floats, vector: Floats) -> Floats:
    """Rotate vectors ``(3,)`` or ``(3, N)`` by matrices ``(3, 3, N)``; gives ``(3, N)``."""
    if vector.ndim == 1:
        vector = vector[:, None]
    turned: Floats = rotation[:, 0] * vector[0] + rotation[:, 1] * vector[1] + rotation[:, 2] * vector[2]
    return turned


def product(first: Floats, second: Floats) -> Floats:
    """Matrix products, ``(3, 3, N)`` or ``(3, 3, 1)`` each."""
    if second.shape[2] == 1 and (second[:, :, 0] == _IDENTITY).all():
        return first
    result = np.empty((3, 3, first.shape[2] if second.shape[2] == 1 else second.shape[2]))
    for row, out in zip(first, result, strict=True):
        np.multiply(row[0], second[0], out=out)
        out += row[1] * second[1]
        out += row[2] * second[2]
    return result


def _turned(rotation: Floats, axis: Floats, angle: Floats) -> Floats:
    """Rotations turned about an axis of their own frame, the axis ``(3, N)`` or ``(3, 1)``."""
    sine, cosine = np.sin(angle), np.cos(angle)
    along = np.flatnonzero(axis.any(axis=1))
    if along.size == 1 and axis.shape[1] == 1:  # nearly every joint: two columns turn in their plane
        third = int(along[0])
        first, second = (third + 1) % 3, (third + 2) % 3
        sine = sine * axis[third, 0]
        turned = np.empty((3, 3, len(angle)))
        turned[:, third] = rotation[:, third]
        turned[:, first] = cosine * rotation[:, first] + sine * rotation[:, second]
        turned[:, second] = cosine * rotation[:, second] - sine * rotation[:, first]
        return turned
    x, y, z = axis
    zero = np.zeros_like(x)
    cross = np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]])
    sideways = product(rotation, cross)  # Rodrigues' formula
    return np.asarray(rotation + sine * sideways + (1 - cosine) * product(sideways, cross))


def _normalized(quaternion: Floats) -> Floats:
    """Quaternions ``(4, N)`` of length one; those that are within rounding stay, as in MuJoCo."""
    length = np.sqrt((quaternion * quaternion).sum(axis=0))
    return np.asarray(quaternion * np.where(np.abs(length - 1) > mujoco.mjMINVAL, 1 / length, 1.0))


def matrices(quaternion: Floats) -> Floats:
    """Rotation matrices ``(3, 3, N)`` of unit quaternions ``(4, N)``."""
    w, x, y, z = quaternion
    ww, xx, yy, zz = w * w, x * x, y * y, z * z
    return np.array(
        [
            [ww + xx - yy - zz, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), ww - xx + yy - zz, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), ww - xx - yy + zz],
        ]
    )
