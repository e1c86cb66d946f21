"""A trace in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mango_trace.store.layout import SUCCESS_UNKNOWN
from mango_trace.store.metadata import TraceMetadata

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trace:
    """One recorded episode.

    Attributes:
        scene: Digest of its scene package.
        states: Components of MuJoCo's state by name, each ``(n_states, width)`` float64; at least
            ``time`` and ``qpos``. ``state[t]`` is the state before ``action[t]``.
        action: Actions, ``(n_steps, action_dim)`` with ``n_steps = n_states - 1``.
        reward: Rewards, ``(n_steps,)``.
        success: The benchmark's own live success after each step, ``(n_steps,)`` uint8: 0, 1, or
            255 where it gave none.
        metadata: Where it comes from.
    """

    scene: str
    states: Mapping[str, Array]
    action: Array
    reward: Array
    success: npt.NDArray[np.uint8]
    metadata: TraceMetadata

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.states["qpos"])

    @property
    def time(self) -> Array:
        """Simulation time, ``(n_states,)`` s."""
        return self.states["time"][:, 0]

    @property
    def signals_input(self) -> dict[str, Array]:
        """Components as :class:`mango_trace.signals.SceneKinematics` takes them."""
        return {**self.states, "time": self.time}

    @property
    def first_success_step(self) -> int | None:
        """Step after which the benchmark's live check was first true."""
        found = np.flatnonzero(self.success == 1)
        return int(found[0]) if found.size else None

    @property
    def live_success(self) -> bool | None:
        """Whether the live check was ever true; ``None`` when it was never given."""
        if self.success.size and (self.success == SUCCESS_UNKNOWN).all():
            return None
        return self.first_success_step is not None

    def arrays(self) -> dict[str, npt.NDArray[np.float64] | npt.NDArray[np.uint8]]:
        """Every array by its path in the store."""
        return {
            **{f"state/{name}": values for name, values in self.states.items()},
            "step/action": self.action,
            "step/reward": self.reward[:, None],
            "step/success": self.success[:, None],
        }
