"""Signals from MuJoCo's kinematics and collision passes.

Kinematics run once for each state of a trace; collision only in states where the bounds
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
from mango_trace.scene.slim import without_geoms
from mango_trace.signals.base import ContactRows, Floats, GeomGroup, Part
from mango_trace.signals.bounds import BodyBounds, bounds_of, box_of, may_touch
from mango_trace.signals.collision import PairContacts
from mango_trace.signals.validity import Validity, check_states
from mango_trace.truth import Mask

_POSE_FIELDS = ("body_pos", "body_quat", "site_pos", "site_quat", "jnt_pos", "jnt_axis", "qpos0")


class SceneKinematics:
    """A compiled scene that turns recorded states into signals, one trace at a time.

    Args:
        package: The scene.
        prefilter: Look for contacts only where bounds meet and only between the things
            asked about; off, every asked state runs the full pass.
    """

    def __init__(self, package: ScenePackage, *, prefilter: bool = True) -> None:
        self.package = package
        self.scene = package.scene
        self.prefilter = prefilter
        self.model = package.compile()
        bare = without_geoms(package.xml, self.model) if prefilter else None
        self.pose_model = self.model if bare is None else bare
        self.data = mujoco.MjData(self.model)
        self.pose_data = self.data if bare is None else mujoco.MjData(self.pose_model)
        self._pristine = pristine(self.model)
        self._applied: Overrides = {}
        self._geoms: dict[GeomGroup, npt.NDArray[np.intp]] = {}
        self._bounds: dict[bytes, tuple[BodyBounds, ...]] = {}

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
            self._bounds.clear()
            restore_fields(self.model, self._pristine, self._applied)
            self._applied = {}
            try:
                apply_overrides(self.model, overrides)
            except SceneError:
                restore_fields(self.model, self._pristine, overrides)
                raise
            self._applied = overrides
            for field in _POSE_FIELDS:
                getattr(self.pose_model, field)[...] = getattr(self.model, field)
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

    def bounds(self, geoms: npt.NDArray[np.intp]) -> tuple[BodyBounds, ...]:
        """What encloses geoms, one for each body that carries any."""
        key = geoms.tobytes()
        if key not in self._bounds:
            self._bounds[key] = bounds_of(self.model, geoms)
        return self._bounds[key]

    def all_geoms(self, name: str) -> npt.NDArray[np.intp]:
        """Every geom of a thing, pads that are mounted elsewhere included."""
        groups = [GeomGroup(name)]
        if isinstance(self.scene.item(name), Hand):
            groups += [GeomGroup(name, Part.LEFT_PADS), GeomGroup(name, Part.RIGHT_PADS)]
        return np.unique(np.concatenate([self.geoms(group) for group in groups]))

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
        self._contacts = PairContacts(
            self._model, self._data, self._load, self.n_states, restrict=kinematics.prefilter
        )

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
        pose, index = self._pose_of(name)
        return pose[0][:, index]

    def rotation(self, name: str) -> Floats:
        """See :meth:`Signals.rotation`."""
        pose, index = self._pose_of(name)
        return pose[1][:, index].reshape(-1, 3, 3)

    def middle(self, name: str) -> Floats:
        """See :meth:`Signals.middle`."""
        low, high = self._box(name)
        offset = self.rotation(name) @ ((low + high) / 2)
        return self.position(name) + offset

    def half_box(self, name: str) -> Floats:
        """See :meth:`Signals.half_box`."""
        low, high = self._box(name)
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
        whole = self._kin.all_geoms(first.name), self._kin.all_geoms(second.name)
        parts = self._kin.geoms(first), self._kin.geoms(second)
        where = where & self.validity.valid
        if self._kin.prefilter:
            where = where & self._may_touch(*parts)
        return self._contacts.rows((first.name, second.name), whole, parts, where)

    # -- kinematics

    @cached_property
    def _poses(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Bodies and sites: positions ``(T, n, 3)`` and rotation matrices ``(T, n, 9)``."""
        model, data, n = self._kin.pose_model, self._kin.pose_data, self.n_states
        bodies = np.empty((n, model.nbody, 3)), np.empty((n, model.nbody, 9))
        sites = np.empty((n, model.nsite, 3)), np.empty((n, model.nsite, 9))
        body_pos, body_mat = data.xpos, data.xmat
        site_pos, site_mat = data.site_xpos, data.site_xmat
        for state in range(n):
            self._put(state, model, data)
            bodies[0][state] = body_pos
            bodies[1][state] = body_mat
            sites[0][state] = site_pos
            sites[1][state] = site_mat
        return bodies, sites

    def _load(self, state: int) -> None:
        """Put one state into the simulator's data and compute all poses, those of geoms too."""
        self._put(state, self._model, self._data)

    def _put(self, state: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.qpos[:] = self._qpos[state] if self.validity.valid[state] else self._model.qpos0
        if self._mocap is not None and self.validity.valid[state]:
            data.mocap_pos[:] = self._mocap[0][state].reshape(-1, 3)
            data.mocap_quat[:] = self._mocap[1][state].reshape(-1, 4)
        mujoco.mj_kinematics(model, data)

    def _pose_of(self, name: str) -> tuple[tuple[Floats, Floats], int]:
        item = self.scene.item(name)
        bodies, sites = self._poses
        if isinstance(item, Region):
            return sites, int(self._model.site(item.site).id)
        if isinstance(item, Hand):
            return sites, int(self._model.site(item.center).id)
        return bodies, int(self._model.body(item.body).id)

    # -- where contacts are possible at all

    def _may_touch(self, geoms_1: npt.NDArray[np.intp], geoms_2: npt.NDArray[np.intp]) -> Mask:
        """States in which the bounds of any two bodies meet: a superset of the contacts."""
        positions, matrices = self._poses[0]
        meet = np.zeros(self.n_states, dtype=np.bool_)
        for first in self._kin.bounds(geoms_1):
            for second in self._kin.bounds(geoms_2):
                meet |= may_touch(first, second, positions, matrices)
        return meet

    def _box(self, name: str) -> tuple[Floats, Floats]:
        """Box around the geoms of a thing's own body, in its frame; child bodies are left out."""
        model, body = self._model, self._kin.body(name)
        geoms = self._kin.geoms(GeomGroup(name))
        own = geoms[model.geom_bodyid[geoms] == body]
        return box_of(model, own) if own.size else (np.zeros(3), np.zeros(3))
