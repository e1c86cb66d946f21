"""When things complete: the two-valued core of the temporal semantics.

State 0 is the first evaluated state; ``NEVER`` stands for infinity.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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

    >>> import numpy as np
    >>> first_completion(np.array([1, 0, 1, 1], bool), 1, 2)
    3
    """
    if hold > len(effect):
        return NEVER
    begin = effect.tobytes().find(b"\1" * hold, start)
    return NEVER if begin < 0 else begin + hold - 1


class Runs:
    """Runs of true states of an effect.

    Attributes:
        effect: Where it holds, shape (T,).
        first: First true state, or ``NEVER``.
        last: Last true state, or ``NEVER``.
        longest: States of the longest run.
    """

    __slots__ = ("effect", "first", "last", "longest")

    def __init__(self, effect: Mask) -> None:
        """Take an effect."""
        self.effect = effect
        self.first, self.last, self.longest = summary(effect)


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
    # The run must reach over the completion, which follows the predecessor's by ``hold``.
    reach = min(late, NEVER - hold) + hold if may_complete else 0
    edge = certain_edge(certain.effect, possible.effect, early, reach)
    return None if edge == NEVER else edge


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
    edge = _possible_edge(certain.effect, possible.effect, early, late, hold if must_complete else 0)
    return None if edge == NEVER else edge


def summary(effect: Mask) -> tuple[int, int, int]:
    """First and last true state and the length of the longest run."""
    states = effect.tobytes()
    first = states.find(1)
    if first < 0:
        return NEVER, NEVER, 0
    return first, states.rfind(1), len(max(states.replace(b"\0", b" ").split()))


def certain_edge(certain: Mask, possible: Mask, before: int, reach: int) -> int:
    """First state before ``before`` at which surely a run begins that lasts at least to ``reach``."""
    sure, maybe = certain.tobytes(), possible.tobytes()
    state = maybe.find(b"\0\1") + 1
    while 0 < state < before:
        if sure[state] and _end_of_run(sure, state) >= reach:
            return state
        state = maybe.find(b"\0\1", state) + 1
    return NEVER


def _possible_edge(certain: Mask, possible: Mask, early: int, late: int, hold: int) -> int:
    """First state before ``late`` at which a run may begin; with ``hold``, one that may complete."""
    sure, maybe = certain.tobytes(), possible.tobytes()
    before = sure.find(0)
    while before >= 0:
        state = maybe.find(1, before + 1)
        if not 0 < state < late:
            break
        if hold == 0 or _end_of_run(maybe, state) >= max(state + 1, early) + hold:
            return state
        before = sure.find(0, state)
    return NEVER


def _end_of_run(states: bytes, state: int) -> int:
    """Last state of the run that a true state lies in."""
    end = states.find(0, state)
    return (len(states) if end < 0 else end) - 1
