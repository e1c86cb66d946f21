"""One episode: an environment, a policy and a recorder that watches."""

from __future__ import annotations

from typing import Any

import numpy as np

from mango_trace.errors import UsageError
from mango_trace.store import Label, TraceRecord
from mango_trace.store.metadata import INJECTED
from recorder.adapters.libero import DUMMY_ACTION, WARMUP_STEPS, LiberoTask, seeded_reset
from recorder.errors import PolicyUnavailableError
from recorder.policies.base import EpisodeContext, Policy
from recorder.recording import RecordedEnv
from recorder.specs import EpisodeSpec


def run_episode(env: RecordedEnv, task: LiberoTask, policy: Policy, spec: EpisodeSpec) -> TraceRecord | None:
    """Play and record one episode of a LIBERO task.

    The order of things is that of LIBERO's own evaluation: reset, official initial state, dummy
    actions until the objects have settled, then the policy. An episode goes on for
    ``spec.after_success`` steps past the first success, so that what is undone again is seen; one with a
    fault goes on to the end of the policy's plan, for the fault may be still to come.

    Args:
        env: Recorded environment of the task.
        task: The task.
        policy: The policy.
        spec: Which episode.

    Returns:
        Its row in the index; an episode that broke is stored with its error.

    Raises:
        PolicyUnavailableError: The policy cannot be reached; nothing of the episode is stored.
        UsageError: The policy is none, or cannot be made; the same holds.
    """
    _look(env, False)
    seeded_reset(env, spec.reset_seed)
    states = task.init_states()
    observation = env.set_init_state(states[spec.init_state_id % len(states)])
    env.describe(
        episode=spec.episode,
        horizon=spec.horizon,
        warmup_steps=WARMUP_STEPS,
        after_success=spec.after_success,
        fault=spec.fault,
        replayed=spec.source,
        suite=spec.suite,
        task_index=spec.task_index,
    )
    for step in range(WARMUP_STEPS):
        _look(env, step == WARMUP_STEPS - 1)
        observation, _, _, _ = env.step(np.array(DUMMY_ACTION))
    context = EpisodeContext(
        env=env,
        suite=spec.suite,
        task_index=spec.task_index,
        task=task.name,
        instruction=task.instruction,
        episode=spec.episode,
        seed=spec.policy_seed,
        action_dim=len(DUMMY_ACTION),
    )
    try:
        _play(env, policy, context, observation, spec)
    except (PolicyUnavailableError, UsageError):
        env.discard_episode()
        raise
    except Exception as error:
        # Whatever a policy raises ends this episode and no other; it is stored as an error, which
        # is never a failed policy.
        env.describe(labels=_labels(policy))
        return env.finish_episode(ended="error", error=f"{type(error).__name__}: {error}")
    env.describe(labels=_labels(policy))
    return env.finish_episode()


def _play(
    env: RecordedEnv,
    policy: Policy,
    context: EpisodeContext,
    observation: Any,
    spec: EpisodeSpec,
) -> None:
    policy.reset(context)
    remaining: int | None = None
    for _ in range(spec.horizon):
        action = policy.act(observation)
        _look(env, getattr(policy, "looks", True))
        observation, _, success, _ = env.step(action)
        if success and remaining is None and spec.fault is None:
            remaining = spec.after_success
        if remaining is not None:
            if remaining == 0:
                return
            remaining -= 1
        elif policy.finished:
            return


def _look(env: RecordedEnv, looks: bool) -> None:
    """Have the cameras drawn, if there are any, only where the next observation is looked at."""
    shutter = getattr(env, "shutter", None)
    if shutter is not None:
        shutter.open = looks


def _labels(policy: Policy) -> tuple[Label, ...]:
    return tuple(
        Label(
            who=INJECTED,
            action_id=label.action_id,
            parameters=label.parameters,
            action_index=label.action_index,
            state=None if label.state is None else WARMUP_STEPS + label.state,
            failure_class=label.failure_class,
            verified=label.verified,
            note=label.fault,
        )
        for label in policy.labels
    )
