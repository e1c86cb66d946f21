"""What every reader gives: tasks and episodes as their file holds them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from recorder.importing.errors import EpisodeError

Array = npt.NDArray[np.float64]
_MAX_TEXT: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class SourceTask:
    """What a file says of all its episodes.

    Attributes:
        benchmark: ``libero``, ``robosuite``, ``robocasa`` or ``metasim``.
        suite: Suite, or the empty string.
        task: Name of the task.
        instruction: What the policy was told.
        bddl: The benchmark's own description of the task, if the file carries it.
        versions: Versions of packages that shape the physics, as far as the file names them.
        control_hz: Control steps per second.
    """

    benchmark: str
    suite: str
    task: str
    instruction: str
    bddl: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    control_hz: float = 20.0

    def __post_init__(self) -> None:
        """See that its texts are some: a row with its error must be possible whatever a file says.

        Raises:
            EpisodeError: One is in no encoding, or endless.
        """
        for text in (self.suite, self.task, self.instruction, self.bddl or "", *self.versions.values()):
            if len(text) > _MAX_TEXT or text != text.encode(errors="replace").decode():
                raise EpisodeError(f"{text[:40]!r} is no text of bounded length")


@dataclass(frozen=True, slots=True)
class SourceEpisode:
    """One episode as its file holds it.

    Attributes:
        key: Its name in the file.
        number: Number in its name.
        xml: MJCF text of its model.
        flat: States as robosuite flattens them, ``(T, 1 + nq + nv)``: time, qpos, qvel. Empty where the
            file has components.
        components: Components of MuJoCo's state by name, ``(T, width)`` each, where the file has them.
        actions: Actions, ``(n, action_dim)``; ``states[j]`` is the state before ``actions[j]``.
        rewards: Rewards, ``(n,)``, or ``None``.
        label: Success that the file claims, if it claims anything.
        robot_joints: Positions of the robot's joints in the observations, ``(n, k)``, by which the skew
            between observations and states is found, or ``None``.
        task: Task of this episode, where it differs from the file's.
        init_state_id: Official initial state that it starts from, if the file says so.
    """

    key: str
    number: int
    xml: str
    flat: Array
    components: Mapping[str, Array]
    actions: Array
    rewards: Array | None = None
    label: bool | None = None
    robot_joints: Array | None = None
    task: SourceTask | None = None
    init_state_id: int | None = None

    @property
    def digest(self) -> str:
        """Twelve hex digits of a digest over model, states and actions."""
        whole = hashlib.sha256(self.xml.encode())
        for array in (self.flat, *(self.components[name] for name in sorted(self.components)), self.actions):
            whole.update(repr(array.shape).encode())
            whole.update(np.ascontiguousarray(array).data)
        return whole.hexdigest()[:12]


class Source(Protocol):
    """A file or folder of episodes."""

    path: Path
    task: SourceTask

    def keys(self) -> list[str]:
        """Names of its episodes, by number."""

    def filtered(self, name: str) -> list[str]:
        """Names of the episodes that a filter of the file keeps.

        Raises:
            SourceError: The file has no such filter.
        """

    def read(self, key: str) -> SourceEpisode:
        """Read one episode.

        Raises:
            EpisodeError: It is malformed.
        """

    def close(self) -> None:
        """Close the file."""
