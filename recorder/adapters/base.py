"""What the recorder asks of a simulator.

Another simulator is another class with these methods and a line in
:func:`recorder.adapters.adapter_for`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import mujoco

from mango_trace.scene.overrides import Overrides
from mango_trace.scene.package import ScenePackage


@dataclass(frozen=True, slots=True)
class TaskIdentity:
    """Which task an environment plays.

    Attributes:
        suite: Suite, or the empty string when the task is in none.
        task_index: Index in the suite's order, if it has one.
        task: Name.
        instruction: What the policy is told.
    """

    suite: str
    task_index: int | None
    task: str
    instruction: str


class Adapter(Protocol):
    """One simulator, as the recorder sees it."""

    benchmark: str
    """Name stored with every trace."""
    dummy_actions: tuple[tuple[float, ...], ...]
    """Actions of warm-up steps, any one of which they are recognised by in other people's loops."""

    def physics(self, env: Any) -> tuple[mujoco.MjModel, mujoco.MjData]:
        """MuJoCo's model and data of the environment as it is now; a reset may replace both."""

    def identify(self, env: Any) -> TaskIdentity:
        """Which task the environment plays."""

    def scene(self, env: Any) -> tuple[ScenePackage, Overrides]:
        """Scene package of the environment and what its last reset wrote into the model."""

    def init_state_id(self, env: Any, init_state: Any) -> int | None:
        """Number of an official initial state, or ``None`` when it is not one of them.

        Args:
            env: The environment.
            init_state: A state as it is given to the environment; ``None`` for the one that it is in.
        """

    def live_success(self, env: Any, done: bool) -> bool | None:
        """The benchmark's own success value after a step.

        Args:
            env: The environment.
            done: The third value that its ``step`` returned.
        """

    def versions(self) -> dict[str, str]:
        """Versions of the packages that shape the physics."""
