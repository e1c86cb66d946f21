"""Mistakes that the scripted policy can be asked to make, each with what would have worked.

::

    ScriptedPolicyError(ValueError)
    ├── ScriptedPlanMissingError     no plan for this task
    ├── FaultSyntaxError             not "kind@index", or no such kind
    └── FaultNotApplicableError      this task's plan has no such fault at this action
"""

from collections.abc import Sequence


class ScriptedPolicyError(ValueError):
    """Base of every error raised by the scripted policy."""


class ScriptedPlanMissingError(ScriptedPolicyError):
    """There is no plan for the task."""

    def __init__(self, suite: str, task_index: int, supported: Sequence[tuple[str, int]]) -> None:
        known = ", ".join(f"{name} task {index}" for name, index in supported)
        super().__init__(f"the scripted policy has no plan for {suite} task {task_index}; it has: {known}")


class FaultSyntaxError(ScriptedPolicyError):
    """The text names no fault."""

    def __init__(self, text: str, kinds: Sequence[str]) -> None:
        super().__init__(f'"{text}" is no fault; write kind@index with a kind of: {", ".join(kinds)}')


class FaultNotApplicableError(ScriptedPolicyError):
    """The plan of the task has no action at this index to which this fault applies."""

    def __init__(self, fault: str, suite: str, task_index: int, applicable: Sequence[str]) -> None:
        known = ", ".join(applicable)
        super().__init__(f"{fault} does not apply to {suite} task {task_index}; these do: {known}")
