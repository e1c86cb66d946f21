"""Recorded states of some traces of one scene, one behind the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.scene.overrides import Overrides
from mango_trace.signals.base import Floats, States
from mango_trace.signals.poses import BatchPoses, Pose, Poses, computable
from mango_trace.signals.validity import Validity, check_states
from mango_trace.truth import Mask

if TYPE_CHECKING:
    from mango_trace.signals.mujoco_signals import SceneKinematics

_SHAPE_FIELDS: Final = frozenset(
    f"geom_{field}" for field in ("pos", "quat", "size", "margin", "gap", "contype", "conaffinity")
)


def shape_overrides(overrides: Overrides) -> Overrides:
    """What a reset wrote into shapes of geoms."""
    return {name: rows for name, rows in overrides.items() if name in _SHAPE_FIELDS}


@dataclass(frozen=True)
class TraceStates:
    """Recorded states of one trace.

    Attributes:
        states: Components by name: ``time (T,)``, ``qpos (T, nq)``, optionally ``qvel``,
            ``mocap_pos``, ``mocap_quat``.
        overrides: What the episode's reset wrote into the model.
        settled: First state after the warm-up.
    """

    states: Mapping[str, npt.NDArray[np.float64]]
    overrides: Overrides = field(default_factory=dict)
    settled: int = 0

    @cached_property
    def batch_key(self) -> str:
        """Equal for traces that can be in one batch: same components, same shapes of geoms."""
        return json.dumps([sorted(self.states), shape_overrides(self.overrides)], sort_keys=True)

    @cached_property
    def model_key(self) -> str:
        """Equal for traces whose resets left the same model."""
        return json.dumps(self.overrides, sort_keys=True)

    def only(self, state: int) -> TraceStates:
        """One of its states alone."""
        states = {name: values[state : state + 1] for name, values in self.states.items()}
        return TraceStates(states, self.overrides)


class Batch:
    """States of some traces, with what is valid of them and the poses of their bodies.

    Args:
        kinematics: The scene.
        traces: At least one; all with the same :attr:`TraceStates.batch_key`.

    Attributes:
        n_states: Number of states of all traces.
        starts: First state of each trace, and behind the last one.
        settled: For each state the first one of its trace after the warm-up, ``(T,)``.
        qpos: Positions, ``(T, nq)``; those of the model where a state is not valid.
        mocap: Positions ``(T, 3 * nmocap)`` and quaternions ``(T, 4 * nmocap)`` of mocap bodies, or ``None``.
        validity: Which states of each trace are sound.
        valid: The same for all states, ``(T,)``.
        shortcuts: Whether answers may be found in another way than by MuJoCo's full passes.
    """

    def __init__(self, kinematics: SceneKinematics, traces: Sequence[TraceStates]) -> None:
        self._kin, self._model, self._traces = kinematics, kinematics.model, traces
        lengths = [len(trace.states["qpos"]) for trace in traces]
        self.starts: npt.NDArray[np.intp] = np.concatenate([[0], np.cumsum(lengths, dtype=np.intp)])
        self.n_states = int(self.starts[-1])
        settled = [
            start + min(trace.settled, length - 1)
            for start, trace, length in zip(self.starts[:-1], traces, lengths, strict=True)
        ]
        self.settled: npt.NDArray[np.intp] = np.repeat(np.array(settled, dtype=np.intp), lengths)
        self.qpos = self.joined("qpos")
        self.mocap: tuple[Floats, Floats] | None = None
        if self._model.nmocap and self.has("mocap_pos") and self.has("mocap_quat"):
            self.mocap = self.joined("mocap_pos"), self.joined("mocap_quat")
        time = self.joined("time")
        self.validity: tuple[Validity, ...] = tuple(
            self._check(slice(first, stop), time)
            for first, stop in zip(self.starts[:-1], self.starts[1:], strict=True)
        )
        self.valid = np.concatenate([validity.valid for validity in self.validity])
        if not self.valid.all():
            self.qpos[~self.valid] = self._model.qpos0
            for values in self.mocap or ():
                values[~self.valid] = np.resize((1.0, 0.0, 0.0, 0.0), values.shape[1])
        distinct = {trace.model_key: trace for trace in traces}
        numbers = {key: number for number, key in enumerate(distinct)}
        self._versions = [trace.overrides for trace in distinct.values()]
        self._version = np.repeat([numbers[trace.model_key] for trace in traces], lengths)
        self._fields = [kinematics.pose_fields(trace) for trace in distinct.values()]
        self.shortcuts = kinematics.prefilter and not shape_overrides(self._versions[0])

    def has(self, component: str) -> bool:
        """Whether a component was recorded."""
        return component in self._traces[0].states

    def joined(self, component: str) -> Floats:
        """A component of all traces, ``(T, width)``."""
        return np.concatenate([trace.states[component] for trace in self._traces], dtype=np.float64)

    @cached_property
    def poses(self) -> Poses:
        """Where bodies and sites are."""
        if self._kin.prefilter and all(computable(fields) for fields in self._fields):
            return BatchPoses(self._model, self.qpos, self.mocap, self._fields, self._version)
        poses = _StatewisePoses(self._model, self.n_states)
        for prepare, states in self.sections(np.ones(self.n_states, dtype=np.bool_)):
            prepare()
            for state in self.loaded(states):
                poses.take(state, self._kin.data)
        return poses

    def shape(self) -> None:
        """See that the geoms of the model have the shapes of these traces."""
        self._kin.shape(self._versions[0])

    def load(self, state: int) -> None:
        """Put a state into the simulator's data, and the model into its condition; all poses computed."""
        self._kin.use(self._versions[self._version[state]])
        next(self.loaded(np.array([state])))

    def sections(self, where: Mask) -> Iterator[tuple[Callable[[], None], States]]:
        """States of ``where`` by the condition of the model that they belong to, and how to make it."""
        for number, overrides in enumerate(self._versions):
            states = np.flatnonzero(where & (self._version == number))
            if states.size:
                yield partial(self._kin.use, overrides), states

    def loaded(self, states: States) -> Iterator[int]:
        """Put states into the simulator's data one by one, all poses computed, those of geoms too."""
        model, data, forward = self._model, self._kin.data, mujoco.mj_kinematics
        target = data.qpos
        for state in states.tolist():
            target[:] = self.qpos[state]
            if self.mocap is not None:
                data.mocap_pos[:] = self.mocap[0][state].reshape(-1, 3)
                data.mocap_quat[:] = self.mocap[1][state].reshape(-1, 4)
            forward(model, data)
            yield state

    def _check(self, part: slice, time: Floats) -> Validity:
        mocap = None if self.mocap is None else (self.mocap[0][part], self.mocap[1][part])
        found = check_states(self._kin.quaternions, time[part], self.qpos[part], mocap)
        if self._model.nmocap and self.mocap is None:
            unrecorded = "mocap poses were not recorded: what hangs on them is undetermined"
            found = replace(found, problems=(*found.problems, unrecorded))
        return found


class _StatewisePoses:
    """Poses from MuJoCo's own kinematics, state by state: what :class:`BatchPoses` must equal."""

    def __init__(self, model: mujoco.MjModel, n_states: int) -> None:
        self._bodies = np.empty((n_states, model.nbody, 3)), np.empty((n_states, model.nbody, 9))
        self._sites = np.empty((n_states, model.nsite, 3)), np.empty((n_states, model.nsite, 9))

    def take(self, state: int, data: mujoco.MjData) -> None:
        """Copy the poses of a state."""
        self._bodies[0][state], self._bodies[1][state] = data.xpos, data.xmat
        self._sites[0][state], self._sites[1][state] = data.site_xpos, data.site_xmat

    def body(self, index: int) -> Pose:
        """Pose of a body."""
        return Pose(self._bodies[0][:, index], self._bodies[1][:, index].reshape(-1, 3, 3))

    def site(self, index: int) -> Pose:
        """Pose of a site."""
        return Pose(self._sites[0][:, index], self._sites[1][:, index].reshape(-1, 3, 3))
