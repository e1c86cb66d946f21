"""The types of a catalogue entry: what a predicate is called and what its arguments may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from mango_trace.scene.kinds import ArgumentKind


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a predicate.

    Attributes:
        name: Name, with the unit as suffix where a number has one, e.g. ``within_m``.
        kinds: What an argument may be; ``NUMBER`` stands alone.
        doc: One sentence.
        unit: Unit of a number, e.g. ``m`` or ``rad``.
        default: Value of an argument left out; only for numbers.
        minimum: Lower bound of a number.
        exclusive_minimum: Whether ``minimum`` itself is refused.
        maximum: Upper bound of a number, inclusive.

    Raises:
        ValueError: If the declaration contradicts itself.
    """

    name: str
    kinds: tuple[ArgumentKind, ...]
    doc: str
    unit: str | None = None
    default: float | None = None
    minimum: float | None = None
    exclusive_minimum: bool = False
    maximum: float | None = None

    def __post_init__(self) -> None:
        """Refuse a declaration that contradicts itself."""
        if not self.kinds or len(set(self.kinds)) != len(self.kinds):
            raise ValueError(f"parameter {self.name!r}: kinds must be given, each once")
        if ArgumentKind.NUMBER in self.kinds and len(self.kinds) > 1:
            raise ValueError(f"parameter {self.name!r}: a number cannot also be a name")
        bounds = (self.unit, self.default, self.minimum, self.maximum)
        if not self.is_number and (self.exclusive_minimum or any(b is not None for b in bounds)):
            raise ValueError(f"parameter {self.name!r}: only a number has unit, default or bounds")
        if self.exclusive_minimum and self.minimum is None:
            raise ValueError(f"parameter {self.name!r}: exclusive_minimum without a minimum")
        if self.default is not None and (fault := self.fault(self.default)):
            raise ValueError(f"parameter {self.name!r}: its default {fault}")

    @property
    def is_number(self) -> bool:
        """Whether it takes a number (otherwise a name)."""
        return self.kinds == (ArgumentKind.NUMBER,)

    def fault(self, value: float) -> str | None:
        """Say why a number is out of range.

        Args:
            value: The number, in ``unit``.

        Returns:
            A text such as ``must be > 0 m, not -1``, or ``None`` if the number is fine.
        """
        unit = f" {self.unit}" if self.unit else ""
        if not math.isfinite(value):
            return f"must be a finite number, not {value}"
        if self.minimum is not None:
            if self.exclusive_minimum and value <= self.minimum:
                return f"must be > {number_text(self.minimum)}{unit}, not {number_text(value)}"
            if value < self.minimum:
                return f"must be >= {number_text(self.minimum)}{unit}, not {number_text(value)}"
        if self.maximum is not None and value > self.maximum:
            return f"must be <= {number_text(self.maximum)}{unit}, not {number_text(value)}"
        return None

    def __str__(self) -> str:
        """Write it the way a signature shows it.

        >>> str(Parameter("within_m", (ArgumentKind.NUMBER,), "", "m", 0.05, 0.0, True))
        'within_m: number [m] > 0 = 0.05'
        """
        text = f"{self.name}: {'|'.join(self.kinds)}"
        if self.unit is not None:
            text += f" [{self.unit}]"
        if self.minimum is not None:
            text += f" {'>' if self.exclusive_minimum else '>='} {number_text(self.minimum)}"
        if self.maximum is not None:
            text += f" <= {number_text(self.maximum)}"
        if self.default is not None:
            text += f" = {number_text(self.default)}"
        return text


class Need(StrEnum):
    """What a predicate reads, from cheap to dear."""

    JOINT = "joint"
    """Positions of joints: recorded numbers."""
    POSE = "pose"
    """Where things are: recorded numbers for what moves freely, kinematics for the rest."""
    VELOCITY = "velocity"
    """How fast things move: recorded numbers that no other predicate reads."""
    CONTACT = "contact"
    """What touches what. A predicate that reads it says of a state only what that state's contacts say, never
    what others' do: where verdicts alone are asked, contacts are looked for in some states only."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """One entry of the catalogue.

    Attributes:
        name: The function name that an oracle writes.
        parameters: Its parameters in order; optional ones come last.
        doc: What it says, with its open and closed bounds.
        source: Where the rule comes from, e.g. ``LIBERO``, ``robosuite``, ``mango_trace``.
        evaluate: The pure function over arrays; gives truth of shape ``(..., T)``.
        needs: What it reads.
        check: Says why a call with names that are all of the right kind still means nothing in a
            scene (a region that moves with no joint), or ``None``; called with scene and arguments.
        geometric: Name of the entry that asks the same with the geometry done right, if this is a
            benchmark's rule that gets it wrong; it takes the same arguments.
        result: ``truth``, or ``number`` for a measurement, which no oracle may use as a monitor.

    Raises:
        ValueError: If a parameter is there twice or an optional one is not trailing.
    """

    name: str
    parameters: tuple[Parameter, ...]
    doc: str
    source: str
    evaluate: Callable[..., Any]
    needs: tuple[Need, ...] = (Need.POSE,)
    check: Callable[..., str | None] | None = None
    geometric: str | None = None
    result: Literal["truth", "number"] = "truth"

    def __post_init__(self) -> None:
        """Refuse parameters that a call could not bind without doubt."""
        names = [parameter.name for parameter in self.parameters]
        if len(set(names)) != len(names):
            raise ValueError(f"predicate {self.name!r}: a parameter name is there twice")
        optional = [parameter.default is not None for parameter in self.parameters]
        if optional != sorted(optional):
            raise ValueError(f"predicate {self.name!r}: optional parameters must come last")

    @property
    def required(self) -> int:
        """How many arguments have no default."""
        return sum(parameter.default is None for parameter in self.parameters)

    def signature(self) -> str:
        """Write the signature, e.g. ``near(a: object|hand, within_m: number [m] > 0 = 0.05)``."""
        return f"{self.name}({', '.join(map(str, self.parameters))})"


def number_text(value: float) -> str:
    """Write a number in its one canonical way.

    >>> number_text(1.0), number_text(-0.0), number_text(0.05)
    ('1', '0', '0.05')
    """
    if math.isfinite(value) and value == int(value) and abs(value) < 2**53:
        return str(int(value))
    return repr(float(value))
