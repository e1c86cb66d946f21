"""What compiling gives: an oracle whose names, kinds and ranges fit a scene."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from mango_trace.oracle.model import FineGrainedOracle, Mode
from mango_trace.predicates.signature import Predicate, number_text
from mango_trace.truth import Truth
from mango_trace.truth import negate as negation

Argument: TypeAlias = str | float
"""A bound argument: a name of the scene or a number."""


@dataclass(frozen=True)
class CompiledMonitor:
    """One distinct predicate call of an oracle.

    Attributes:
        predicate: The catalogue entry.
        arguments: One for each parameter, defaults filled in; numbers are floats.
        negate: Whether the call must not hold.
    """

    predicate: Predicate
    arguments: tuple[Argument, ...]
    negate: bool = False

    @cached_property
    def call(self) -> str:
        """Canonical text of the call without its negation, e.g. ``near(bowl_1, plate_1, 0.05)``."""
        texts = [a if isinstance(a, str) else number_text(a) for a in self.arguments]
        return f"{self.predicate.name}({', '.join(texts)})"

    @cached_property
    def key(self) -> str:
        """Canonical text, e.g. ``not open(cabinet_1)``; two monitors are the same iff it is."""
        return f"not {self.call}" if self.negate else self.call

    def apply(self, truth: Truth) -> Truth:
        """Turn truth of the bare call into truth of the monitor: negates it where asked."""
        return negation(truth) if self.negate else truth


@dataclass(frozen=True, slots=True)
class CompiledAction:
    """One action of an oracle.

    Attributes:
        index: Position in plan order, from 0.
        step: Number of its step in the document.
        action_id: The atomic task.
        parameters: Its arguments.
        monitors: Indices into ``CompiledOracle.monitors``; all must hold together.
        hold: For how many consecutive states.
        at_end: Whether it must still hold at the last state.
    """

    index: int
    step: int
    action_id: str
    parameters: tuple[str, ...]
    monitors: tuple[int, ...]
    hold: int = 1
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Node of the order tree.

    Attributes:
        mode: How the children follow each other.
        children: Groups, and actions by index.
    """

    mode: Mode
    children: tuple[Group | int, ...]


@dataclass(frozen=True, slots=True)
class CompiledOracle:
    """An oracle that fits a scene.

    Attributes:
        name: Its name in messages.
        digest: Identity of the document.
        oracle: The document.
        monitors: Every distinct monitor, those of ``never`` included.
        actions: Every action in plan order.
        root: Steps and actions with their order.
        never: Indices into ``monitors`` that may never be true.
    """

    name: str
    digest: str
    oracle: FineGrainedOracle
    monitors: tuple[CompiledMonitor, ...]
    actions: tuple[CompiledAction, ...]
    root: Group
    never: tuple[int, ...] = ()
