"""Whether geoms of two bodies overlap, decided without MuJoCo where that is certain.

Two convex shapes are apart where some direction shows a gap between their shadows. For two boxes fifteen
directions are enough: those of their faces and the cross products of their edges (separating axis
theorem); when none shows a gap they overlap. Since 3.12 MuJoCo reports a contact of two boxes without
margins exactly then; the tests compare both on random and on recorded configurations. Older versions miss
some of the deep overlaps. Of other shapes it is only told when they are apart: by the boxes around them
and by the faces of the hulls of meshes. What is left open, MuJoCo itself is asked.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.signals.base import Floats
from mango_trace.signals.compiled import compiled
from mango_trace.signals.poses import Pose
from mango_trace.signals.shapes import BOX, ENDLESS, HULL, Shapes
from mango_trace.truth import Mask

Outcomes: TypeAlias = npt.NDArray[np.int8]

APART: Final = 0
TOUCHING: Final = 1
OPEN: Final = 2

FINDS_ALL: Final = mujoco.mj_version() >= 3_012_000
"""Whether MuJoCo finds every overlap of two boxes."""

_ROUNDING: Final = 1e-10
"""Gap or overlap of boxes below which nothing is decided, m. Rounding in it is below 1e-12."""
_SURE: Final = 1e-6
"""Smallest gap at which other shapes are apart, m: what MuJoCo's iterative algorithms may be off."""
_PARALLEL: Final = 1e-6
"""Sine between two edges below which their cross product is left out: face axes see the gap then."""

_Vector: TypeAlias = tuple[float, float, float]
_Matrix: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]
"""By rows."""


def bounds_meet(first: Shapes, second: Shapes, poses: tuple[Pose, Pose], asked: Mask) -> Mask:
    """States in which what encloses the geoms of two bodies meets: a superset of those with a contact.

    Args:
        first: Geoms of one body.
        second: Geoms of the other.
        poses: Poses of the two bodies.
        asked: States to look at, ``(T,)``.
    """
    outcome = np.zeros(len(asked), dtype=np.int8)
    _compare(_arrays(poses[0]), _arrays(poses[1]), first, second, asked, outcome, False, False)
    return np.asarray(outcome != APART)


def overlap(
    first: Shapes,
    second: Shapes,
    poses: tuple[Pose, Pose],
    asked: Mask,
    outcome: Outcomes,
) -> None:
    """Tell in which states the geoms of two bodies touch.

    Args:
        first: Geoms of one body, of which no margin, no pair and no filter matters
            (:func:`mango_trace.signals.shapes.comparable`).
        second: Geoms of the other.
        poses: Poses of the two bodies.
        asked: States to look at, ``(T,)``.
        outcome: What is known from other bodies, ``(T,)``; is made :data:`TOUCHING` where some geoms touch
            for certain, else :data:`OPEN` where MuJoCo must tell.
    """
    _compare(_arrays(poses[0]), _arrays(poses[1]), first, second, asked, outcome, True, FINDS_ALL)


def _arrays(pose: Pose) -> tuple[Floats, Floats]:
    """Position and rotation, always in one memory layout, or the loop is compiled again."""
    return np.ascontiguousarray(pose.position), np.ascontiguousarray(pose.rotation)


@compiled
def _compare(
    pose_1: tuple[Floats, Floats],
    pose_2: tuple[Floats, Floats],
    first: Shapes,
    second: Shapes,
    asked: Mask,
    outcome: Outcomes,
    closely: bool,
    finds_all: bool,
) -> None:
    """Update outcomes; not ``closely``, they are open wherever bounds meet."""
    position_1, rotation_1 = pose_1
    position_2, rotation_2 = pose_2
    places = np.empty((len(second.kind), 3))
    last_1, last_2 = -1, -1
    for state in range(len(asked)):
        if not asked[state] or outcome[state] == TOUCHING:
            continue
        at_1 = state if len(position_1) > 1 else 0
        at_2 = state if len(position_2) > 1 else 0
        dx = position_2[at_2, 0] - position_1[at_1, 0]
        dy = position_2[at_2, 1] - position_1[at_1, 1]
        dz = position_2[at_2, 2] - position_1[at_1, 2]
        back = _transposed(_nine(rotation_1[at_1]))
        offset = _turned(back, (dx, dy, dz))
        turn = _product(back, _nine(rotation_2[at_2]))  # from the second body to the first
        if not _bounds_meet(first, second, turn, offset):
            continue
        if not closely:
            outcome[state] = OPEN
            continue
        for other in range(len(second.kind)):
            x, y, z = _turned(turn, _three(second.middle[other]))
            places[other, 0], places[other, 1], places[other, 2] = x + offset[0], y + offset[1], z + offset[2]
        found = APART
        if last_1 >= 0:  # what touched a moment ago decides most states of a grasp
            found = _pair(first, second, last_1, last_2, turn, _three(places[last_2]), finds_all)
        for one in range(len(first.kind)):
            if found == TOUCHING:
                break
            for other in range(len(second.kind)):
                answer = _pair(first, second, one, other, turn, _three(places[other]), finds_all)
                if answer == TOUCHING:
                    found, last_1, last_2 = TOUCHING, one, other
                    break
                if answer == OPEN:
                    found = OPEN
        if found != APART:
            outcome[state] = found


@compiled
def _bounds_meet(first: Shapes, second: Shapes, turn: _Matrix, offset: _Vector) -> bool:
    """Whether spheres and boxes around all geoms of two bodies meet."""
    if math.isinf(first.radius) or math.isinf(second.radius):
        return True
    x, y, z = _turned(turn, _three(second.center))
    x, y, z = (
        x + offset[0] - first.center[0],
        y + offset[1] - first.center[1],
        z + offset[2] - first.center[2],
    )
    reach = first.radius + second.radius
    if x * x + y * y + z * z > reach * reach:
        return False
    return _face_gap((x, y, z), turn, _three(first.half), _three(second.half)) <= 0


@compiled
def _pair(
    first: Shapes, second: Shapes, one: int, other: int, turn: _Matrix, place: _Vector, finds_all: bool
) -> int:
    """What is certain about two geoms; ``place``: middle of the second in the frame of the first body."""
    kind_1, kind_2 = first.kind[one], second.kind[other]
    if kind_1 == ENDLESS or kind_2 == ENDLESS:
        return OPEN
    half_1, half_2 = _three(first.size[one]), _three(second.size[other])
    x, y, z = (
        place[0] - first.middle[one, 0],
        place[1] - first.middle[one, 1],
        place[2] - first.middle[one, 2],
    )
    reach = math.sqrt(_square(half_1)) + math.sqrt(_square(half_2)) + _SURE
    if x * x + y * y + z * z > reach * reach:
        return APART
    back = _transposed(_nine(first.turn[one]))
    center = _turned(back, (x, y, z))
    rotation = _product(_product(back, turn), _nine(second.turn[other]))
    boxes = kind_1 == BOX and kind_2 == BOX
    enough = _ROUNDING if boxes else _SURE
    gap = _face_gap(center, rotation, half_1, half_2)
    if gap > enough:
        return APART
    gap = max(gap, _edge_gap(center, rotation, half_1, half_2, enough))
    if gap > enough:
        return APART
    if boxes:
        return TOUCHING if finds_all and gap < -_ROUNDING else OPEN
    if kind_1 == HULL and _hull_gap(first, one, center, rotation, half_2) > _SURE:
        return APART
    if kind_2 == HULL:
        inverse = _transposed(rotation)
        x, y, z = _turned(inverse, center)
        if _hull_gap(second, other, (-x, -y, -z), inverse, half_1) > _SURE:
            return APART
    return OPEN


@compiled
def _face_gap(center: _Vector, rotation: _Matrix, half_1: _Vector, half_2: _Vector) -> float:
    """Widest gap that a face of two boxes shows, m; ``center`` and ``rotation`` are those of the second."""
    x, y, z = center
    a, b, c, d, e, f, g, h, i = rotation
    p, q, r = half_1
    u, v, w = half_2
    gap = abs(x) - p - (abs(a) * u + abs(b) * v + abs(c) * w)
    gap = max(gap, abs(y) - q - (abs(d) * u + abs(e) * v + abs(f) * w))
    gap = max(gap, abs(z) - r - (abs(g) * u + abs(h) * v + abs(i) * w))
    gap = max(gap, abs(a * x + d * y + g * z) - u - (abs(a) * p + abs(d) * q + abs(g) * r))
    gap = max(gap, abs(b * x + e * y + h * z) - v - (abs(b) * p + abs(e) * q + abs(h) * r))
    return max(gap, abs(c * x + f * y + i * z) - w - (abs(c) * p + abs(f) * q + abs(i) * r))


@compiled
def _edge_gap(center: _Vector, rotation: _Matrix, half_1: _Vector, half_2: _Vector, enough: float) -> float:
    """Widest gap that the cross product of an edge of each box shows, m; the first one over ``enough``."""
    gap = -math.inf
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for m in range(3):
            n, o = (m + 1) % 3, (m + 2) % 3
            sine = math.sqrt(max(1 - rotation[3 * i + m] ** 2, 0.0))
            if sine > _PARALLEL:
                distance = abs(rotation[3 * j + m] * center[k] - rotation[3 * k + m] * center[j])
                shadow = half_1[j] * abs(rotation[3 * k + m]) + half_1[k] * abs(rotation[3 * j + m])
                shadow += half_2[n] * abs(rotation[3 * i + o]) + half_2[o] * abs(rotation[3 * i + n])
                gap = max(gap, (distance - shadow) / sine)
                if gap > enough:
                    return gap
    return gap


@compiled
def _hull_gap(shapes: Shapes, hull: int, center: _Vector, rotation: _Matrix, half: _Vector) -> float:
    """Widest gap that a face of a hull, or of the box at ``center`` with ``rotation``, shows, m."""
    x, y, z = center
    a, b, c, d, e, f, g, h, i = rotation
    gap = -math.inf
    for face in range(shapes.normal_start[hull], shapes.normal_start[hull + 1]):
        p, q, r = _three(shapes.normal[face])
        shadow = abs(p * a + q * d + r * g) * half[0]
        shadow += abs(p * b + q * e + r * h) * half[1]
        shadow += abs(p * c + q * f + r * i) * half[2]
        gap = max(gap, p * x + q * y + r * z - shapes.reach[face] - shadow)
        if gap > _SURE:
            return float(gap)
    for axis in range(3):
        p, q, r = rotation[axis], rotation[3 + axis], rotation[6 + axis]
        low, high = math.inf, -math.inf
        for corner in range(shapes.corner_start[hull], shapes.corner_start[hull + 1]):
            u, v, w = _three(shapes.corner[corner])
            along = p * (u - x) + q * (v - y) + r * (w - z)
            low, high = min(low, along), max(high, along)
        gap = max(gap, max(low, -high) - half[axis])
    return float(gap)


@compiled
def _three(values: Floats) -> _Vector:
    return values[0], values[1], values[2]


@compiled
def _nine(values: Floats) -> _Matrix:
    return (
        *(values[0, 0], values[0, 1], values[0, 2]),
        *(values[1, 0], values[1, 1], values[1, 2]),
        *(values[2, 0], values[2, 1], values[2, 2]),
    )


@compiled
def _square(vector: _Vector) -> float:
    x, y, z = vector
    return x * x + y * y + z * z


@compiled
def _transposed(matrix: _Matrix) -> _Matrix:
    a, b, c, d, e, f, g, h, i = matrix
    return a, d, g, b, e, h, c, f, i


@compiled
def _turned(matrix: _Matrix, vector: _Vector) -> _Vector:
    a, b, c, d, e, f, g, h, i = matrix
    x, y, z = vector
    return a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z


@compiled
def _product(first: _Matrix, second: _Matrix) -> _Matrix:
    a, b, c, d, e, f, g, h, i = first
    j, k, s, m, n, o, p, q, r = second
    return (
        *(a * j + b * m + c * p, a * k + b * n + c * q, a * s + b * o + c * r),
        *(d * j + e * m + f * p, d * k + e * n + f * q, d * s + e * o + f * r),
        *(g * j + h * m + i * p, g * k + h * n + i * q, g * s + h * o + i * r),
    )
