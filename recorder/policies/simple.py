"""Policies that look at nothing: do nothing, move at random, replay."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recorder.policies.base import EpisodeContext, FaultLabel


class NoopPolicy:
    """LIBERO's dummy action at every step: no motion, gripper open. Never finished."""

    name = "noop"
    version = "1"
    finished = False
    labels: tuple[FaultLabel, ...] = ()

    def __init__(self) -> None:
        self._action = np.zeros(0)

    def reset(self, episode: EpisodeContext) -> None:
        """Take the number of action entries from the episode."""
        self._action = np.zeros(episode.action_dim)
        self._action[-1] = -1.0

    def act(self, observation: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return zeros with -1 (open) for the gripper, ``(action_dim,)``."""
        return self._action.copy()


class RandomPolicy:
    """Uniform actions in [-1, 1], each held for a few steps so that the arm gets somewhere. Never finished.

    Args:
        hold_steps: Control steps for which one random action is held, at least 1.

    Raises:
        ValueError: ``hold_steps`` is below 1.
    """

    name = "random"
    version = "1"
    finished = False
    labels: tuple[FaultLabel, ...] = ()

    def __init__(self, hold_steps: int = 8) -> None:
        if hold_steps < 1:
            raise ValueError(f"hold_steps must be at least 1, not {hold_steps}")
        self._hold_steps = hold_steps
        self._rng = np.random.default_rng(0)
        self._action = np.zeros(0)
        self._step = 0

    def reset(self, episode: EpisodeContext) -> None:
        """Seed the generator with the episode's seed."""
        self._rng = np.random.default_rng(episode.seed)
        self._action = np.zeros(episode.action_dim)
        self._step = 0

    def act(self, observation: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the held action or, every ``hold_steps`` steps, a new one; ``(action_dim,)``."""
        if self._step % self._hold_steps == 0:
            drawn = self._rng.uniform(-1.0, 1.0, size=self._action.shape)
            self._action = drawn.astype(np.float32).astype(np.float64)
        self._step += 1
        return self._action.copy()


class ReplayPolicy:
    """Replays stored actions, then holds still with the gripper as it was; finished after the last one.

    Args:
        actions: Actions in the environment's own units, ``(n_steps, action_dim)``, ``n_steps`` at least 1.

    Raises:
        ValueError: The array is not two-dimensional or is empty.
    """

    name = "replay"
    version = "1"
    labels: tuple[FaultLabel, ...] = ()

    def __init__(self, actions: NDArray[np.float64]) -> None:
        stored = np.array(actions, dtype=np.float64)
        if stored.ndim != 2 or stored.size == 0:
            raise ValueError(f"actions must be a non-empty (n_steps, action_dim) array, not {stored.shape}")
        self._actions = stored
        self._step = 0

    def reset(self, episode: EpisodeContext) -> None:
        """Go back to the first action.

        Raises:
            ValueError: The stored actions have another width than the environment's.
        """
        width = self._actions.shape[1]
        if width != episode.action_dim:
            raise ValueError(f"actions have {width} entries, the environment takes {episode.action_dim}")
        self._step = 0

    def act(self, observation: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the next stored action, ``(action_dim,)``, bit for bit."""
        if self._step >= len(self._actions):
            still = np.zeros(self._actions.shape[1])
            still[-1] = self._actions[-1, -1]
            return still
        action: NDArray[np.float64] = self._actions[self._step].copy()
        self._step += 1
        return action

    @property
    def finished(self) -> bool:
        """True once every stored action has been returned."""
        return self._step >= len(self._actions)
