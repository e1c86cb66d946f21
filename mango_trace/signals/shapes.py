"""Geoms of a body as a loop over states takes them: boxes, hulls of meshes, and what encloses them."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple, TypeAlias

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.jit import Axes
from mango_trace.signals.base import Floats, Geoms

BOX: Final = 0
HULL: Final = 1
OTHER: Final = 2
"""A finite shape of which only the box around it is known here."""
ENDLESS: Final = 3

_ENDLESS_TYPES: Final = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
_SLACK: Final = 1e-6  # m; covers rounding in the bounds, which decide nothing by themselves


_Row: TypeAlias = Annotated[Floats, Axes(1)]
_Table: TypeAlias = Annotated[Floats, Axes(2)]
_Numbers: TypeAlias = Annotated[npt.NDArray[np.intp], Axes(1)]


class Shapes(NamedTuple):
    """Geoms of one body, in its frame. ``G`` geoms, ``V`` corners and ``F`` faces of hulls."""

    center: _Row
    """Middle of a box around all of them, margins included, ``(3,)`` m."""
    half: _Row
    """Its half extents, ``(3,)`` m; infinite for planes."""
    radius: float
    """Radius of a sphere around ``center`` that encloses them too, m."""
    kind: _Numbers
    """:data:`BOX`, :data:`HULL`, :data:`OTHER` or :data:`ENDLESS`, ``(G,)``."""
    middle: _Table
    """Middle of the box that a geom is, or of the one around it, ``(G, 3)`` m."""
    turn: Annotated[Floats, Axes(3)]
    """From the frame of that box to the body, ``(G, 3, 3)``."""
    size: _Table
    """Its half extents, ``(G, 3)`` m."""
    reach: _Row
    """Radius of the sphere around that box, ``(G,)`` m."""
    corner: _Table
    """Corners of hulls, each in the frame of its box, ``(V, 3)`` m."""
    corner_start: _Numbers
    """Where the corners of each geom start, and end, ``(G + 1,)``."""
    normal: _Table
    """Directions of the faces of hulls, in the frame of the box, ``(F, 3)``."""
    height: _Row
    """How far a hull extends in the direction of each face, ``(F,)`` m."""
    normal_start: _Numbers
    """Where the faces of each geom start, and end, ``(G + 1,)``."""


def shapes_of(model: mujoco.MjModel, geoms: Geoms) -> Shapes:
    """Describe geoms of one body.

    Args:
        model: Model of the scene.
        geoms: Geom numbers, at least one.
    """
    endless = np.isin(model.geom_type[geoms], _ENDLESS_TYPES)
    middle, turn = _boxes(model, geoms)
    low, high = box_of(model, geoms)
    center, half = (low + high) / 2, (high - low) / 2
    reach = model.geom_margin[geoms] + model.geom_gap[geoms] + _other_margins(model)
    distance = np.linalg.norm(model.geom_pos[geoms] - center, axis=1) + model.geom_rbound[geoms]
    radius = min(float((distance + reach).max()), float(np.linalg.norm(half + reach.max())))
    if endless.any():
        half, radius = np.full(3, np.inf), np.inf
    size = np.ascontiguousarray(model.geom_aabb[geoms, 3:])
    hulls = [_hull(model, geom) for geom in geoms.tolist()]
    kinds = {int(mujoco.mjtGeom.mjGEOM_BOX): BOX, int(mujoco.mjtGeom.mjGEOM_MESH): HULL}
    kind = np.array([kinds.get(number, OTHER) for number in model.geom_type[geoms].tolist()], dtype=np.intp)
    corners, normals, heights = zip(*hulls, strict=True)
    return Shapes(
        center,
        half + reach.max(),
        radius,
        np.where(endless, ENDLESS, kind),
        middle,
        turn,
        size,
        np.asarray(np.linalg.norm(size, axis=1)),
        np.concatenate(corners),
        np.cumsum([0, *map(len, corners)], dtype=np.intp),
        np.concatenate(normals),
        np.concatenate(heights),
        np.cumsum([0, *map(len, normals)], dtype=np.intp),
    )


def box_of(model: mujoco.MjModel, geoms: Geoms) -> tuple[Floats, Floats]:
    """Lower and upper corner of the box around geoms of one body, in the body's frame, ``(3,)`` m."""
    center, turn = _boxes(model, geoms)
    half = np.einsum("gij,gj->gi", np.abs(turn), model.geom_aabb[geoms, 3:])
    return (center - half).min(axis=0), (center + half).max(axis=0)


def may_collide(model: mujoco.MjModel, geoms_1: Geoms, geoms_2: Geoms) -> bool:
    """Whether each geom of one group may collide with each of the other, by MuJoCo's bits."""
    type_1, affinity_1 = model.geom_contype[geoms_1], model.geom_conaffinity[geoms_1]
    type_2, affinity_2 = model.geom_contype[geoms_2], model.geom_conaffinity[geoms_2]
    allowed = (type_1[:, None] & affinity_2) | (affinity_1[:, None] & type_2)
    return bool((allowed != 0).all())


def comparable(model: mujoco.MjModel, geoms_1: Geoms, geoms_2: Geoms) -> bool:
    """Whether geoms of two groups touch in MuJoCo just when they overlap: only geometry decides.

    That is so without margins, excluded or predefined pairs, and for things of which each moves
    against the other by joints that are not next to each other in the tree.

    Args:
        model: Model of the scene.
        geoms_1: Geoms of one group.
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
    if not may_collide(model, geoms_1, geoms_2):
        return False
    bodies_1, bodies_2 = (np.unique(model.body_weldid[model.geom_bodyid[g]]) for g in (geoms_1, geoms_2))
    parents_1, parents_2 = (model.body_weldid[model.body_parentid[b]] for b in (bodies_1, bodies_2))
    related = (
        (bodies_1[:, None] == bodies_2) | (bodies_1[:, None] == parents_2) | (parents_1[:, None] == bodies_2)
    )  # a parent's contacts with its child are left out, the world's are not: asked of MuJoCo anyway
    world = (bodies_1[:, None] == 0) | (bodies_2 == 0)
    return not (related & ~(world & (bodies_1[:, None] != bodies_2))).any()


def _other_margins(model: mujoco.MjModel) -> float:
    margin = max(model.pair_margin + model.pair_gap, default=0.0) + _SLACK
    if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE:
        margin += model.opt.o_margin
    return float(margin)


def _boxes(model: mujoco.MjModel, geoms: Geoms) -> tuple[Floats, Floats]:
    """Middles ``(G, 3)`` of the boxes around geoms and rotations ``(G, 3, 3)`` from them to the body."""
    rows = np.empty((len(geoms), 9))
    for row, geom in zip(rows, geoms.tolist(), strict=True):
        mujoco.mju_quat2Mat(row, model.geom_quat[geom])
    turn = rows.reshape(-1, 3, 3)
    return model.geom_pos[geoms] + np.einsum("gij,gj->gi", turn, model.geom_aabb[geoms, :3]), turn


def _hull(model: mujoco.MjModel, geom: int) -> tuple[Floats, Floats, Floats]:
    """Corners, directions of faces and extent in these, of a mesh in the frame of the box around it.

    All vertices are corners: MuJoCo takes those of the hull that it keeps, which may be fewer, or all.

    Source: MuJoCo's ``mesh_graph``, for each hull: numbers of corners and faces; for each corner an
    address; for each corner its number in the mesh; edges; three corners for each face.
    """
    nothing = np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0)
    if model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH:
        return nothing
    mesh = int(model.geom_dataid[geom])
    start, graph = int(model.mesh_vertadr[mesh]), int(model.mesh_graphadr[mesh])
    vertices = model.mesh_vert[start : start + int(model.mesh_vertnum[mesh])].astype(np.float64)
    vertices -= model.geom_aabb[geom, :3]
    if graph < 0:
        return vertices, *nothing[1:]
    n_corners, n_faces = model.mesh_graph[graph : graph + 2].tolist()
    faces = graph + 2 + n_corners + n_corners + n_corners + 3 * n_faces
    triangle = vertices[model.mesh_graph[faces : faces + 3 * n_faces].reshape(-1, 3)]
    normal = np.cross(triangle[:, 1] - triangle[:, 0], triangle[:, 2] - triangle[:, 0])
    length = np.linalg.norm(normal, axis=1)
    normal = normal[length > 0] / length[length > 0, None]
    return vertices, normal, (normal @ vertices.T).max(axis=1)
