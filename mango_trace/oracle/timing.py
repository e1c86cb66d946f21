"""When things complete: the two-valued core of the temporal semantics.

State 0 is the first evaluated state; ``NEVER`` stands for infinity. No loop over T.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from mango_trace.oracle.compiled import Group
from mango_trace.truth import Mask

NEVER: Final = sys.maxsize
"""State of what does not happen."""


@dataclass(frozen=True, slots=True)
class Reading:
    """When everything completes if the truth is what was read.

    Attributes:
        completed: State where the root completes.
        starts: First state of each action's turn.
        completions: State where each action completes.
        previous: State where each action's predecessor completes; ``None`` if it has none.
    """

    completed: int
    starts: tuple[int, ...]
    completions: tuple[int, ...]
    previous: tuple[int | None, ...]


def read(root: Group, effects: Sequence[Mask], holds: Sequence[int]) -> Reading:
    """Find the earliest completions.

    Args:
        root: The order tree over the actions.
        effects: Where each action holds, shape (T,).
        holds: For how many consecutive states each must hold.

    Returns:
        The reading.
    """
    starts = [NEVER] * len(effects)
    completions = [NEVER] * len(effects)
    previous: list[int | None] = [None] * len(effects)

    def walk(node: Group | int, start: int, before: int | None) -> int:
        if isinstance(node, int):
            starts[node], previous[node] = start, before
            completions[node] = first_completion(effects[node], start, holds[node])
            return completions[node]
        latest = -1
        for child in node.children:
            done = walk(child, start, before)
            latest = max(latest, done)
            if node.mode == "sequential":
                before = done
                start = done + 1 if done < NEVER else NEVER
        return latest

    completed = walk(root, 0, None)
    return Reading(completed, tuple(starts), tuple(completions), tuple(previous))


def first_completion(effect: Mask, start: int, hold: int) -> int:
    """First t such that the effect holds at ``t-hold+1 .. t``, all of them >= ``start``.

    >>> first_completion(np.array([1, 0, 1, 1], bool), 1, 2)
    3
    """
    if start > len(effect) - hold:
        return NEVER
    window = effect[start:]
    if hold > 1:
        total = np.concatenate(([0], np.cumsum(window, dtype=np.int64)))
        window = total[hold:] - total[:-hold] == hold
    at = int(window.argmax())
    return start + at + hold - 1 if window[at] else NEVER


class Runs:
    """Runs of true states of an effect."""

    def __init__(self, effect: Mask) -> None:
        """Take an effect: where it holds, shape (T,)."""
        self.effect = effect

    @cached_property
    def _edges(self) -> npt.NDArray[np.int64]:
        """Alternating first state of a run and first state after it, shape (2 R,)."""
        framed = np.zeros(len(self.effect) + 2, dtype=np.bool_)
        framed[1:-1] = self.effect
        return np.flatnonzero(framed[1:] != framed[:-1])

    @cached_property
    def begins(self) -> npt.NDArray[np.int64]:
        """First state of each run, shape (R,)."""
        return self._edges[::2]

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """Last state of each run, shape (R,)."""
        return self._edges[1::2] - 1

    @property
    def first(self) -> int:
        """First true state, or ``NEVER``."""
        return int(self.begins[0]) if self.begins.size else NEVER

    @property
    def last(self) -> int:
        """Last true state, or ``NEVER``."""
        return int(self.ends[-1]) if self.ends.size else NEVER

    @property
    def longest(self) -> int:
        """States of the longest run."""
        return int((self.ends - self.begins).max()) + 1 if self.begins.size else 0

    def end_at(self, states: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Last state of the run that each of some true states lies in."""
        return self.ends[np.searchsorted(self.begins, states, side="right") - 1]


def edge_surely(
    certain: Runs, possible: Runs, early: int, late: int, hold: int, *, may_complete: bool
) -> int | None:
    """Find a rising edge that makes an ordering violation whatever the unknowns are.

    Args:
        certain: Runs of what surely holds.
        possible: Runs of what possibly holds.
        early: Earliest completion of the predecessor.
        late: Latest completion of the predecessor.
        hold: For how many states the action must hold.
        may_complete: Whether the action possibly completes.

    Returns:
        The state of the edge, or ``None``. Exact when nothing is undetermined.
    """
    begins = certain.begins
    edges = (begins > 0) & (begins < early)
    edges &= ~possible.effect[np.maximum(begins - 1, 0)]
    if may_complete:
        # The run must reach over the completion, which follows the predecessor's by ``hold``.
        edges &= certain.ends >= min(late, NEVER - hold) + hold
    found = begins[edges]
    return int(found[0]) if found.size else None


def edge_possible(
    certain: Runs, possible: Runs, early: int, late: int, hold: int, *, must_complete: bool
) -> int | None:
    """Find a rising edge that could make an ordering violation.

    Args:
        certain: Runs of what surely holds.
        possible: Runs of what possibly holds.
        early: Earliest completion of the predecessor.
        late: Latest completion of the predecessor.
        hold: For how many states the action must hold.
        must_complete: Whether the action surely completes.

    Returns:
        The state of the edge, or ``None``. Exact when nothing is undetermined.
    """
    edges = possible.effect.copy()
    edges[0] = False
    edges[1:] &= ~certain.effect[:-1]
    states = np.flatnonzero(edges)
    states = states[states < late]
    if must_complete and states.size:
        reach = np.maximum(states + 1, early) + hold
        states = states[possible.end_at(states) >= reach]
    return int(states[0]) if states.size else None
