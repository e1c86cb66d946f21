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
from typing import Annotated, Final, TypeAlias

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.jit import Axes, inlined, inner, loop
from mango_trace.signals.base import Floats
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
_PRECISION: Final = 1e-14
"""Rounding in a product of lengths and directions, as a share of the lengths."""
_TOLERANCES: Final = 10
"""Smallest gap at which other shapes are apart, in tolerances of MuJoCo's iterative algorithms."""
_PARALLEL: Final = 1e-6
"""Sine between two edges below which their cross product is left out: face axes see the gap then."""

_Vector: TypeAlias = tuple[float, float, float]
_Matrix: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]
"""By rows."""
_Positions: TypeAlias = Annotated[Floats, Axes(2)]
_Rotations: TypeAlias = Annotated[Floats, Axes(3)]


def bounds_meet(first: Shapes, second: Shapes, poses: tuple[Pose, Pose], asked: Mask) -> Mask:
    """States in which what encloses the geoms of two bodies meets: a superset of those with a contact.

    Args:
        first: Geoms of one body.
        second: Geoms of the other.
        poses: Poses of the two bodies.
        asked: States to look at, ``(T,)``.
    """
    outcome = np.zeros(len(asked), dtype=np.int8)
    _look(first, second, poses, asked, outcome, closely=False, tolerance=0.0)
    return np.asarray(outcome != APART)


def overlap(
    first: Shapes,
    second: Shapes,
    poses: tuple[Pose, Pose],
    asked: Mask,
    outcome: Outcomes,
    tolerance: float,
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
        tolerance: Of MuJoCo's iterative algorithms (``opt.ccd_tolerance``), m.
    """
    _look(first, second, poses, asked, outcome, closely=True, tolerance=tolerance)


def _look(
    first: Shapes,
    second: Shapes,
    poses: tuple[Pose, Pose],
    asked: Mask,
    outcome: Outcomes,
    *,
    closely: bool,
    tolerance: float,
) -> None:
    """Update outcomes; not ``closely``, they are open wherever bounds meet."""
    position_1, rotation_1, position_2, rotation_2 = (
        np.ascontiguousarray(values) for pose in poses for values in (pose.position, pose.rotation)
    )
    n_1, n_2 = len(first.kind), len(second.kind)
    _compare(
        position_1,
        rotation_1,
        position_2,
        rotation_2,
        first,
        second,
        asked,
        outcome,
        closely,
        FINDS_ALL,
        _TOLERANCES * tolerance,
        np.empty((n_2, 3)),
        np.full((n_1, n_2), -1),
    )


@loop
def _compare(
    position_1: _Positions,
    rotation_1: _Rotations,
    position_2: _Positions,
    rotation_2: _Rotations,
    first: Shapes,
    second: Shapes,
    asked: Annotated[Mask, Axes(1)],
    outcome: Annotated[Outcomes, Axes(1, written=True)],
    closely: bool,
    finds_all: bool,
    sure: float,
    places: Annotated[Floats, Axes(2, written=True)],
    faces: Annotated[npt.NDArray[np.intp], Axes(2, written=True)],
) -> None:
    """Update outcomes.

    ``places`` has room for the middles of the second's geoms in the frame of the first body, ``faces`` for
    each pair of geoms -1.
    """
    center_1, center_2 = _whole(first.center), _whole(second.center)
    bounds_1, bounds_2 = _whole(first.half), _whole(second.half)
    reach = (first.radius + second.radius) ** 2
    finite = not math.isinf(reach)
    decisive = _has_box(first) and _has_box(second)
    last_1, last_2 = -1, -1
    for state in range(len(asked)):
        if not asked[state] or outcome[state] == TOUCHING:
            continue
        at_1 = state if len(position_1) > 1 else 0
        at_2 = state if len(position_2) > 1 else 0
        world_1, world_2 = _nine(rotation_1, at_1), _nine(rotation_2, at_2)
        away = _difference(_three(position_2, at_2), _three(position_1, at_1))
        between = _difference(_turned(world_2, center_2), _turned(world_1, center_1))
        if _square(_sum(away, between)) > reach:
            continue
        back = _transposed(world_1)
        offset = _turned(back, away)
        turn = _product(back, world_2)  # from the second body to the first
        center = _difference(_sum(_turned(turn, center_2), offset), center_1)
        if finite and _face_gap(center, turn, bounds_1, bounds_2) > 0:
            continue
        if not closely:
            outcome[state] = OPEN
            continue
        if last_1 >= 0:  # what touched a moment ago decides most states of a grasp
            place = _sum(_turned(turn, _three(second.middle, last_2)), offset)
            if _pair(first, second, last_1, last_2, turn, place, faces, finds_all, sure) == TOUCHING:
                outcome[state] = TOUCHING
                continue
        for other in range(len(second.kind)):
            x, y, z = _sum(_turned(turn, _three(second.middle, other)), offset)
            places[other, 0], places[other, 1], places[other, 2] = x, y, z
        found = APART
        for one in range(len(first.kind)):
            if found == TOUCHING or (found == OPEN and not decisive):
                break
            for other in range(len(second.kind)):
                answer = _pair(first, second, one, other, turn, _three(places, other), faces, finds_all, sure)
                if answer == TOUCHING:
                    found, last_1, last_2 = TOUCHING, one, other
                    break
                if answer == OPEN:
                    found = OPEN
        if found != APART:
            outcome[state] = found


@inner
def _has_box(shapes: Shapes) -> bool:
    for kind in shapes.kind:  # noqa: SIM110  what is compiled knows no generators
        if kind == BOX:
            return True
    return False


@inlined
def _pair(
    first: Shapes,
    second: Shapes,
    one: int,
    other: int,
    turn: _Matrix,
    place: _Vector,
    faces: npt.NDArray[np.intp],
    finds_all: bool,
    sure: float,
) -> int:
    """What is certain about two geoms.

    ``place`` is the middle of the second in the frame of the first body. ``faces`` keeps for each pair the
    face of a hull that last showed a gap, which is tried first.
    """
    kind_1, kind_2 = first.kind[one], second.kind[other]
    if kind_1 == ENDLESS or kind_2 == ENDLESS:
        return OPEN
    away = _difference(place, _three(first.middle, one))
    reach = first.reach[one] + second.reach[other] + sure
    if _square(away) > reach * reach:
        return APART
    half_1, half_2 = _three(first.size, one), _three(second.size, other)
    back = _transposed(_nine(first.turn, one))
    center = _turned(back, away)
    if _outside(center, half_1) > (second.reach[other] + sure) ** 2:
        return APART
    turn_2 = _nine(second.turn, other)
    seen = _turned(_transposed(turn_2), _turned(_transposed(turn), away))
    if _outside(seen, half_2) > (first.reach[one] + sure) ** 2:
        return APART
    rotation = _product(_product(back, turn), turn_2)
    gap = _face_gap(center, rotation, half_1, half_2)
    if kind_1 == BOX and kind_2 == BOX:
        if gap > _ROUNDING:
            return APART
        gap = max(gap, _edge_gap(center, rotation, half_1, half_2))
        if gap > _ROUNDING:
            return APART
        return TOUCHING if finds_all and gap < -_ROUNDING else OPEN
    if gap > sure:
        return APART
    if kind_1 == HULL:
        face = _parting_face(first, one, center, rotation, half_2, faces[one, other], sure)
        faces[one, other] = face
        if face >= 0:
            return APART
    if kind_2 == HULL:
        inverse = _transposed(rotation)
        opposite = _difference((0.0, 0.0, 0.0), _turned(inverse, center))
        known = faces[one, other] if kind_1 != HULL else -1
        face = _parting_face(second, other, opposite, inverse, half_1, known, sure)
        if kind_1 != HULL:
            faces[one, other] = face
        if face >= 0:
            return APART
    return OPEN


@inner
def _outside(point: _Vector, half: _Vector) -> float:
    """Square of the distance from a point to a box around the origin, m^2."""
    x, y, z = (
        max(abs(point[0]) - half[0], 0.0),
        max(abs(point[1]) - half[1], 0.0),
        max(abs(point[2]) - half[2], 0.0),
    )
    return x * x + y * y + z * z


@inner
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


@inner
def _edge_gap(center: _Vector, rotation: _Matrix, half_1: _Vector, half_2: _Vector) -> float:
    """Widest gap that the cross product of an edge of each box shows, m; the first one that shows any.

    It is taken nearer to zero by what rounding may be off: nearly parallel edges make a short product.
    """
    gap = -math.inf
    length = 1.0 + abs(center[0]) + abs(center[1]) + abs(center[2])
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for m in range(3):
            n, o = (m + 1) % 3, (m + 2) % 3
            sine = math.sqrt(max(1 - rotation[3 * i + m] ** 2, 0.0))
            if sine > _PARALLEL:
                distance = abs(rotation[3 * j + m] * center[k] - rotation[3 * k + m] * center[j])
                shadow = half_1[j] * abs(rotation[3 * k + m]) + half_1[k] * abs(rotation[3 * j + m])
                shadow += half_2[n] * abs(rotation[3 * i + o]) + half_2[o] * abs(rotation[3 * i + n])
                shown, off = (distance - shadow) / sine, _PRECISION * length / sine
                gap = max(gap, max(shown - off, 0.0) if shown > 0 else min(shown + off, 0.0))
                if gap > _ROUNDING:
                    return gap
    return gap


@inlined
def _parting_face(
    shapes: Shapes, hull: int, center: _Vector, rotation: _Matrix, half: _Vector, known: int, sure: float
) -> int:
    """A face of a hull, or of a box behind its faces, that shows a gap between the two; -1 if none does.

    ``center``, ``rotation`` and ``half`` are those of the box, in the frame of the hull; ``known`` is the
    face that is tried first, -1 for none.
    """
    n_faces = shapes.normal_start[hull + 1] - shapes.normal_start[hull]
    if known >= 0 and _gap_at(shapes, hull, center, rotation, half, known) > sure:
        return known
    for face in range(n_faces + 3):
        if _gap_at(shapes, hull, center, rotation, half, face) > sure:
            return face
    return -1


@inlined
def _gap_at(shapes: Shapes, hull: int, center: _Vector, rotation: _Matrix, half: _Vector, face: int) -> float:
    """Gap between a hull and a box that one face of the hull shows, or of the three axes of the box, m."""
    x, y, z = center
    start = shapes.normal_start[hull]
    n_faces = shapes.normal_start[hull + 1] - start
    if face < n_faces:
        a, b, c, d, e, f, g, h, i = rotation
        p, q, r = _three(shapes.normal, start + face)
        shadow = abs(p * a + q * d + r * g) * half[0]
        shadow += abs(p * b + q * e + r * h) * half[1]
        shadow += abs(p * c + q * f + r * i) * half[2]
        return float(p * x + q * y + r * z - shapes.height[start + face] - shadow)
    axis = face - n_faces
    p, q, r = rotation[axis], rotation[3 + axis], rotation[6 + axis]
    low, high = math.inf, -math.inf
    for corner in range(shapes.corner_start[hull], shapes.corner_start[hull + 1]):
        u, v, w = _three(shapes.corner, corner)
        along = p * (u - x) + q * (v - y) + r * (w - z)
        low, high = min(low, along), max(high, along)
    return float(max(low, -high) - half[axis])


@inner
def _whole(values: Floats) -> _Vector:
    return values[0], values[1], values[2]


@inner
def _three(values: Floats, row: int) -> _Vector:
    return values[row, 0], values[row, 1], values[row, 2]


@inner
def _nine(values: Floats, index: int) -> _Matrix:
    return (
        *(values[index, 0, 0], values[index, 0, 1], values[index, 0, 2]),
        *(values[index, 1, 0], values[index, 1, 1], values[index, 1, 2]),
        *(values[index, 2, 0], values[index, 2, 1], values[index, 2, 2]),
    )


@inner
def _sum(first: _Vector, second: _Vector) -> _Vector:
    return first[0] + second[0], first[1] + second[1], first[2] + second[2]


@inner
def _difference(first: _Vector, second: _Vector) -> _Vector:
    return first[0] - second[0], first[1] - second[1], first[2] - second[2]


@inner
def _square(vector: _Vector) -> float:
    x, y, z = vector
    return x * x + y * y + z * z


@inner
def _transposed(matrix: _Matrix) -> _Matrix:
    a, b, c, d, e, f, g, h, i = matrix
    return a, d, g, b, e, h, c, f, i


@inner
def _turned(matrix: _Matrix, vector: _Vector) -> _Vector:
    a, b, c, d, e, f, g, h, i = matrix
    x, y, z = vector
    return a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z


@inner
def _product(first: _Matrix, second: _Matrix) -> _Matrix:
    a, b, c, d, e, f, g, h, i = first
    j, k, s, m, n, o, p, q, r = second
    return (
        *(a * j + b * m + c * p, a * k + b * n + c * q, a * s + b * o + c * r),
        *(d * j + e * m + f * p, d * k + e * n + f * q, d * s + e * o + f * r),
        *(g * j + h * m + i * p, g * k + h * n + i * q, g * s + h * o + i * r),
    )
