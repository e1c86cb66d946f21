"""Poses of bodies and sites in many states.

This is MuJoCo's ``mj_kinematics`` for the bodies that are asked about and those that carry them, and for
no others. Positions of free bodies are the recorded numbers themselves. All else equals MuJoCo's result to
rounding, not to the last bit; where that could decide an answer,
:meth:`mango_trace.signals.base.Signals.exact_pose` is asked.

Source: MuJoCo's documentation of forward kinematics and the definition of its joint types.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple, Protocol, TypeAlias

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.jit import Axes, inner, loop
from mango_trace.signals.base import Floats

POSE_FIELDS: Final = ("body_pos", "body_quat", "site_pos", "site_quat", "jnt_pos", "jnt_axis", "qpos0")
"""Fields of the model that poses depend on, beside its structure."""

_Vector: TypeAlias = tuple[float, float, float]
_Quaternion: TypeAlias = tuple[float, float, float, float]

_Numbers: TypeAlias = npt.NDArray[np.intp]
_Column: TypeAlias = Annotated[_Numbers, Axes(1)]
_Table: TypeAlias = Annotated[Floats, Axes(2)]
_Stack: TypeAlias = Annotated[Floats, Axes(3)]

_NONE: Final = np.zeros(0, dtype=np.intp)
_UNIT: Final = 1e-9  # how far from 1 the length of a quaternion or an axis may be
_FREE: Final = int(mujoco.mjtJoint.mjJNT_FREE)
_BALL: Final = int(mujoco.mjtJoint.mjJNT_BALL)
_SLIDE: Final = int(mujoco.mjtJoint.mjJNT_SLIDE)
_SMALLEST: Final = float(mujoco.mjMINVAL)


@dataclass(frozen=True, slots=True)
class Pose:
    """A frame in ``N`` states; what is the same in all of them has one row instead of ``N``.

    Attributes:
        position: Origin in the world, ``(N, 3)`` m.
        rotation: Rotation from the frame to the world, ``(N, 3, 3)``.
    """

    position: Floats
    rotation: Floats

    def apply(self, point: Floats) -> Floats:
        """World position of a point ``(3,)`` of the frame, ``(N, 3)``."""
        return np.asarray(self.position + self.rotation @ point)


class Poses(Protocol):
    """Where bodies and sites are."""

    def body(self, index: int) -> Pose:
        """Pose of a body."""

    def site(self, index: int) -> Pose:
        """Pose of a site."""


class _Links(NamedTuple):
    """A chain of frames, each fixed in the one before, then moved by joints.

    ``V`` versions of the model, ``L`` links, ``J`` joints of all of them in order.
    """

    place: _Stack
    """Origins, ``(V, L, 3)`` m."""
    turn: _Stack
    """Quaternions, ``(V, L, 4)``."""
    mocap: _Column
    """Number of the mocap body that a link is, or -1, ``(L,)``."""
    joints: _Column
    """How many joints each link has, ``(L,)``."""
    kind: _Column
    """MuJoCo's type of each joint, ``(J,)``."""
    start: _Column
    """Where each joint starts in ``qpos``, ``(J,)``."""
    axis: _Stack
    """Axes, ``(V, J, 3)``."""
    anchor: _Stack
    """Points that joints turn about, ``(V, J, 3)`` m."""
    zero: _Table
    """``qpos`` at which a hinge or slide has not moved, ``(V, J)``."""


class BatchPoses:
    """Poses that are computed when they are asked for, each once.

    Args:
        model: The model; its structure is read, the fields come from ``fields``.
        qpos: Positions, ``(N, nq)``.
        mocap: Positions ``(N, 3 * nmocap)`` and wxyz quaternions ``(N, 4 * nmocap)`` of mocap bodies, or
            ``None``.
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
        self._model, self._version = model, version
        self._qpos = np.ascontiguousarray(qpos)
        self._has_mocap = mocap is not None
        positions, quaternions = mocap or (np.zeros((0, 0)), np.zeros((0, 0)))
        self._mocap = np.ascontiguousarray(positions), np.ascontiguousarray(quaternions)
        self._fields = {name: np.stack([one[name] for one in fields]) for name in POSE_FIELDS}
        self._bodies: dict[int, Pose] = {0: Pose(np.zeros((1, 3)), np.eye(3)[None])}
        self._sites: dict[int, Pose] = {}
        # Several things hang on these, so they are kept when they are passed on the way.
        children = np.bincount(model.body_parentid[1:], minlength=model.nbody)
        self._branching = frozenset(np.flatnonzero(children > 1).tolist())

    def body(self, index: int) -> Pose:
        """Pose of a body."""
        if index not in self._bodies:
            self._bodies[index] = self._find_body(index)
        return self._bodies[index]

    def site(self, index: int) -> Pose:
        """Pose of a site."""
        if index not in self._sites:
            carrier, number = int(self._model.site_bodyid[index]), np.array([index])
            links = self._links(("site_pos", "site_quat"), number, np.array([-1]), np.array([0]), _NONE)
            self._sites[index] = self._follow(self.body(carrier), links)
        return self._sites[index]

    def _find_body(self, index: int) -> Pose:
        model, chain = self._model, [index]
        if self._is_free(index):
            start = int(model.jnt_qposadr[model.body_jntadr[index]])
            rotation = np.empty((len(self._qpos), 3, 3))
            _matrices(self._qpos, start + 3, rotation)
            return Pose(self._qpos[:, start : start + 3].copy(), rotation)
        parent = int(model.body_parentid[index])
        while parent not in self._bodies and parent not in self._branching and not self._is_free(parent):
            chain.append(parent)
            parent = int(model.body_parentid[parent])
        bodies = np.array(chain[::-1])
        counts = model.body_jntnum[bodies]
        joints = np.concatenate(
            [first + np.arange(count) for first, count in zip(model.body_jntadr[bodies], counts, strict=True)]
        )
        mocap = model.body_mocapid[bodies] if self._has_mocap else np.full(len(bodies), -1)
        links = self._links(("body_pos", "body_quat"), bodies, mocap, counts, joints.astype(np.intp))
        return self._follow(self.body(parent), links)

    def _links(
        self, names: tuple[str, str], frames: _Numbers, mocap: _Numbers, counts: _Numbers, joints: _Numbers
    ) -> _Links:
        fields, start = self._fields, self._model.jnt_qposadr[joints].astype(np.intp)
        return _Links(
            np.take(fields[names[0]], frames, axis=1),  # unlike indexing it always gives the same layout
            np.take(fields[names[1]], frames, axis=1),
            mocap.astype(np.intp),
            counts.astype(np.intp),
            self._model.jnt_type[joints].astype(np.intp),
            start,
            np.take(fields["jnt_axis"], joints, axis=1),
            np.take(fields["jnt_pos"], joints, axis=1),
            np.take(fields["qpos0"], start, axis=1),
        )

    def _is_free(self, body: int) -> bool:
        joint = int(self._model.body_jntadr[body])
        return joint >= 0 and int(self._model.jnt_type[joint]) == _FREE

    def _follow(self, carrier: Pose, links: _Links) -> Pose:
        """Pose of the last link of a chain; one row if nothing in it moves."""
        moves = len(carrier.position) > 1 or len(links.kind) or (links.mocap >= 0).any()
        alike = all((values == values[:1]).all() for values in (links.place, links.turn))
        rows = slice(None) if moves or not alike else slice(1)
        qpos = self._qpos[rows]
        pose = Pose(np.empty((len(qpos), 3)), np.empty((len(qpos), 3, 3)))
        _end_of_chain(
            qpos,
            self._mocap[0][rows],
            self._mocap[1][rows],
            self._version[rows],
            carrier.position,
            carrier.rotation,
            links,
            pose.position,
            pose.rotation,
        )
        return pose


def computable(fields: Mapping[str, Floats]) -> bool:
    """Whether :class:`BatchPoses` can take these fields: quaternions and axes have length one.

    Compiled models do; an override may hold anything, and MuJoCo then scales by that length.
    """
    return all(
        bool((np.abs((fields[name] ** 2).sum(axis=-1) - 1) < _UNIT).all())
        for name in ("body_quat", "site_quat", "jnt_axis")
    )


@loop
def _end_of_chain(
    qpos: _Table,
    mocap_pos: _Table,
    mocap_quat: _Table,
    version: _Column,
    carrier_pos: _Table,
    carrier_rot: _Stack,
    links: _Links,
    position: Annotated[Floats, Axes(2, written=True)],
    rotation: Annotated[Floats, Axes(3, written=True)],
) -> None:
    """Positions ``(N, 3)`` and rotations ``(N, 3, 3)`` of the end of a chain that hangs on a carrier."""
    place, turn, mocap, joints, kinds, starts, axes, anchors, zeros = links
    for state in range(len(qpos)):
        v = version[state]
        px, py, pz = 0.0, 0.0, 0.0
        quat = (1.0, 0.0, 0.0, 0.0)
        joint = 0
        for link in range(len(joints)):
            guided = mocap[link]
            if guided >= 0:
                dx, dy, dz = _rotate(quat, _three(mocap_pos, state, 3 * guided))
                local = _normalize(_four(mocap_quat, state, 4 * guided))
            else:
                dx, dy, dz = _rotate(quat, _of_link(place, v, link))
                local = (turn[v, link, 0], turn[v, link, 1], turn[v, link, 2], turn[v, link, 3])
            px, py, pz = px + dx, py + dy, pz + dz
            quat = _multiply(quat, local)
            for _ in range(joints[link]):
                first, kind = starts[joint], kinds[joint]
                axis = _of_link(axes, v, joint)
                travel = qpos[state, first] - zeros[v, joint]
                if kind == _SLIDE:
                    dx, dy, dz = _rotate(quat, axis)
                    px, py, pz = px + dx * travel, py + dy * travel, pz + dz * travel
                else:
                    anchor = _of_link(anchors, v, joint)
                    if kind == _BALL:
                        local = _normalize(_four(qpos, state, first))
                    else:
                        sine = math.sin(0.5 * travel)
                        local = (math.cos(0.5 * travel), axis[0] * sine, axis[1] * sine, axis[2] * sine)
                    dx, dy, dz = _rotate(quat, anchor)
                    px, py, pz = px + dx, py + dy, pz + dz
                    quat = _multiply(quat, local)
                    dx, dy, dz = _rotate(quat, anchor)
                    px, py, pz = px - dx, py - dy, pz - dz
                joint += 1
            quat = _normalize(quat)
        base = state if len(carrier_pos) > 1 else 0
        a, b, c, d, e, f, g, h, i = _matrix(quat)
        for row in range(3):
            x, y, z = carrier_rot[base, row, 0], carrier_rot[base, row, 1], carrier_rot[base, row, 2]
            position[state, row] = carrier_pos[base, row] + (x * px + y * py + z * pz)
            rotation[state, row, 0] = x * a + y * d + z * g
            rotation[state, row, 1] = x * b + y * e + z * h
            rotation[state, row, 2] = x * c + y * f + z * i


@loop
def _matrices(values: _Table, start: int, matrices: Annotated[Floats, Axes(3, written=True)]) -> None:
    """Rotation matrices ``(N, 3, 3)`` of the quaternions in four columns of some values."""
    for row in range(len(values)):
        numbers = _matrix(_normalize(_four(values, row, start)))
        for index in range(9):
            matrices[row, index // 3, index % 3] = numbers[index]


@inner
def _three(values: Floats, row: int, start: int) -> _Vector:
    return values[row, start], values[row, start + 1], values[row, start + 2]


@inner
def _four(values: Floats, row: int, start: int) -> _Quaternion:
    return values[row, start], values[row, start + 1], values[row, start + 2], values[row, start + 3]


@inner
def _of_link(values: Floats, version: int, link: int) -> _Vector:
    return values[version, link, 0], values[version, link, 1], values[version, link, 2]


@inner
def _normalize(quat: _Quaternion) -> _Quaternion:
    """Give a quaternion length one; within rounding of it, it stays, as in MuJoCo."""
    w, x, y, z = quat
    length = math.sqrt(w * w + x * x + y * y + z * z)
    if length < _SMALLEST:
        return 1.0, 0.0, 0.0, 0.0
    if abs(length - 1) > _SMALLEST:
        return w / length, x / length, y / length, z / length
    return quat


@inner
def _multiply(quat: _Quaternion, other: _Quaternion) -> _Quaternion:
    w, x, y, z = quat
    a, b, c, d = other
    return (
        w * a - x * b - y * c - z * d,
        w * b + x * a + y * d - z * c,
        w * c - x * d + y * a + z * b,
        w * d + x * c - y * b + z * a,
    )


@inner
def _rotate(quat: _Quaternion, vector: _Vector) -> _Vector:
    """Rotate a vector by a unit quaternion."""
    w, x, y, z = quat
    a, b, c = vector
    p, q, r = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return a + w * p + y * r - z * q, b + w * q + z * p - x * r, c + w * r + x * q - y * p


@inner
def _matrix(quat: _Quaternion) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Rotation matrix of a unit quaternion, by rows."""
    w, x, y, z = quat
    ww, xx, yy, zz = w * w, x * x, y * y, z * z
    return (
        *(ww + xx - yy - zz, 2 * (x * y - w * z), 2 * (x * z + w * y)),
        *(2 * (x * y + w * z), ww - xx + yy - zz, 2 * (y * z - w * x)),
        *(2 * (x * z - w * y), 2 * (y * z + w * x), ww - xx - yy + zz),
    )
