"""An episode of another program as a trace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import mujoco
import numpy as np

from mango_trace.scene.model import Scene
from mango_trace.scene.package import ScenePackage
from mango_trace.store import Trace, TraceMetadata
from mango_trace.store.layout import SUCCESS_UNKNOWN
from mango_trace.store.metadata import Fidelity
from recorder.adapters.libero import LiberoAdapter, task_index
from recorder.importing.episode import Array, SourceEpisode, SourceTask
from recorder.importing.errors import EpisodeError
from recorder.importing.scenes import Placed
from recorder.recording import warmup_steps

_ARM_JOINT = re.compile(r"robot0_(?!.*gripper)")
_ONE_NUMBER: Final = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_SAME_JOINTS: Final = 1e-4  # rad; observations may be float32


def trace_of(episode: SourceEpisode, task: SourceTask, placed: Placed, *, source: str, policy: str) -> Trace:
    """Make a trace of an episode.

    Its labels are kept as what the source claims. A terminal state that was not stored is a state of
    NaN, so that "not reached in the stored states" is no failure. A component that the source did not
    store is not in the trace.

    Args:
        episode: The episode.
        task: Its task.
        placed: Its scene.
        source: Which file and episode it is.
        policy: Name of the policy.

    Raises:
        EpisodeError: States, actions and model do not fit together.
    """
    states = _components(episode, placed.model)
    n_states, n_actions = len(states["qpos"]), len(episode.actions)
    if n_states == n_actions and n_states:
        states = {name: _with_unknown_end(values) for name, values in states.items()}
    elif n_states != n_actions + 1:
        raise EpisodeError(f"{episode.key}: {n_states} states do not go with {n_actions} actions")
    rewards = np.full(n_actions, np.nan) if episode.rewards is None else episode.rewards
    if len(rewards) != n_actions:
        raise EpisodeError(f"{episode.key}: {len(rewards)} rewards do not go with {n_actions} actions")
    skew = _skew_note(episode, states["qpos"], placed.model)
    waits = LiberoAdapter.dummy_actions if task.benchmark == LiberoAdapter.benchmark else ()
    warmup = warmup_steps(list(episode.actions), waits)
    return Trace(
        scene=placed.package.digest,
        states=states,
        action=np.ascontiguousarray(episode.actions),
        reward=np.ascontiguousarray(rewards),
        success=np.full(n_actions, SUCCESS_UNKNOWN, dtype=np.uint8),
        metadata=TraceMetadata(
            **_origin(episode, task, source, policy),
            warmup_steps=warmup,
            fidelity=_fidelity(states, placed.model),
            source_label=episode.label,
            overrides=placed.overrides,
            notes=(*placed.notes, *((skew,) if skew else ())),
        ),
    )


def failed_trace(
    task: SourceTask, *, key: str, number: int, source: str, policy: str, reason: str
) -> tuple[ScenePackage, Trace]:
    """Row of an episode that could not be imported: it is counted, and nothing of its states is known."""
    scene = Scene(
        simulator=task.benchmark, task=task.task, robot="", objects=(), regions=(), surfaces=(), hands=()
    )
    package = ScenePackage(scene, "<mujoco/>", {})
    episode = SourceEpisode(key, number, "", np.empty((0, 0)), {}, np.empty((0, 0)))
    metadata = TraceMetadata(
        **_origin(episode, task, source, policy), fidelity="positions", ended="error", error=reason
    )
    trace = Trace(
        scene=package.digest,
        states={"time": np.zeros((1, 1)), "qpos": np.zeros((1, 0))},
        action=np.zeros((0, 0)),
        reward=np.zeros(0),
        success=np.zeros(0, dtype=np.uint8),
        metadata=metadata,
    )
    return package, trace


def _origin(episode: SourceEpisode, task: SourceTask, source: str, policy: str) -> dict[str, Any]:
    return {
        "benchmark": task.benchmark,
        "suite": task.suite,
        "task_index": task_index(task.suite, task.task) if task.benchmark == "libero" else None,
        "task": task.task,
        "instruction": task.instruction,
        "policy": policy,
        "episode": episode.number,
        "init_state_id": episode.init_state_id,
        "versions": dict(task.versions),
        "source": source,
    }


def _components(episode: SourceEpisode, model: mujoco.MjModel) -> dict[str, Array]:
    """States by component, each with as many numbers as the model has."""
    if episode.components:
        return _checked(episode, model)
    rows, width = episode.flat.shape
    expected = 1 + model.nq + model.nv
    if width != expected or rows == 0:
        raise EpisodeError(
            f"{episode.key}: {rows} states of {width} numbers; its model has {expected}: time, "
            f"{model.nq} positions, {model.nv} velocities"
        )
    return {
        "time": np.ascontiguousarray(episode.flat[:, :1]),
        "qpos": np.ascontiguousarray(episode.flat[:, 1 : 1 + model.nq]),
        "qvel": np.ascontiguousarray(episode.flat[:, 1 + model.nq :]),
    }


def _checked(episode: SourceEpisode, model: mujoco.MjModel) -> dict[str, Array]:
    widths = {
        "time": 1,
        "qpos": model.nq,
        "qvel": model.nv,
        "act": model.na,
        "mocap_pos": 3 * model.nmocap,
        "mocap_quat": 4 * model.nmocap,
    }
    for name, values in episode.components.items():
        if name not in widths or values.ndim != 2 or values.shape[1] != widths[name]:
            raise EpisodeError(
                f"{episode.key}: {name} of shape {values.shape}; its model has "
                f"{widths.get(name, 'no such component')}"
            )
    if not {"time", "qpos"} <= episode.components.keys() or not len(episode.components["qpos"]):
        raise EpisodeError(f"{episode.key}: no time and qpos")
    return {name: np.ascontiguousarray(values) for name, values in episode.components.items() if widths[name]}


def _with_unknown_end(values: Array) -> Array:
    return np.concatenate([values, np.full((1, values.shape[1]), np.nan)])


def _fidelity(states: Mapping[str, Array], model: mujoco.MjModel) -> Fidelity:
    """What the stored components suffice for; an exact restart needs more than any file of these has."""
    needed = (
        {"qvel"} | ({"act"} if model.na else set()) | ({"mocap_pos", "mocap_quat"} if model.nmocap else set())
    )
    return "physics" if needed <= states.keys() else "positions"


def _skew_note(episode: SourceEpisode, qpos: Array, model: mujoco.MjModel) -> str | None:
    """Say which state the observations of a row belong to, where it is not the one of that row."""
    seen = episode.robot_joints
    if seen is None or not len(seen) or len(seen) != len(episode.actions):
        return None
    columns = [
        int(model.jnt_qposadr[joint])
        for joint in range(model.njnt)
        if _ARM_JOINT.match(model.joint(joint).name) and int(model.jnt_type[joint]) in _ONE_NUMBER
    ][: seen.shape[1]]
    if len(columns) != seen.shape[1]:
        return None
    stored = qpos[: len(seen), columns]
    if np.abs(stored - seen).max() <= _SAME_JOINTS:
        return None
    if len(seen) > 1 and np.abs(stored[1:] - seen[:-1]).max() <= _SAME_JOINTS:
        return "observations of a row are those of the state after its action"
    return "observations agree neither with the state before nor with that after their action"
