"""The fine-grained oracle as a document: the paper's DSL and four optional extension fields.

Field names are the paper's. The extensions ``hold``, ``at_end``, ``never`` and ``negate`` are left
out of the canonical form while they have their defaults, so a plain document keeps one identity.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BeforeValidator, Field, StringConstraints, field_validator
from pydantic_core import PydanticCustomError

from mango_trace.oracle.document import (
    WHOLE,
    FrozenModel,
    Location,
    describe,
    load,
    read_text,
    validate,
)

MAX_ACTIONS: Final = 1000
"""Most actions in one plan."""

MAX_INTEGER: Final = 2**53
"""Largest whole number that a double holds exactly, and thus the largest argument."""

Mode: TypeAlias = Literal["sequential", "any_order"]
"""How the children of a group follow each other."""

Name: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""An identifier: of an object, a task, an oracle, a function."""

Text: TypeAlias = Annotated[str, StringConstraints(max_length=10_000)]
"""A sentence for people."""


def _scalar(value: object) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        # Half a surrogate pair cannot be stored anywhere as UTF-8.
        if value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value):
            return value
        raise PydanticCustomError("scalar", "is not valid Unicode")
    if not isinstance(value, int | float):
        message = f"a name, a number, true or false is needed, not {describe(value)}"
        raise PydanticCustomError("scalar", "{message}", {"message": message})
    if not math.isfinite(value) if isinstance(value, float) else abs(value) > MAX_INTEGER:
        message = "must be a finite number" if isinstance(value, float) else "is too large"
        raise PydanticCustomError("scalar", "{message}", {"message": message})
    return value


Value: TypeAlias = Annotated[str | bool | int | float, BeforeValidator(_scalar)]
"""An argument: a name, a finite number or a boolean, each kept as what it is."""


class Handle(FrozenModel):
    """The call of a predicate.

    Attributes:
        function: Name in the predicate catalogue.
        arguments: Names of the scene, and numbers.
    """

    function: Name
    arguments: tuple[Value, ...]


class Monitor(FrozenModel):
    """One predicate call inside an oracle.

    Attributes:
        oracle_id: The atomic oracle that it is taken from.
        handle_as: The call.
        negate: Whether the call must *not* hold (extension). ``not open(x)`` is not ``close(x)``.
    """

    oracle_id: Name
    handle_as: Handle
    negate: bool = False


class Action(FrozenModel):
    """An atomic task with its arguments and what must hold when it is done.

    Attributes:
        action_id: The atomic task.
        parameters: Names in the scene.
        monitoring: Monitors that must hold together.
        hold: For how many consecutive states (extension).
        at_end: Whether it must still hold at the last state (extension).
    """

    action_id: Name
    parameters: Annotated[tuple[Name, ...], Field(min_length=1)]
    monitoring: Annotated[tuple[Monitor, ...], Field(min_length=1)]
    hold: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    at_end: bool = False


class Step(FrozenModel):
    """A group of actions.

    Attributes:
        step: Its number, from 1, increasing.
        instruction: What it is, for people.
        execution_mode: How its actions follow each other.
        actions: The actions.
    """

    step: Annotated[int, Field(ge=1, le=1_000_000)]
    instruction: Text
    execution_mode: Mode
    actions: Annotated[tuple[Action, ...], Field(min_length=1)]


class FineGrainedOracle(FrozenModel):
    """The oracle of one instruction.

    Attributes:
        instruction: What the robot was told.
        execution_mode: How the steps follow each other.
        plan: The steps.
        never: Invariants: none of these monitors may be true at an evaluated state (extension).
    """

    instruction: Text
    execution_mode: Mode
    plan: Annotated[tuple[Step, ...], Field(min_length=1)]
    never: tuple[Monitor, ...] = ()

    @field_validator("plan")
    @classmethod
    def _check_plan(cls, plan: tuple[Step, ...]) -> tuple[Step, ...]:
        faults = _plan_faults([step.step for step in plan], [len(step.actions) for step in plan])
        for _, message in faults:
            raise PydanticCustomError(WHOLE, "{message}", {"message": message})
        return plan

    @cached_property
    def canonical(self) -> str:
        """Canonical JSON: sorted keys, no whitespace, numbers by value, no default extensions."""
        # Only the extension fields have defaults, so this leaves the paper's fields in.
        document = _by_value(self.model_dump(exclude_defaults=True))
        return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def digest(self) -> str:
        """Identity of the oracle: SHA-256 of :attr:`canonical`, 64 hex digits."""
        return hashlib.sha256(self.canonical.encode("ascii")).hexdigest()


def parse_oracle(text: str | bytes, source: str) -> FineGrainedOracle:
    """Read an oracle from JSON.

    Args:
        text: The document, at most 1 MiB.
        source: Its name in messages.

    Returns:
        The oracle; its names are not yet checked against a scene.

    Raises:
        SpecificationError: With every problem and its dotted path.
    """
    document = load(text, source)
    return validate(FineGrainedOracle, document, source, _raw_faults(document))


def read_oracle(path: str | Path) -> FineGrainedOracle:
    """Read an oracle file.

    Args:
        path: The file.

    Returns:
        The oracle.

    Raises:
        SpecificationError: If it cannot be read, or with every problem in it.
    """
    return parse_oracle(read_text(path), str(path))


def _plan_faults(steps: Sequence[object], sizes: Sequence[int]) -> list[tuple[tuple[str | int, ...], str]]:
    """Find what is wrong with the plan as a whole, relative to ``plan``."""
    faults: list[tuple[tuple[str | int, ...], str]] = []
    last: int | None = None
    for index, step in enumerate(steps):
        if not isinstance(step, int) or isinstance(step, bool):
            continue
        if last is not None and step <= last:
            faults.append(((index, "step"), f"steps must increase: {step} comes after {last}"))
        last = step
    if sum(sizes) > MAX_ACTIONS:
        faults.append(((), f"{sum(sizes)} actions; the limit is {MAX_ACTIONS}"))
    return faults


def _raw_faults(document: object) -> list[tuple[Location, str]]:
    """Find plan faults in a document that may be wrong in other ways too."""
    plan = document.get("plan") if isinstance(document, dict) else None
    if not isinstance(plan, list):
        return []
    steps = [step if isinstance(step, dict) else {} for step in plan]
    actions = [step.get("actions") for step in steps]
    sizes = [len(group) if isinstance(group, list) else 0 for group in actions]
    faults = _plan_faults([step.get("step") for step in steps], sizes)
    return [(("plan", *where), message) for where, message in faults]


def _by_value(node: Any) -> Any:
    """Write equal numbers equally: 1.0 as 1, -0.0 as 0."""
    if isinstance(node, dict):
        return {name: _by_value(child) for name, child in node.items()}
    if isinstance(node, list | tuple):
        return [_by_value(child) for child in node]
    if isinstance(node, float) and node.is_integer() and abs(node) < MAX_INTEGER:
        return int(node)
    return node
