"""What models reply: plain types that every provider's structured output can express.

No dictionaries, tuples or tagged unions; lists and one recursive type. They are checked again by the
documents' own models (:mod:`mango_trace.oracle`), which are stricter.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Reply(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TaskEntry(_Reply):
    """An atomic task; see :class:`mango_trace.oracle.AtomicTask`."""

    id: str
    description: str
    parameters: list[str]
    preconditions: list[str]
    postconditions: list[str]


class TasksReply(_Reply):
    """Module I: the atomic task library."""

    atomic_tasks: list[TaskEntry]


class ExpressionEntry(_Reply):
    """Exactly one of a call, all_of, any_of, not; see :class:`mango_trace.oracle.Expression`."""

    all_of: list[ExpressionEntry] | None = None
    any_of: list[ExpressionEntry] | None = None
    not_: Annotated[ExpressionEntry | None, Field(alias="not")] = None
    function: str | None = None
    arguments: list[str | float] | None = None


class OracleEntry(_Reply):
    """An atomic oracle; see :class:`mango_trace.oracle.AtomicOracle`."""

    task_id: str
    oracle_id: str
    description: str
    parameters: list[str]
    expression: ExpressionEntry


class OraclesReply(_Reply):
    """Module II: the atomic oracles of one task."""

    atomic_oracles: list[OracleEntry]


class HandleEntry(_Reply):
    """The call of a predicate."""

    function: str
    arguments: list[str | float]


class MonitorEntry(_Reply):
    """One predicate call of an action."""

    oracle_id: str
    handle_as: HandleEntry
    negate: bool = False


class ActionEntry(_Reply):
    """An atomic task with its arguments and monitors."""

    action_id: str
    parameters: list[str]
    monitoring: list[MonitorEntry]
    hold: Annotated[int, Field(ge=1)] = 1
    at_end: bool = False


class StepEntry(_Reply):
    """A group of actions."""

    step: int
    instruction: str
    execution_mode: Literal["sequential", "any_order"]
    actions: list[ActionEntry]


class PlanReply(_Reply):
    """Module III: the oracle of one instruction; the paper's DSL and our optional fields."""

    instruction: str
    execution_mode: Literal["sequential", "any_order"]
    plan: list[StepEntry]
    never: list[MonitorEntry] = []


class Assessment(_Reply):
    """What an assessor says of a candidate.

    Attributes:
        issues: What is wrong, one thing each.
        justification: Why.
        score: From 0, unusable, to 10, nothing to improve.
    """

    issues: list[str]
    justification: str
    score: Annotated[float, Field(ge=0, le=10)]


class Ruling(_Reply):
    """What the judge decides.

    Attributes:
        accepted: Whether the candidate is taken as it is.
        corrections: What to change otherwise.
        redo: Names of the parts that are to be written again; of a library, those of its entries.
        justification: Why.
    """

    accepted: bool
    corrections: list[str]
    redo: list[str] = []
    justification: str
