"""What is known about a trace besides its numbers."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Ending: TypeAlias = Literal["terminated", "truncated", "error"]
"""How an episode ended: by the benchmark's own rule, without success when the steps or the policy's
plan ran out, or by a fault of the program.

An error is never a failed policy.
"""

Fidelity: TypeAlias = Literal["integration", "physics", "positions"]
"""What the recorded states suffice for: exact restart, approximate restart, judging only."""

INJECTED: Final = "injected"
"""Who gives the labels of injected faults."""

Count: TypeAlias = Annotated[int, Field(ge=0)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


_versions: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}


def _shared(versions: dict[str, str]) -> dict[str, str]:
    """One object for equal versions: all traces of a recording have the same."""
    return _versions.setdefault(tuple(versions.items()), versions)


class Label(_Frozen):
    """Ground truth about a failed run: which action failed first.

    Attributes:
        who: Where it comes from: ``injected`` for a fault, else a person's own name for itself.
        when: When it was given, UTC; ``None`` for an injected fault.
        action_id: Atomic task that failed first, independent of any oracle; ``None`` for none.
        parameters: Its arguments.
        action_index: Its index in the plan that the label was made against.
        state: State at which the failure began, or ``None``.
        failure_class: Slug of the failure taxonomy, or ``None``.
        verified: Of an injected fault, whether the states show that the action did fail and those before
            it did not; ``None`` where nobody looked.
        note: Anything else.
    """

    who: Annotated[str, Field(min_length=1)]
    when: datetime | None = None
    action_id: str | None
    parameters: tuple[str, ...] = ()
    action_index: int | None = None
    state: int | None = None
    failure_class: str | None = None
    verified: bool | None = None
    note: str = ""


class TraceMetadata(_Frozen):
    """Where a trace comes from and how it ended.

    Attributes:
        benchmark: Adapter, e.g. ``libero``.
        suite: Suite within the benchmark.
        task_index: Index of the task in the suite's order, if it has one.
        task: Name of the task.
        instruction: What the policy was told.
        policy: Name of the policy.
        policy_version: Its version.
        seed: Seed of the whole recording.
        episode: Index of the episode among those of the same task, policy and seed.
        init_state_id: Which official initial state; a function of ``episode`` only.
        horizon: Control steps after which the episode was cut off; 0 where nobody knows.
        warmup_steps: Steps at the start, while objects settle; no verdict looks at them.
        after_success: Steps recorded past the first success.
        ended: How the episode ended.
        error: What went wrong, where it ended in an error.
        fault: Fault that was injected, if one was.
        replayed: Trace whose actions were replayed, if it is a replay.
        fidelity: What the states suffice for.
        source_label: Success that the source claims but did not measure, if any.
        source: File and episode that an imported trace was taken from, with a digest of its content.
        notes: What an importer changed, and what it could not tell.
        versions: Versions of the packages that shape the physics.
        overrides: What the reset wrote into the model: field, element, numbers.
        labels: Ground truth.
    """

    benchmark: str
    suite: str
    task_index: int | None
    task: Annotated[str, AfterValidator(sys.intern)]
    instruction: Annotated[str, AfterValidator(sys.intern)]
    policy: str
    policy_version: str = "0"
    seed: int = 0
    episode: Count = 0
    init_state_id: int | None = None
    horizon: Count = 0
    warmup_steps: Count = 0
    after_success: Count = 0
    ended: Ending = "truncated"
    error: str | None = None
    fault: str | None = None
    replayed: str | None = None
    fidelity: Fidelity = "integration"
    source_label: bool | None = None
    source: str | None = None
    notes: tuple[str, ...] = ()
    versions: Annotated[dict[str, str], AfterValidator(_shared)] = {}
    overrides: dict[str, dict[str, list[float]]] = {}
    labels: tuple[Label, ...] = ()
