"""Boxes and spheres around geoms: where there can be no contact, none is looked for."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from mango_trace.signals.base import Floats, Geoms, States
from mango_trace.signals.poses import Pose, Poses, rotated

_SLACK = 1e-6  # m; covers rounding in the bounds, which decide nothing by themselves
_ENDLESS = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)


@dataclass(frozen=True, slots=True)
class BodyBounds:
    """What encloses some geoms of one body, margins included.

    Attributes:
        body: Number of the body.
        center: Middle of the box, in the body's frame, m.
        half: Half extents of the box along the body's axes, m; infinite for planes.
        radius: Radius of a sphere around ``center`` that encloses them too, m.
    """

    body: int
    center: Floats
    half: Floats
    radius: float


def bounds_of(model: mujoco.MjModel, geoms: Geoms) -> tuple[BodyBounds, ...]:
    """Bounds of geoms, one for each body that carries any.

    Args:
        model: Model of the scene.
        geoms: Geom numbers.
    """
    margin = max(model.pair_margin + model.pair_gap, default=0.0) + _SLACK
    if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE:
        margin += model.opt.o_margin
    found = []
    for body in np.unique(model.geom_bodyid[geoms]).tolist():
        own = geoms[model.geom_bodyid[geoms] == body]
        low, high = box_of(model, own)
        reach = model.geom_margin[own] + model.geom_gap[own] + margin
        center, half = (low + high) / 2, (high - low) / 2
        distance = np.linalg.norm(model.geom_pos[own] - center, axis=1) + model.geom_rbound[own]
        radius = min(float((distance + reach).max()), float(np.linalg.norm(half + reach.max())))
        if np.isin(model.geom_type[own], _ENDLESS).any():
            half, radius = np.full(3, np.inf), np.inf
        found.append(BodyBounds(body, center, half + reach.max(), radius))
    return tuple(found)


def box_of(model: mujoco.MjModel, geoms: Geoms) -> tuple[Floats, Floats]:
    """Lower and upper corner of the box around geoms of one body, in the body's frame, ``(3,)`` m."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    matrix = np.empty(9)
    for geom in geoms.tolist():
        mujoco.mju_quat2Mat(matrix, model.geom_quat[geom])
        rotation = matrix.reshape(3, 3)
        center = model.geom_pos[geom] + rotation @ model.geom_aabb[geom][:3]
        half = np.abs(rotation) @ model.geom_aabb[geom][3:]
        low, high = np.minimum(low, center - half), np.maximum(high, center + half)
    return low, high


@dataclass(frozen=True, slots=True)
class PlacedBounds:
    """Bounds with where they are in every state.

    Attributes:
        bounds: The bounds.
        pose: Pose of the body.
        center: Middle of the box in the world, ``(3, N)`` m.
    """

    bounds: BodyBounds
    pose: Pose
    center: Floats

    @classmethod
    def of(cls, bounds: BodyBounds, poses: Poses) -> PlacedBounds:
        """Place bounds."""
        pose = poses.body(bounds.body)
        return cls(bounds, pose, pose.apply(bounds.center))


def may_touch(first: PlacedBounds, second: PlacedBounds) -> tuple[States, bool]:
    """States in which two bounds meet: a superset of those with a contact.

    Args:
        first: Bounds of one body.
        second: Bounds of the other.

    Returns:
        The states, and whether the answer is for all states alike since neither body ever moves;
        then there is one state, 0, or none.
    """
    offset = second.center - first.center
    reach = first.bounds.radius + second.bounds.radius
    near = np.flatnonzero((offset * offset).sum(axis=0) <= reach**2)
    alike = offset.shape[1] == 1
    for pose, half, radius in (
        (first.pose, first.bounds.half, second.bounds.radius),
        (second.pose, second.bounds.half, first.bounds.radius),
    ):
        if not (near.size and np.isfinite(half).all() and np.isfinite(radius)):
            continue
        turn = pose.at(near).rotation
        local = rotated(turn.transpose(1, 0, 2), offset[:, near])
        outside = np.maximum(np.abs(local) - half[:, None], 0.0)
        near = near[(outside * outside).sum(axis=0) <= radius**2]
    return near, alike
