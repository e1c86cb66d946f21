"""What the recorder asks of a policy, and what a policy is told about its episode."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class EpisodeContext:
    """One episode, as a policy sees it before its first action.

    Attributes:
        env: LIBERO ``ControlEnv`` (has ``.env``, the BDDL domain, ``.sim`` and ``.robots``), already
            reset, with its initial state set and the warm-up steps done.
        suite: Benchmark suite, e.g. ``"libero_10"``.
        task_index: Index of the task in the suite.
        task: Name of the task, e.g. ``"KITCHEN_SCENE4_put_the_black_bowl_in_..."``.
        instruction: What the robot is told to do.
        episode: Index of the episode in the recording.
        seed: Seed of this episode, already mixed with the episode's index.
        action_dim: Number of entries of an action.
    """

    env: Any
    suite: str
    task_index: int
    task: str
    instruction: str
    episode: int
    seed: int
    action_dim: int


@dataclass(frozen=True, slots=True)
class FaultLabel:
    """Ground truth of an injected fault: which action of the plan is the first to fail.

    Attributes:
        action_id: Atomic task: ``"pick_up"``, ``"place_in"``, ``"place_on"``, ``"close"``, ``"open"``
            or ``"turn_on"``.
        parameters: What the atomic task is about, e.g. ``("alphabet_soup_1", "basket_1_contain_region")``.
        action_index: Index of the action in the policy's plan, in the order of the plan without fault.
        state: Control step (0 is the first step that the policy acted) at which the faulty motion began;
            None when the episode ended before it.
        fault: Slug of the fault, e.g. ``"never_closes"``.
        failure_class: Slug of the failure taxonomy.
        verified: Whether the action did fail and those before it did not, by the states.
    """

    action_id: str
    parameters: tuple[str, ...]
    action_index: int
    state: int | None
    fault: str
    failure_class: str | None = None
    verified: bool | None = None


class Policy(Protocol):
    """Maps observations to actions, one episode at a time.

    Attributes:
        name: Name of the policy, e.g. ``"scripted"``.
        version: Changes whenever the same episode would give other actions.
    """

    name: str
    version: str

    def reset(self, episode: EpisodeContext) -> None:
        """Start an episode; nothing of the previous one may remain."""
        ...

    def act(self, observation: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the next action, ``(action_dim,)`` float64, in the environment's own units."""
        ...

    @property
    def finished(self) -> bool:
        """True once the policy has nothing more to do, so that the rollout may stop."""
        ...

    @property
    def labels(self) -> tuple[FaultLabel, ...]:
        """Ground truth of the episode's injected faults; empty without one."""
        ...
