"""Which recorded states can be judged at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.jit import Axes, loop
from mango_trace.signals.base import Floats
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
    quaternions: Sequence[int],
    time: Floats,
    qpos: Floats,
    mocap: tuple[Floats, Floats] | None = None,
) -> Validity:
    """Find states that cannot be judged. Velocities are not looked at: few predicates read them.

    Non-finite numbers and quaternions without length spoil their own state. Time that stands still
    or runs backwards means that the simulation was reset inside the trace (MuJoCo does so by itself
    when it diverges): from there on the states belong to another run. A last state of nothing but NaN
    stands for one that its source never stored.

    Args:
        quaternions: Where quaternions start in ``qpos``; see :func:`quaternion_starts`.
        time: Simulation time, ``(T,)`` s.
        qpos: Positions, ``(T, nq)``.
        mocap: Positions ``(T, 3 * nmocap)`` and wxyz quaternions ``(T, 4 * nmocap)`` of mocap
            bodies, or ``None`` when they were not recorded.

    Returns:
        The valid states and the problems.
    """
    starts = np.asarray(quaternions, dtype=np.intp)
    time, qpos = (np.ascontiguousarray(values, dtype=np.float64) for values in (time, qpos))
    if mocap is None and _sound(starts, time, qpos):
        return Validity(np.ones(len(time), dtype=np.bool_), ())
    problems: list[str] = []
    components = [time[:, None], qpos, *(mocap or ())]
    finite = np.ones(len(time), dtype=np.bool_)
    with np.errstate(invalid="ignore", over="ignore"):
        if not all(np.isfinite(values.sum()) for values in components):  # a sum may also overflow
            finite = np.logical_and.reduce([np.isfinite(values).all(axis=1) for values in components])
        if len(qpos) and np.isnan(qpos[-1]).all():
            problems.append("terminal state not stored")
        _note(problems, ~finite, "state {first} is not finite ({count} such states)")
        columns = np.add.outer(starts, np.arange(4))
        whole = _have_length(qpos[:, columns])
        if mocap is not None:
            whole &= _have_length(mocap[1].reshape(len(time), -1, 4))
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


def quaternion_starts(model: mujoco.MjModel) -> tuple[int, ...]:
    """Where the quaternions of free and ball joints start in ``qpos``."""
    kinds, starts = model.jnt_type, model.jnt_qposadr
    free = starts[kinds == mujoco.mjtJoint.mjJNT_FREE] + 3
    ball = starts[kinds == mujoco.mjtJoint.mjJNT_BALL]
    return tuple(sorted([*free.tolist(), *ball.tolist()]))


@loop
def _sound(
    quaternions: Annotated[npt.NDArray[np.intp], Axes(1)],
    time: Annotated[Floats, Axes(1)],
    qpos: Annotated[Floats, Axes(2)],
) -> bool:
    """Whether there is nothing to be found."""
    for state in range(len(time)):
        if not math.isfinite(time[state]) or (state and time[state] <= time[state - 1]):
            return False
        for coordinate in range(qpos.shape[1]):
            if not math.isfinite(qpos[state, coordinate]):
                return False
        for start in quaternions:
            square = 0.0
            for coordinate in range(start, start + 4):
                square += qpos[state, coordinate] ** 2
            if square < _SMALLEST_QUATERNION**2:
                return False
    return True


def _have_length(quaternions: Floats) -> Mask:
    """States in which no quaternion, ``(T, n, 4)``, has length zero; NaN is another matter."""
    return np.asarray(~((quaternions**2).sum(axis=2) < _SMALLEST_QUATERNION**2).any(axis=1))


def _note(problems: list[str], bad: Mask, text: str) -> None:
    where = np.flatnonzero(bad)
    if where.size:
        problems.append(text.format(first=int(where[0]), count=where.size))
