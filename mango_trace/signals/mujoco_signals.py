"""Signals from MuJoCo's kinematics and collision passes.

Kinematics run once for each state of a trace; collision only in states where the bounding spheres
of the two groups meet, since elsewhere there can be no contact, and once for each state however
many questions are asked. Derived positions are always recomputed from qpos: those that a simulator
holds after a step are one substep old.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.errors import SceneError
from mango_trace.scene.geoms import geoms_of, subtree
from mango_trace.scene.kinds import ArgumentKind
from mango_trace.scene.model import Hand, Region, SceneObject, Surface
from mango_trace.scene.overrides import Overrides, apply_overrides, pristine, restore_fields
from mango_trace.scene.package import ScenePackage
from mango_trace.signals.base import ContactRows, Floats, GeomGroup, Part
from mango_trace.signals.validity import Validity, check_states
from mango_trace.truth import Mask

_SLACK = 1e-6  # m; covers rounding in the bounding spheres, which decide nothing by themselves


class SceneKinematics:
    """A compiled scene that turns recorded states into signals, one trace at a time.

    Args:
        package: The scene.
        prefilter: Skip collision where bounding spheres are apart; off, every asked state runs it.
    """

    def __init__(self, package: ScenePackage, *, prefilter: bool = True) -> None:
        self.package = package
        self.scene = package.scene
        self.prefilter = prefilter
        self.model = package.compile()
        self.data = mujoco.MjData(self.model)
        self._pristine = pristine(self.model)
        self._applied: Overrides = {}
        self._geoms: dict[GeomGroup, npt.NDArray[np.intp]] = {}

    def signals(
        self,
        states: Mapping[str, npt.NDArray[np.float64]],
        *,
        overrides: Overrides | None = None,
        settled: int = 0,
    ) -> TraceSignals:
        """Signals of one trace.

        They read this object's model, so the signals of one trace are finished before those of the
        next are asked for.

        Args:
            states: Components by name: ``time (T,)``, ``qpos (T, nq)``, optionally ``qvel``,
                ``mocap_pos``, ``mocap_quat``.
            overrides: What the episode's reset wrote into the model.
            settled: First state after the warm-up.

        Returns:
            The signals, computed when they are asked for.

        Raises:
            SceneError: The states or an override do not fit the model.
        """
        self._check_widths(states)
        overrides = overrides or {}
        if overrides != self._applied:
            restore_fields(self.model, self._pristine, self._applied)
            self._applied = {}
            try:
                apply_overrides(self.model, overrides)
            except SceneError:
                restore_fields(self.model, self._pristine, overrides)
                raise
            self._applied = overrides
        return TraceSignals(self, states, settled)

    def _check_widths(self, states: Mapping[str, npt.NDArray[np.float64]]) -> None:
        model = self.model
        widths = {
            "qpos": model.nq,
            "qvel": model.nv,
            "mocap_pos": 3 * model.nmocap,
            "mocap_quat": 4 * model.nmocap,
        }
        for component, width in widths.items():
            if component in states and states[component].shape[1:] != (width,):
                raise SceneError(
                    f"states have {component} of shape {states[component].shape[1:]}, the model of "
                    f"scene {self.scene.task!r} has {width} numbers there"
                )

    def geoms(self, group: GeomGroup) -> npt.NDArray[np.intp]:
        """Geom numbers of a group, ascending."""
        if group not in self._geoms:
            self._geoms[group] = np.array(self._find_geoms(group), dtype=np.intp)
        return self._geoms[group]

    def body(self, name: str) -> int:
        """Number of the body that carries a thing."""
        item = self.scene.item(name)
        if isinstance(item, Region):
            return int(self.model.site_bodyid[self.model.site(item.site).id])
        return int(self.model.body(item.body).id)

    def _find_geoms(self, group: GeomGroup) -> list[int]:
        model, item = self.model, self.scene.item(group.name)
        if isinstance(item, Hand) and group.part in (Part.LEFT_PADS, Part.RIGHT_PADS):
            pads = item.left_pads if group.part is Part.LEFT_PADS else item.right_pads
            return sorted(int(model.geom(pad).id) for pad in pads)
        if isinstance(item, Surface) and item.geoms:
            return sorted(int(model.geom(geom).id) for geom in item.geoms)
        geoms = list(geoms_of(model, [self.body(group.name)]))
        if group.part is Part.COUNTED and isinstance(item, SceneObject):
            uncounted = set(item.uncounted_geoms)
            geoms = [geom for geom in geoms if model.geom(geom).name not in uncounted]
        return geoms


class TraceSignals:
    """Signals of one trace; see :class:`mango_trace.signals.base.Signals`."""

    def __init__(
        self,
        kinematics: SceneKinematics,
        states: Mapping[str, npt.NDArray[np.float64]],
        settled: int,
    ) -> None:
        self._kin = kinematics
        self._model, self._data = kinematics.model, kinematics.data
        self._qpos = states["qpos"]
        self._qvel = states.get("qvel")
        self.scene = kinematics.scene
        self.n_states = len(self._qpos)
        self.settled = settled
        self._mocap: tuple[Floats, Floats] | None = None
        if self._model.nmocap and "mocap_pos" in states and "mocap_quat" in states:
            self._mocap = states["mocap_pos"], states["mocap_quat"]
        self.validity: Validity = check_states(
            self._model, states["time"], self._qpos, self._qvel, self._mocap
        )
        if self._model.nmocap and self._mocap is None:
            unrecorded = "mocap poses were not recorded: what hangs on them is undetermined"
            self.validity = replace(self.validity, problems=(*self.validity.problems, unrecorded))
        self._collided = np.zeros(self.n_states, dtype=np.bool_)
        self._rows: list[_RawRows] = []

    def known(self, name: str) -> Mask:
        """Valid states, unless the thing hangs on a mocap body that was not recorded."""
        joint = self.scene.kind_of(name) is ArgumentKind.JOINT
        if self._mocap is None and not joint and self._kin.body(name) in self._hanging:
            return np.zeros(self.n_states, dtype=np.bool_)
        return self.validity.valid

    @cached_property
    def _hanging(self) -> frozenset[int]:
        """Mocap bodies and all that they carry."""
        moving = np.flatnonzero(self._model.body_mocapid >= 0)
        return frozenset(subtree(self._model, [int(body) for body in moving]))

    def position(self, name: str) -> Floats:
        """See :meth:`Signals.position`."""
        pose, index, _ = self._pose_of(name)
        return pose[0][:, index]

    def rotation(self, name: str) -> Floats:
        """See :meth:`Signals.rotation`."""
        pose, index, _ = self._pose_of(name)
        return pose[1][:, index].reshape(-1, 3, 3)

    def middle(self, name: str) -> Floats:
        """See :meth:`Signals.middle`."""
        low, high = self._bounds(self._kin.body(name), self._kin.geoms(GeomGroup(name)))
        offset = self.rotation(name) @ ((low + high) / 2)
        return self.position(name) + offset

    def half_box(self, name: str) -> Floats:
        """See :meth:`Signals.half_box`."""
        low, high = self._bounds(self._kin.body(name), self._kin.geoms(GeomGroup(name)))
        return (high - low) / 2

    def joint(self, name: str) -> Floats:
        """See :meth:`Signals.joint`."""
        return self._qpos[:, int(self._model.joint(name).qposadr[0])]

    def velocity(self, name: str) -> tuple[Floats, Floats]:
        """See :meth:`Signals.velocity`.

        Known for bodies with a free joint of their own and for those that stand still for ever;
        a mocap body moves without a velocity.
        """
        model, body = self._model, self._kin.body(name)
        joint = int(model.body_jntadr[body])
        free = joint >= 0 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
        if self._qvel is None or not free:
            fixed = model.body_weldid[body] == 0 and body not in self._hanging
            speed = np.full(self.n_states, 0.0 if fixed else np.nan)
            return speed, speed
        start = int(model.jnt_dofadr[joint])
        moving = self._qvel[:, start : start + 6]
        return np.linalg.norm(moving[:, :3], axis=1), np.linalg.norm(moving[:, 3:], axis=1)

    def contacts(self, first: GeomGroup, second: GeomGroup, where: Mask) -> ContactRows:
        """See :meth:`Signals.contacts`."""
        geoms_1, geoms_2 = self._kin.geoms(first), self._kin.geoms(second)
        where = where & self.validity.valid
        if self._kin.prefilter:
            where = where & self._spheres_meet(geoms_1, geoms_2)
        self._collide(where & ~self._collided)
        return self._select(geoms_1, geoms_2, where)

    # -- kinematics

    @cached_property
    def _poses(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Bodies and sites: positions ``(T, n, 3)`` and rotation matrices ``(T, n, 9)``."""
        model, data, n = self._model, self._data, self.n_states
        bodies = np.empty((n, model.nbody, 3)), np.empty((n, model.nbody, 9))
        sites = np.empty((n, model.nsite, 3)), np.empty((n, model.nsite, 9))
        body_pos, body_mat = data.xpos, data.xmat
        site_pos, site_mat = data.site_xpos, data.site_xmat
        for state in range(n):
            self._load(state)
            bodies[0][state] = body_pos
            bodies[1][state] = body_mat
            sites[0][state] = site_pos
            sites[1][state] = site_mat
        return bodies, sites

    def _load(self, state: int) -> None:
        """Put one state into the simulator's data and compute its poses."""
        data = self._data
        data.qpos[:] = self._qpos[state] if self.validity.valid[state] else self._model.qpos0
        if self._mocap is not None and self.validity.valid[state]:
            data.mocap_pos[:] = self._mocap[0][state].reshape(-1, 3)
            data.mocap_quat[:] = self._mocap[1][state].reshape(-1, 4)
        mujoco.mj_kinematics(self._model, data)

    def _pose_of(self, name: str) -> tuple[tuple[Floats, Floats], int, bool]:
        item = self.scene.item(name)
        bodies, sites = self._poses
        if isinstance(item, Region):
            return sites, int(self._model.site(item.site).id), True
        if isinstance(item, Hand):
            return sites, int(self._model.site(item.center).id), True
        return bodies, int(self._model.body(item.body).id), False

    # -- collision

    def _collide(self, where: Mask) -> None:
        """Run the collision pass in the states of ``where`` and keep every contact."""
        states = np.flatnonzero(where)
        if not states.size:
            return
        model, data = self._model, self._data
        found: list[tuple[int, int]] = []
        pieces: list[tuple[npt.NDArray[np.int32], Floats, Floats, npt.NDArray[np.int32]]] = []
        for state in states:
            self._load(int(state))
            mujoco.mj_collision(model, data)
            if data.ncon:
                contact = data.contact
                found.append((int(state), data.ncon))
                pieces.append(
                    (
                        contact.geom.copy(),
                        contact.dist.copy(),
                        contact.frame[:, :3].copy(),
                        contact.exclude.copy(),
                    )
                )
        self._collided |= where
        if found:
            self._rows.append(_RawRows(found, pieces))

    def _select(
        self, geoms_1: npt.NDArray[np.intp], geoms_2: npt.NDArray[np.intp], where: Mask
    ) -> ContactRows:
        in_1 = np.zeros(self._model.ngeom, dtype=np.bool_)
        in_2 = np.zeros(self._model.ngeom, dtype=np.bool_)
        in_1[geoms_1], in_2[geoms_2] = True, True
        if not self._rows:
            return _EMPTY
        state = np.concatenate([rows.state for rows in self._rows])
        geom = np.concatenate([rows.geom for rows in self._rows])
        distance = np.concatenate([rows.distance for rows in self._rows])
        normal = np.concatenate([rows.normal for rows in self._rows])
        exclude = np.concatenate([rows.exclude for rows in self._rows])
        # MuJoCo's normal points from the first geom of the contact to the second.
        forward = in_1[geom[:, 0]] & in_2[geom[:, 1]]
        backward = in_1[geom[:, 1]] & in_2[geom[:, 0]] & ~forward
        keep = np.flatnonzero((forward | backward) & where[state])
        keep = keep[np.argsort(state[keep], kind="stable")]
        sign = np.where(backward[keep], -1.0, 1.0)
        return ContactRows(state[keep], distance[keep], normal[keep] * sign[:, None], exclude[keep] == 0)

    def _spheres_meet(self, geoms_1: npt.NDArray[np.intp], geoms_2: npt.NDArray[np.intp]) -> Mask:
        """States in which bounding spheres of any two bodies meet: a superset of the contacts."""
        meet = np.zeros(self.n_states, dtype=np.bool_)
        spheres_1, spheres_2 = self._spheres(geoms_1), self._spheres(geoms_2)
        for center_1, radius_1 in spheres_1:
            for center_2, radius_2 in spheres_2:
                if not np.isfinite(radius_1 + radius_2):
                    return np.ones(self.n_states, dtype=np.bool_)
                apart = ((center_1 - center_2) ** 2).sum(axis=1)
                meet |= apart <= (radius_1 + radius_2 + _SLACK) ** 2
        return meet

    def _spheres(self, geoms: npt.NDArray[np.intp]) -> list[tuple[Floats, float]]:
        """A sphere around the given geoms of each body: centres ``(T, 3)`` and radius."""
        model, spheres = self._model, []
        margin = max(model.pair_margin + model.pair_gap, default=0.0)
        if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE:
            margin += model.opt.o_margin
        for body in np.unique(model.geom_bodyid[geoms]):
            own = geoms[model.geom_bodyid[geoms] == body]
            reach = model.geom_rbound[own] + model.geom_margin[own] + model.geom_gap[own] + margin
            reach[model.geom_type[own] == mujoco.mjtGeom.mjGEOM_PLANE] = np.inf
            reach[model.geom_type[own] == mujoco.mjtGeom.mjGEOM_HFIELD] = np.inf
            middle = model.geom_pos[own].mean(axis=0)
            radius = float((np.linalg.norm(model.geom_pos[own] - middle, axis=1) + reach).max())
            position, matrix = self._poses[0][0][:, body], self._poses[0][1][:, body]
            spheres.append((position + matrix.reshape(-1, 3, 3) @ middle, radius))
        return spheres

    def _bounds(self, body: int, geoms: npt.NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Box around geoms in the frame of ``body``; geoms of child bodies are left out."""
        model = self._model
        own = geoms[model.geom_bodyid[geoms] == body]
        if not own.size:
            return np.zeros(3), np.zeros(3)
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        matrix = np.empty(9)
        for geom in own:
            mujoco.mju_quat2Mat(matrix, model.geom_quat[geom])
            rotation = matrix.reshape(3, 3)
            center = model.geom_pos[geom] + rotation @ model.geom_aabb[geom][:3]
            half = np.abs(rotation) @ model.geom_aabb[geom][3:]
            low, high = np.minimum(low, center - half), np.maximum(high, center + half)
        return low, high


class _RawRows:
    """Contacts of some states as MuJoCo reports them."""

    __slots__ = ("distance", "exclude", "geom", "normal", "state")

    def __init__(
        self,
        found: list[tuple[int, int]],
        pieces: list[tuple[npt.NDArray[np.int32], Floats, Floats, npt.NDArray[np.int32]]],
    ) -> None:
        states, counts = zip(*found, strict=True)
        self.state = np.repeat(np.array(states, dtype=np.intp), counts)
        self.geom = np.concatenate([piece[0] for piece in pieces])
        self.distance = np.concatenate([piece[1] for piece in pieces])
        self.normal = np.concatenate([piece[2] for piece in pieces])
        self.exclude = np.concatenate([piece[3] for piece in pieces])


_EMPTY = ContactRows(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros((0, 3)), np.zeros(0, dtype=np.bool_))
