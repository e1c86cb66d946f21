"""Which recorded states can be judged at all."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.truth import Mask

_SMALLEST_QUATERNION = 1e-6


@dataclass(frozen=True, slots=True)
class Validity:
    """Where the states of a trace are sound.

    Attributes:
        valid: ``(T,)``, false where a state cannot be judged.
        problems: What was found, with the first state of each kind.
    """

    valid: Mask
    problems: tuple[str, ...]


def check_states(
    model: mujoco.MjModel,
    time: npt.NDArray[np.float64],
    qpos: npt.NDArray[np.float64],
    qvel: npt.NDArray[np.float64] | None,
    mocap: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None,
) -> Validity:
    """Find states that cannot be judged.

    Non-finite numbers and quaternions without length spoil their own state. Time that stands still
    or runs backwards means that the simulation was reset inside the trace (MuJoCo does so by itself
    when it diverges): from there on the states belong to another run. A last state of nothing but NaN
    stands for one that its source never stored.

    Args:
        model: Model of the scene.
        time: Simulation time, ``(T,)`` s.
        qpos: Positions, ``(T, nq)``.
        qvel: Velocities, ``(T, nv)``, or ``None`` when they were not recorded.
        mocap: Positions ``(T, 3 * nmocap)`` and wxyz quaternions ``(T, 4 * nmocap)`` of mocap
            bodies, or ``None`` when they were not recorded.

    Returns:
        The valid states and the problems.
    """
    problems: list[str] = []
    finite = np.isfinite(time) & np.isfinite(qpos).all(axis=1)
    if qvel is not None:
        finite &= np.isfinite(qvel).all(axis=1)
    if mocap is not None:
        finite &= np.isfinite(mocap[0]).all(axis=1) & np.isfinite(mocap[1]).all(axis=1)
    if len(qpos) and np.isnan(qpos[-1]).all():
        problems.append("terminal state not stored")
    _note(problems, ~finite, "state {first} is not finite ({count} such states)")
    whole = np.ones(len(time), dtype=np.bool_)
    quaternions = [qpos[:, start : start + 4] for start in _quaternion_starts(model)]
    if mocap is not None:
        quaternions += [mocap[1][:, 4 * body : 4 * body + 4] for body in range(model.nmocap)]
    for quaternion in quaternions:
        with np.errstate(invalid="ignore", over="ignore"):
            length = np.sqrt((quaternion**2).sum(axis=1))
        whole &= ~(length < _SMALLEST_QUATERNION)
    _note(problems, ~whole, "state {first} has a quaternion of length zero ({count} such states)")
    valid = finite & whole
    clock = np.flatnonzero(np.isfinite(time))
    back = np.flatnonzero(np.diff(time[clock]) <= 0)
    if back.size:
        before, reset = (int(state) for state in clock[back[0] : back[0] + 2])
        problems.append(
            f"simulation reset at state {reset}: time goes from {time[before]:g} s to "
            f"{time[reset]:g} s; the {len(time) - reset} states from there on are not judged"
        )
        valid[reset:] = False
    return Validity(valid, tuple(problems))


def _note(problems: list[str], bad: Mask, text: str) -> None:
    where = np.flatnonzero(bad)
    if where.size:
        problems.append(text.format(first=int(where[0]), count=where.size))


def _quaternion_starts(model: mujoco.MjModel) -> list[int]:
    kinds, starts = model.jnt_type, model.jnt_qposadr
    free = starts[kinds == mujoco.mjtJoint.mjJNT_FREE] + 3
    ball = starts[kinds == mujoco.mjtJoint.mjJNT_BALL]
    return sorted([*free.tolist(), *ball.tolist()])
