"""Actions that come in chunks, and what is asked of them before they move a robot."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from recorder.errors import PolicyReplyError
from recorder.policies.base import EpisodeContext, FaultLabel

Chunk = npt.NDArray[np.float64]
"""Actions of the next steps, ``(n, action_dim)``, in the environment's own units."""


class Model(Protocol):
    """What answers an observation with the actions of the next steps, wherever it runs."""

    def reset(self, episode: EpisodeContext) -> None:
        """Make ready for an episode.

        Raises:
            PolicyUnavailableError: It cannot be reached.
        """

    def infer(self, observation: Mapping[str, Any]) -> Any:
        """Answer an observation with a chunk; what comes is checked by :func:`check_chunk`.

        Raises:
            PolicyError: No answer.
        """

    def close(self) -> None:
        """Let go of what it holds."""


class ChunkedPolicy:
    """Plays the first actions of a chunk, then asks for the next one. Never finished.

    Args:
        name: Name of the policy.
        version: Its version.
        model: What answers.
        replan_steps: Actions of each chunk that are played; ``None`` plays all of them.
    """

    finished = False
    labels: tuple[FaultLabel, ...] = ()

    def __init__(self, name: str, version: str, model: Model, replan_steps: int | None) -> None:
        self.name, self.version = name, version
        self._model, self._replan_steps = model, replan_steps
        self._action_dim = 0
        self._plan: deque[npt.NDArray[np.float64]] = deque()

    def reset(self, episode: EpisodeContext) -> None:
        """Forget the rest of the last chunk and make the model ready."""
        self._plan.clear()
        self._action_dim = episode.action_dim
        self._model.reset(episode)

    def act(self, observation: Mapping[str, Any]) -> npt.NDArray[np.float64]:
        """Return the next action of the chunk, ``(action_dim,)``; with none left the model is asked.

        Raises:
            PolicyError: No answer, or one that is no chunk of actions.
        """
        if not self._plan:
            chunk = check_chunk(self._model.infer(observation), self._action_dim, self._replan_steps)
            self._plan.extend(chunk[: self._replan_steps])
        return self._plan.popleft()

    @property
    def looks(self) -> bool:
        """Whether the next observation is looked at, and not just the next action of the chunk played."""
        return not self._plan

    def close(self) -> None:
        """Let go of the model."""
        self._model.close()


def check_chunk(reply: Any, action_dim: int, at_least: int | None = None) -> Chunk:
    """Check actions before they are played.

    Args:
        reply: Actions ``(n, action_dim)``, or one action ``(action_dim,)``.
        action_dim: Numbers in an action.
        at_least: Actions that must be there.

    Raises:
        PolicyReplyError: Another shape or type, too few actions, or a number that is not finite.
    """
    try:
        actions = np.asarray(reply)
    except ValueError as error:
        raise PolicyReplyError(f"actions are no array: {error}") from error
    if actions.dtype.kind not in "iuf":
        raise PolicyReplyError(f"actions have the type {actions.dtype}; they must be numbers")
    if actions.ndim == 1:
        actions = actions[None]
    if actions.ndim != 2 or actions.shape[1] != action_dim:
        raise PolicyReplyError(f"actions have the shape {np.shape(reply)}, expected (n, {action_dim})")
    if len(actions) < max(1, at_least or 1):
        raise PolicyReplyError(
            f"{len(actions)} actions came, {at_least or 1} are to be played before the next"
        )
    chunk: Chunk = actions.astype(np.float64)
    bad = np.argwhere(~np.isfinite(chunk))
    if bad.size:
        step, entry = map(int, bad[0])
        raise PolicyReplyError(f"action {step} has {chunk[step, entry]} at entry {entry}; it must be finite")
    return chunk
