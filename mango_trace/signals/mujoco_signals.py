"""Signals from MuJoCo models: poses over arrays, contacts from MuJoCo's own collision passes.

A batch holds traces of one scene, one behind the other, so that what is done for all states is done
once. Contacts are looked for only where the bounds of two things meet, since elsewhere there can be
none, and once for each state however many questions are asked. Derived positions are always
recomputed from qpos: those that a simulator holds after a step are one substep old.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.errors import SceneError
from mango_trace.scene.geoms import geoms_of, subtree
from mango_trace.scene.kinds import ArgumentKind
from mango_trace.scene.model import Hand, Region, SceneObject, Surface
from mango_trace.scene.overrides import Overrides, apply_overrides, pristine, restore_fields
from mango_trace.scene.package import ScenePackage
from mango_trace.signals.base import ContactRows, Floats, GeomGroup, Geoms, Part
from mango_trace.signals.batch import Batch, TraceStates, shape_overrides
from mango_trace.signals.poses import POSE_FIELDS, Pose
from mango_trace.signals.shapes import Shapes, box_of, comparable, shapes_of
from mango_trace.signals.touching import Touching
from mango_trace.signals.validity import quaternion_starts
from mango_trace.truth import Mask

_KEPT_MODELS: Final = 256
"""For how many different resets the fields are kept that poses depend on."""


class SceneKinematics:
    """A compiled scene that turns recorded states into signals.

    Args:
        package: The scene.
        prefilter: Compute poses over arrays, look for contacts only where bounds meet and only
            between the things asked about; off, every state runs MuJoCo's kinematics and every
            asked state its full collision pass. Contacts of a trace whose reset changed shapes of
            geoms are looked for by full passes in any case: MuJoCo's own bounding volumes stay as
            they were compiled, and what it finds then hangs on them.
    """

    def __init__(self, package: ScenePackage, *, prefilter: bool = True) -> None:
        self.package = package
        self.scene = package.scene
        self.prefilter = prefilter
        self.model = package.compile()
        self.data = mujoco.MjData(self.model)
        self.quaternions = quaternion_starts(self.model)
        self._pristine = pristine(self.model)
        self._applied: Overrides = {}
        self._geoms: dict[GeomGroup, Geoms] = {}
        self._shapes: dict[bytes, Shapes] = {}
        self._comparable: dict[tuple[GeomGroup, GeomGroup], bool] = {}
        self._pose_fields: dict[str, dict[str, Floats]] = {}

    def signals(
        self,
        states: Mapping[str, npt.NDArray[np.float64]],
        *,
        overrides: Overrides | None = None,
        settled: int = 0,
    ) -> BatchSignals:
        """Signals of one trace; see :class:`TraceStates` and :meth:`batch`."""
        return self.batch([TraceStates(states, overrides or {}, settled)])

    def batch(self, traces: Sequence[TraceStates]) -> BatchSignals:
        """Signals of some traces.

        Args:
            traces: At least one; all with the same :attr:`TraceStates.batch_key`.

        Returns:
            The signals, computed when they are asked for.

        Raises:
            SceneError: The states or an override do not fit the model.
            ValueError: The traces cannot be in one batch.
        """
        if len({trace.batch_key for trace in traces}) != 1:
            raise ValueError("the traces of a batch need the same components and shapes of geoms")
        for trace in traces:
            self._check_widths(trace.states)  # what an override does not fit, its use finds
        return BatchSignals(self, traces)

    def shape(self, overrides: Overrides) -> None:
        """See that the model's geoms have the shapes that a reset gave them, before they are read."""
        if shape_overrides(overrides) != shape_overrides(self._applied):
            self.use(overrides)

    def check(self, trace: TraceStates) -> None:
        """See that a trace fits the model.

        Raises:
            SceneError: Its states or an override do not.
        """
        self._check_widths(trace.states)
        self.pose_fields(trace)

    def pose_fields(self, trace: TraceStates) -> Mapping[str, Floats]:
        """Values of :data:`mango_trace.signals.poses.POSE_FIELDS` as a trace's reset left them.

        Raises:
            SceneError: An override does not fit the model.
        """
        if trace.model_key not in self._pose_fields:
            self.use(trace.overrides)
            while len(self._pose_fields) >= _KEPT_MODELS:
                self._pose_fields.pop(next(iter(self._pose_fields)))
            fields = {name: np.array(getattr(self.model, name)) for name in POSE_FIELDS}
            self._pose_fields[trace.model_key] = fields
        return self._pose_fields[trace.model_key]

    def use(self, overrides: Overrides) -> None:
        """Put the model into the condition that a reset left it in.

        Raises:
            SceneError: An override does not fit the model.
        """
        if overrides == self._applied:
            return
        restore_fields(self.model, self._pristine, self._applied)
        self._applied = {}
        try:
            apply_overrides(self.model, overrides)
        except SceneError:
            restore_fields(self.model, self._pristine, overrides)
            raise
        self._applied = overrides

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

    def geoms(self, group: GeomGroup) -> Geoms:
        """Geom numbers of a group, ascending."""
        if group not in self._geoms:
            self._geoms[group] = np.array(self._find_geoms(group), dtype=np.intp)
        return self._geoms[group]

    def by_body(self, group: GeomGroup) -> tuple[Geoms, ...]:
        """Geom numbers of a group, apart for each body that carries any."""
        geoms = self.geoms(group)
        carrier = self.model.geom_bodyid[geoms]
        return tuple(geoms[carrier == body] for body in np.unique(carrier))

    def shapes(self, geoms: Geoms) -> Shapes:
        """Shapes of geoms of one body, as they were compiled."""
        key = geoms.tobytes()
        if key not in self._shapes:
            self._shapes[key] = shapes_of(self.model, geoms)
        return self._shapes[key]

    def comparable(self, first: GeomGroup, second: GeomGroup) -> bool:
        """Whether nothing but geometry decides if two groups touch."""
        if (first, second) not in self._comparable:
            geoms = self.geoms(first), self.geoms(second)
            self._comparable[first, second] = comparable(self.model, *geoms)
        return self._comparable[first, second]

    def shared_pass(self, group: GeomGroup) -> tuple[str, Geoms]:
        """Geoms that are looked at together when a group is asked about, and a name for them."""
        if group.part is Part.BUT_PADS:
            return f"{group.name}.{group.part}", self.geoms(group)
        if group.part in (Part.LEFT_PADS, Part.RIGHT_PADS):
            pads = [self.geoms(GeomGroup(group.name, part)) for part in (Part.LEFT_PADS, Part.RIGHT_PADS)]
            return f"{group.name}.pads", np.unique(np.concatenate(pads))
        return group.name, self.geoms(GeomGroup(group.name))

    def body(self, name: str) -> int:
        """Number of the body that carries a thing."""
        item = self.scene.item(name)
        if isinstance(item, Region):
            return int(self.model.site_bodyid[self.model.site(item.site).id])
        return int(self.model.body(item.body).id)

    def _find_geoms(self, group: GeomGroup) -> list[int]:
        model, item = self.model, self.scene.item(group.name)
        if isinstance(item, Hand) and group.part is not Part.ALL:
            left, right = (
                {int(model.geom(pad).id) for pad in pads} for pads in (item.left_pads, item.right_pads)
            )
            rest = set(geoms_of(model, [self.body(group.name)])) - left - right
            return sorted({Part.LEFT_PADS: left, Part.RIGHT_PADS: right}.get(group.part, rest))
        if isinstance(item, Surface) and item.geoms:
            return sorted(int(model.geom(geom).id) for geom in item.geoms)
        geoms = list(geoms_of(model, [self.body(group.name)]))
        if group.part is Part.COUNTED and isinstance(item, SceneObject):
            uncounted = set(item.uncounted_geoms)
            geoms = [geom for geom in geoms if model.geom(geom).name not in uncounted]
        return geoms


class BatchSignals:
    """Signals of some traces; see :class:`mango_trace.signals.base.Signals`.

    Attributes:
        scene: Meaning of the names.
        n_states: Number of states of all traces.
        starts: First state of each trace, and behind the last one.
        settled: For each state the first one of its trace after the warm-up.
        validity: Which states of each trace are sound.
    """

    def __init__(self, kinematics: SceneKinematics, traces: Sequence[TraceStates]) -> None:
        self._kin, self._model = kinematics, kinematics.model
        self._batch = Batch(kinematics, traces)
        self._touching = Touching(kinematics, self._batch)
        self._scope: Mask | None = None
        self.scene = kinematics.scene
        self.n_states, self.starts = self._batch.n_states, self._batch.starts
        self.settled, self.validity = self._batch.settled, self._batch.validity

    def known(self, name: str) -> Mask:
        """Valid states, unless the thing hangs on a mocap body that was not recorded."""
        joint = self.scene.kind_of(name) is ArgumentKind.JOINT
        if self._batch.mocap is None and not joint and self._kin.body(name) in self._hanging:
            return np.zeros(self.n_states, dtype=np.bool_)
        return self._batch.valid

    @cached_property
    def _hanging(self) -> frozenset[int]:
        """Mocap bodies and all that they carry."""
        moving = np.flatnonzero(self._model.body_mocapid >= 0)
        return frozenset(subtree(self._model, [int(body) for body in moving]))

    def position(self, name: str) -> Floats:
        """See :meth:`Signals.position`."""
        return np.broadcast_to(self._pose_of(name).position, (self.n_states, 3))

    def rotation(self, name: str) -> Floats:
        """See :meth:`Signals.rotation`."""
        return np.broadcast_to(self._pose_of(name).rotation, (self.n_states, 3, 3))

    def middle(self, name: str) -> Floats:
        """See :meth:`Signals.middle`."""
        low, high = self._box(name)
        middle = self._pose_of(name).apply((low + high) / 2)
        return np.broadcast_to(middle, (self.n_states, 3))

    def half_box(self, name: str) -> Floats:
        """See :meth:`Signals.half_box`."""
        low, high = self._box(name)
        return (high - low) / 2

    def exact_pose(self, name: str, state: int) -> tuple[Floats, Floats]:
        """See :meth:`Signals.exact_pose`."""
        self._batch.load(state)
        is_site, index = self._frame(name)
        data = self._kin.data
        if is_site:
            return data.site_xpos[index].copy(), data.site_xmat[index].reshape(3, 3).copy()
        return data.xpos[index].copy(), data.xmat[index].reshape(3, 3).copy()

    def joint(self, name: str) -> Floats:
        """See :meth:`Signals.joint`."""
        position: Floats = self._batch.qpos[:, int(self._model.joint(name).qposadr[0])]
        return position

    def velocity(self, name: str) -> tuple[Floats, Floats]:
        """See :meth:`Signals.velocity`.

        Known for bodies with a free joint of their own and for those that stand still for ever;
        a mocap body moves without a velocity.
        """
        model, body = self._model, self._kin.body(name)
        joint = int(model.body_jntadr[body])
        free = joint >= 0 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
        if not self._batch.has("qvel") or not free:
            fixed = model.body_weldid[body] == 0 and body not in self._hanging
            speed = np.full(self.n_states, 0.0 if fixed else np.nan)
            return speed, speed
        start = int(model.jnt_dofadr[joint])
        moving = self._batch.joined("qvel")[:, start : start + 6]
        return np.linalg.norm(moving[:, :3], axis=1), np.linalg.norm(moving[:, 3:], axis=1)

    def in_contact(self, first: GeomGroup, second: GeomGroup, where: Mask) -> Mask:
        """See :meth:`Signals.in_contact`."""
        return self._touching.in_contact(first, second, self._in_scope(where))

    def contacts(self, first: GeomGroup, second: GeomGroup, where: Mask) -> ContactRows:
        """See :meth:`Signals.contacts`."""
        return self._touching.contacts(first, second, self._in_scope(where))

    def within(self, where: Mask) -> BatchSignals:
        """See :meth:`Signals.within`; what one finds, all know."""
        narrowed = copy.copy(self)
        narrowed._scope = self._in_scope(where)
        return narrowed

    def _in_scope(self, where: Mask) -> Mask:
        return where if self._scope is None else where & self._scope

    def _frame(self, name: str) -> tuple[bool, int]:
        """Whether a site stands for a thing, and the number of that site or of its body."""
        item = self.scene.item(name)
        if isinstance(item, Region):
            return True, int(self._model.site(item.site).id)
        if isinstance(item, Hand):
            return True, int(self._model.site(item.center).id)
        return False, int(self._model.body(item.body).id)

    def _pose_of(self, name: str) -> Pose:
        is_site, index = self._frame(name)
        return self._batch.poses.site(index) if is_site else self._batch.poses.body(index)

    def _box(self, name: str) -> tuple[Floats, Floats]:
        """Box around the geoms of a thing's own body, in its frame; child bodies are left out."""
        self._batch.shape()
        model, body = self._model, self._kin.body(name)
        geoms = self._kin.geoms(GeomGroup(name))
        own = geoms[model.geom_bodyid[geoms] == body]
        return box_of(model, own) if own.size else (np.zeros(3), np.zeros(3))
