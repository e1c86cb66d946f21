"""Policies by name, as the command line knows them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mango_trace.errors import UnknownNameError, UsageError
from recorder.policies.base import Policy
from recorder.policies.scripted import Fault, ScriptedPolicy, applicable_faults
from recorder.policies.simple import NoopPolicy, RandomPolicy, ReplayPolicy

POLICIES = ("noop", "random", "replay", "scripted")
"""Names of the policies that the command line can run."""


def make_policy(
    name: str, *, fault: str | None = None, actions: npt.NDArray[np.float64] | None = None
) -> Policy:
    """Make a policy.

    Args:
        name: Its name.
        fault: Fault to inject, ``kind@action``; only ``scripted`` has any.
        actions: Actions that ``replay`` plays, ``(n_steps, action_dim)``.

    Raises:
        UnknownNameError: No such policy.
        UsageError: ``replay`` without actions.
    """
    if name == "noop":
        return NoopPolicy()
    if name == "random":
        return RandomPolicy()
    if name == "replay":
        if actions is None:
            raise UsageError("policy replay needs the actions of a stored trace")
        return ReplayPolicy(actions)
    if name == "scripted":
        return ScriptedPolicy(Fault.parse(fault) if fault else None)
    raise UnknownNameError("policy", name, POLICIES)


def fault_names(suite: str, task_index: int, wanted: Sequence[str]) -> tuple[str | None, ...]:
    """Faults to inject into a task, ``None`` standing for a run without any.

    Args:
        suite: Suite.
        task_index: Task in the suite's order.
        wanted: ``kind@action``, ``none``, or ``all`` for every fault that applies to the task; with
            nothing wanted there is one run without fault.

    Raises:
        UnknownNameError: A fault that does not apply to the task.
    """
    if not wanted:
        return (None,)
    applicable = [str(fault) for fault in applicable_faults(suite, task_index)]
    names: list[str | None] = []
    for name in wanted:
        if name == "all":
            names.extend(applicable)
        elif name == "none":
            names.append(None)
        elif name in applicable:
            names.append(name)
        else:
            raise UnknownNameError(f"fault for {suite} task {task_index}", name, applicable)
    return tuple(dict.fromkeys(names))
