"""Contact between boxes, decided over arrays.

Two boxes are apart by at least what some axis shows between their shadows, and overlap when none of
fifteen axes shows a gap: the directions of their faces and the cross products of their edges
(separating axis theorem). Since 3.12 MuJoCo reports a contact of two boxes without margins exactly
then; the tests compare both on random and on recorded configurations. Older versions miss some of
the deep overlaps. There, and within rounding of touching, the answer is left open, and MuJoCo itself
is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import mujoco
import numpy as np

from mango_trace.signals.base import Floats, Geoms, States
from mango_trace.signals.poses import Pose, Poses, matrices, product, rotated
from mango_trace.truth import Mask

_OPEN: Final = 1e-7
"""Gap or overlap below which nothing is decided, m. Rounding in it is below 1e-12."""
_FINDS_ALL: Final = mujoco.mj_version() >= 3_012_000
_AT_ONCE: Final = 50_000
"""Pairs of boxes, times states, that are looked at together; bounds the memory."""
_GUESS_EVERY: Final = 8
"""For how many states in a row the same pair of boxes is tried first."""
MOST_PAIRS: Final = 160
"""Pairs of boxes from which on a collision pass of MuJoCo is no slower."""
_PARALLEL: Final = 1e-6
"""Sine between two edges below which their cross product is left out: face axes see the gap then."""


@dataclass(frozen=True, slots=True)
class _Boxes:
    """Boxes that one body carries.

    Attributes:
        body: Number of the body.
        center: Their middles in the body's frame, ``(G, 3)`` m.
        rotation: From each box to the body, ``(G, 3, 3)``.
        half: Half extents, ``(G, 3)`` m.
    """

    body: int
    center: Floats
    rotation: Floats
    half: Floats

    @property
    def turned(self) -> bool:
        """Whether the axes of any box differ from those of the body."""
        return bool((self.rotation != np.eye(3)).any())

    @property
    def radius(self) -> Floats:
        """Radii of the spheres around them, ``(G,)`` m."""
        return np.asarray(np.linalg.norm(self.half, axis=1))


def comparable(model: mujoco.MjModel, geoms_1: Geoms, geoms_2: Geoms) -> bool:
    """Whether boxes of two groups touch in MuJoCo just when they overlap: only geometry decides.

    That is so without margins, excluded or predefined pairs, and for things of which each moves
    against the other by joints that are not next to each other in the tree.

    Args:
        model: Model of the scene.
        geoms_1: Geoms of one group; those that are no boxes do not matter here.
        geoms_2: Geoms of the other.
    """
    options = model.opt
    if options.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT or model.nexclude or model.npair:
        return False
    if options.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE or (model.body_mocapid >= 0).any():
        return False
    both = np.concatenate([geoms_1, geoms_2])
    if model.geom_margin[both].any() or model.geom_gap[both].any():
        return False
    type_1, affinity_1 = model.geom_contype[geoms_1], model.geom_conaffinity[geoms_1]
    type_2, affinity_2 = model.geom_contype[geoms_2], model.geom_conaffinity[geoms_2]
    if not ((type_1[:, None] & affinity_2) | (affinity_1[:, None] & type_2)).all():
        return False
    bodies_1, bodies_2 = (np.unique(model.body_weldid[model.geom_bodyid[g]]) for g in (geoms_1, geoms_2))
    parents_1, parents_2 = (model.body_weldid[model.body_parentid[b]] for b in (bodies_1, bodies_2))
    related = (
        (bodies_1[:, None] == bodies_2) | (bodies_1[:, None] == parents_2) | (parents_1[:, None] == bodies_2)
    )  # a parent's contacts with its child are left out, the world's are not: asked of MuJoCo anyway
    world = (bodies_1[:, None] == 0) | (bodies_2 == 0)
    return not (related & ~(world & (bodies_1[:, None] != bodies_2))).any()


def overlap(
    model: mujoco.MjModel, geoms_1: Geoms, geoms_2: Geoms, poses: Poses, states: States
) -> tuple[Mask, Mask]:
    """Decide for some states whether any box of one group overlaps any of the other.

    Args:
        model: Model of the scene.
        geoms_1: Boxes of one group.
        geoms_2: Boxes of the other.
        poses: Where the bodies are.
        states: States to look at, ``(K,)``.

    Returns:
        Where some pair of boxes surely overlaps, and where that is open; each ``(K,)``.
    """
    surely, unclear = np.zeros(len(states), dtype=np.bool_), np.zeros(len(states), dtype=np.bool_)
    for first in _by_body(model, geoms_1):
        for second in _by_body(model, geoms_2):
            step = max(1, _AT_ONCE // (len(first.half) * len(second.half)))
            left = np.flatnonzero(~surely)
            for start in range(0, len(left), step):
                some = left[start : start + step]
                turn, offset = _relative(poses.body(first.body), poses.body(second.body), states[some])
                overlaps, is_open = _overlap(first, second, turn, offset)
                surely[some[overlaps]] = True
                unclear[some[is_open]] = True
    return surely, unclear & ~surely


def _overlap(first: _Boxes, second: _Boxes, turn: Floats, offset: Floats) -> tuple[Mask, Mask]:
    """As :func:`overlap`, for boxes of two bodies, the second in the frame of the first."""
    n_states, n_pairs = offset.shape[1], len(first.half) * len(second.half)
    surely, unclear = np.zeros(n_states, dtype=np.bool_), np.zeros(n_states, dtype=np.bool_)

    def ask(pairs: Geoms, states: States) -> None:
        one, other = np.divmod(pairs, len(second.half))
        rotation = turn[:, :, states]
        center = rotated(rotation, second.center[other].T) + offset[:, states] - first.center[one].T
        if first.turned:
            back = first.rotation[one].transpose(2, 1, 0)
            center, rotation = rotated(back, center), product(back, rotation)
        if second.turned:
            rotation = product(rotation, second.rotation[other].transpose(1, 2, 0))
        gap = separation(center, rotation, first.half[one].T, second.half[other].T)
        if _FINDS_ALL:
            surely[states[gap < -_OPEN]] = True
            unclear[states[np.abs(gap) <= _OPEN]] = True
        else:
            unclear[states[gap <= _OPEN]] = True

    # What was nearest a moment ago decides most states of a grasp, and then no other pair is asked.
    some = np.arange(0, n_states, _GUESS_EVERY)
    nearest = _apart_at_least(first, second, turn[:, :, some], offset[:, some]).argmin(axis=0)
    guess = np.repeat(nearest, _GUESS_EVERY)[:n_states]
    ask(guess, np.arange(n_states))
    left = np.flatnonzero(~surely if _FINDS_ALL else ~unclear)
    if n_pairs > 1 and left.size:
        near = _apart_at_least(first, second, turn[:, :, left], offset[:, left]) <= _OPEN
        near[guess[left], np.arange(len(left))] = False
        pairs, which = near.nonzero()
        ask(pairs, left[which])
    return surely, unclear & ~surely


def _apart_at_least(first: _Boxes, second: _Boxes, turn: Floats, offset: Floats) -> Floats:
    """Lower bounds of the distance of every pair of boxes, ``(G1 * G2, K)`` m, pairs in row order.

    Smaller boxes are enclosed by spheres, larger ones taken as they are.
    """
    if first.radius.max() < second.radius.max():
        back = turn.transpose(1, 0, 2)
        bounds = _to_spheres(second, first, back, -rotated(back, offset)).swapaxes(0, 1)
    else:
        bounds = _to_spheres(first, second, turn, offset)
    return bounds.reshape(len(first.half) * len(second.half), -1)


def _to_spheres(boxes: _Boxes, others: _Boxes, turn: Floats, offset: Floats) -> Floats:
    """Distance from every box to the sphere around every other one, ``(G1, G2, K)`` m."""
    centers = rotated(turn[:, :, None], others.center.T[:, :, None]) + offset[:, None]  # (3, G2, K)
    away = centers[:, None] - boxes.center.T[:, :, None, None]
    local = rotated(boxes.rotation.transpose(2, 1, 0)[..., None, None], away)  # (3, G1, G2, K)
    np.abs(local, out=local)
    local -= boxes.half.T[:, :, None, None]
    np.maximum(local, 0.0, out=local)
    local *= local
    return np.asarray(np.sqrt(local.sum(axis=0)) - others.radius[:, None])


def separation(center: Floats, rotation: Floats, half_1: Floats, half_2: Floats) -> Floats:
    """Widest gap that any separating axis shows between two boxes; negative when they overlap.

    Args:
        center: Middle of the second box in the frame of the first, ``(3, K)`` m.
        rotation: From the second box to the first, ``(3, 3, K)``.
        half_1: Half extents of the first box, ``(3, K)`` m.
        half_2: Half extents of the second box, ``(3, K)`` m.

    Returns:
        The gap, ``(K,)`` m.
    """
    size = np.abs(rotation)
    gap = (np.abs(center) - half_1 - rotated(size, half_2)).max(axis=0)
    back = np.abs(rotated(rotation.transpose(1, 0, 2), center))
    gap = np.maximum(gap, (back - half_2 - rotated(size.transpose(1, 0, 2), half_1)).max(axis=0))
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for m in range(3):
            n, o = (m + 1) % 3, (m + 2) % 3
            sine = np.sqrt(np.maximum(1 - rotation[i, m] ** 2, 0.0))
            distance = np.abs(rotation[j, m] * center[k] - rotation[k, m] * center[j])
            shadow = half_1[j] * size[k, m] + half_1[k] * size[j, m]
            shadow += half_2[n] * size[i, o] + half_2[o] * size[i, n]
            across = np.full(len(sine), -np.inf)
            np.divide(distance - shadow, sine, out=across, where=sine > _PARALLEL)
            gap = np.maximum(gap, across)
    return np.asarray(gap)


def _by_body(model: mujoco.MjModel, geoms: Geoms) -> Iterator[_Boxes]:
    for body in np.unique(model.geom_bodyid[geoms]).tolist():
        own = geoms[model.geom_bodyid[geoms] == body]
        rotation = matrices(model.geom_quat[own].T).transpose(2, 0, 1)
        yield _Boxes(body, model.geom_pos[own], rotation, model.geom_size[own])


def _relative(first: Pose, second: Pose, states: States) -> tuple[Floats, Floats]:
    """Pose of the second frame in the first: rotation ``(3, 3, K)`` and origin ``(3, K)``."""
    pose_1, pose_2 = first.at(states), second.at(states)
    back = pose_1.rotation.transpose(1, 0, 2)
    turn = product(back, pose_2.rotation)
    offset = rotated(back, pose_2.position - pose_1.position)
    k = len(states)
    return np.broadcast_to(turn, (3, 3, k)), np.broadcast_to(offset, (3, k))
