"""Traces that are broken on purpose, made from stored states without any simulator.

Every function takes a trace and returns a new one. Time is kept as it was, so it increases; states are
taken from other times, for all or for one thing, and numbers are never mixed, so quaternions stay normal.
A mutant has no actions and no rewards, and nobody said whether it succeeded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from mango_trace.proving.things import Thing
from mango_trace.store import Trace
from mango_trace.store.layout import SUCCESS_UNKNOWN

Index: TypeAlias = npt.NDArray[np.intp]
"""For each state the one that it is taken from, ``(T,)``."""

_STARTED: Final = 0.1
"""Share of its way after which a thing counts as under way."""


class Kind(StrEnum):
    """How a trace was broken."""

    NO_OP = "no_op"
    """Nothing happens: the first settled state again and again."""
    CUT = "cut_short"
    """It ends before a condition of the goal first holds."""
    REVERSED = "reversed"
    """What was done is undone, in the opposite order."""
    REMOVED = "effect_removed"
    """What a condition of the goal is about never moves, stops short or is put back; the rest goes on."""
    LEAP = "way_left_out"
    """An object is where it belongs without having been brought there: the states of its way are replaced by
    the one before it."""
    ORDER = "order_swapped"
    """Two things are dealt with in the other order."""
    SWAPPED = "objects_swapped"
    """Each of two objects is where the other one was."""


@dataclass(frozen=True, slots=True)
class Event:
    """When a condition of the benchmark's goal first held that did not hold at the start.

    Attributes:
        condition: Canonical text of the condition.
        thing: What it is about: its first argument, if that moves.
        at: First state in which it surely held.
    """

    condition: str
    thing: Thing | None
    at: int


@dataclass(frozen=True, slots=True)
class Mutant:
    """A trace that was broken on purpose.

    Attributes:
        kind: How.
        what: What exactly, for people.
        trace: The broken trace.
        order: Of two things dealt with in the other order, what happened with each, first the one that
            was first in the source; ``None`` for other kinds.
        about: The object whose way was left out; ``None`` for other kinds.
    """

    kind: Kind
    what: str
    trace: Trace
    order: tuple[Event, Event] | None = None
    about: Thing | None = None


def stand_still(trace: Trace, n_states: int) -> Trace:
    """Repeat the first settled state.

    Args:
        trace: The source.
        n_states: Evaluated states, at most as many as the source has.
    """
    start = trace.metadata.warmup_steps
    length = min(trace.n_states, start + n_states)
    return retime(trace, np.minimum(np.arange(length), start), {})


def leave_out(trace: Trace, first: int, stop: int) -> Trace:
    """Stay in a state for as long as it takes to another one, then go on from there.

    Args:
        trace: The source.
        first: State that is repeated.
        stop: First state after it that is as it was.
    """
    index = np.arange(trace.n_states)
    index[first:stop] = first
    return retime(trace, index, {})


def cut_short(trace: Trace, n_states: int) -> Trace:
    """Keep the first states alone."""
    return retime(trace, np.arange(min(n_states, trace.n_states)), {})


def reverse(trace: Trace) -> Trace:
    """Run the evaluated states backwards; those of the warm-up stay."""
    start = trace.metadata.warmup_steps
    index = np.arange(trace.n_states)
    index[start:] = index[start:][::-1]
    return retime(trace, index, {})


def freeze(trace: Trace, thing: Thing, state: int) -> Trace:
    """Let a thing stay from ``state`` on where it is then, while the rest goes on."""
    index = np.arange(trace.n_states)
    return retime(trace, index, {thing: np.minimum(index, state)})


def put_back(trace: Trace, thing: Thing, state: int) -> Trace:
    """Let a thing be from ``state`` on where it was at the start, while the rest goes on."""
    index = np.arange(trace.n_states)
    return retime(trace, index, {thing: np.where(index < state, index, trace.metadata.warmup_steps)})


def swap_objects(trace: Trace, first: Thing, second: Thing) -> Trace:
    """Exchange the poses of two free objects at all states.

    Raises:
        ValueError: One of the two is no free object.
    """
    if not (first.free and second.free):
        raise ValueError(f"{first.name} and {second.name} must both move freely to be exchanged")
    states = dict(trace.states)
    for component in ("qpos", "qvel"):
        if component in states:
            mine, other = (list(getattr(thing, component)) for thing in (first, second))
            states[component] = states[component].copy()
            states[component][:, mine] = trace.states[component][:, other]
            states[component][:, other] = trace.states[component][:, mine]
            states[component].setflags(write=False)
    return _mutant_of(trace, states)


def swap_order(trace: Trace, first: Event, second: Event) -> Trace | None:
    """Deal with two things in the other order.

    The states from where the second thing gets under way to where its condition holds come before those
    of the first thing. Either thing stays where it is while the other one is dealt with.

    Args:
        trace: The source.
        first: What happened first.
        second: What happened then.

    Returns:
        The mutant, or ``None`` where both happened at once and cannot be told apart.
    """
    start, stop = trace.metadata.warmup_steps, second.at + 1
    if first.thing is None or second.thing is None or first.at >= second.at:
        return None
    seam = _under_way(trace, second.thing, first.at, second.at)
    before, after = np.arange(start + 1, seam), np.arange(seam, stop)
    head, tail = np.arange(start + 1), np.arange(stop, trace.n_states)
    index = np.concatenate([head, after, before, tail])
    waits = np.concatenate([head, np.full(after.size, start), before, tail])
    rests = np.concatenate([head, after, np.full(before.size, second.at), tail])
    return retime(trace, index, {first.thing: waits, second.thing: rests})


def retime(trace: Trace, index: Index, things: Mapping[Thing, Index]) -> Trace:
    """Take states from other times; time itself stays.

    Args:
        trace: The source.
        index: For each state of the result the state of the source, ``(T,)``; the result is no longer
            than the source.
        things: The same for things that have times of their own.

    Returns:
        A new trace. Velocities are turned round where time runs backwards and zero where it stands still.
    """
    states = {name: values[: index.size].copy() for name, values in trace.states.items()}
    for name, values in trace.states.items():
        if name == "time":
            continue
        states[name] = values[index]
        if name == "qvel":
            states[name] *= _pace(index)
        for thing, times in things.items():
            columns = list(getattr(thing, name)) if name in ("qpos", "qvel") else []
            states[name][:, columns] = values[times][:, columns]
            if name == "qvel":
                states[name][:, columns] *= _pace(times)
    for values in states.values():
        values.setflags(write=False)
    return _mutant_of(trace, states)


def mutants_of(
    trace: Trace,
    events: Sequence[Event],
    success: int,
    named: Sequence[Thing],
    others: Sequence[Thing],
) -> Iterator[Mutant]:
    """Mutants of a successful trace in which something is missing or wrong at the end.

    They depend on the trace and on the benchmark's goal, on no oracle.

    Args:
        trace: The source.
        events: When the conditions of the goal first held.
        success: First state in which the goal held as a whole.
        named: Free objects that the goal names.
        others: All free objects of the scene.
    """
    for at in sorted({success, *(event.at for event in events)}):
        yield Mutant(Kind.CUT, f"ends before state {at}", cut_short(trace, at))
    yield Mutant(Kind.REVERSED, "runs backwards", reverse(trace))
    for event in events:
        if event.thing is None:
            continue
        for state in sorted({trace.metadata.warmup_steps, event.at - 1}):
            what = f"{event.thing.name} stays from state {state} on"
            yield Mutant(Kind.REMOVED, what, freeze(trace, event.thing, state))
        what = f"{event.thing.name} is back from state {event.at} on"
        yield Mutant(Kind.REMOVED, what, put_back(trace, event.thing, event.at))
    done = set()
    for first in named:
        for second in others:
            pair = frozenset((first.name, second.name))
            if len(pair) == 2 and pair not in done:
                done.add(pair)
                what = f"{first.name} and {second.name} exchanged"
                yield Mutant(Kind.SWAPPED, what, swap_objects(trace, first, second))


def way_mutants_of(trace: Trace, events: Sequence[Event], success: int) -> Iterator[Mutant]:
    """Mutants in which the way of an object is left out; everything is in its place at the end.

    Args:
        trace: The source.
        events: When the conditions of the goal first held.
        success: First state in which the goal held as a whole; the last quarter of what comes then stays.
    """
    ordered = sorted(events, key=lambda event: event.at)
    first = trace.metadata.warmup_steps
    for event, following in zip(ordered, [*ordered[1:], None], strict=True):
        stop = trace.n_states - (trace.n_states - success) // 4
        if following is not None and following.thing is not None and following.at > event.at:
            stop = _under_way(trace, following.thing, event.at, following.at)
        if event.thing is not None and event.thing.free and first < event.at < stop < trace.n_states:
            what = f"{event.thing.name} is not brought to where it is at state {stop}"
            yield Mutant(Kind.LEAP, what, leave_out(trace, first, stop), about=event.thing)
        first = event.at


def order_mutants_of(trace: Trace, events: Sequence[Event]) -> Iterator[Mutant]:
    """Mutants in which two things are dealt with in the other order; nothing is missing at the end.

    Args:
        trace: The source.
        events: When the conditions of the goal first held.
    """
    for first in events:
        for second in events:
            if first.thing is None or second.thing is None or first.thing.overlaps(second.thing):
                continue
            swapped = swap_order(trace, first, second)
            if swapped is not None:
                what = f"{second.thing.name} before {first.thing.name}"
                yield Mutant(Kind.ORDER, what, swapped, (first, second))


def _under_way(trace: Trace, thing: Thing, first: int, last: int) -> int:
    """State after ``first`` from which on a thing has left for where it is at ``last``."""
    way = trace.states["qpos"][first : last + 1, list(thing.qpos)]
    moved = np.linalg.norm(way - way[0], axis=1)
    still = np.flatnonzero(moved[:-1] <= _STARTED * moved[-1])
    return first + int(still[-1]) + 1


def _pace(index: Index) -> npt.NDArray[np.float64]:
    """How fast time runs in each state: 1, -1 backwards, 0 where it stands still; ``(T, 1)``."""
    steps = np.diff(index)
    pace = np.where(np.abs(steps) <= 1, steps, 1).astype(np.float64)
    return np.append(pace, pace[-1] if pace.size else 1.0)[:, None]


def _mutant_of(trace: Trace, states: Mapping[str, npt.NDArray[np.float64]]) -> Trace:
    n_steps = max(len(states["qpos"]) - 1, 0)
    return replace(
        trace,
        states=states,
        action=np.zeros((n_steps, 0)),
        reward=np.full(n_steps, np.nan),
        success=np.full(n_steps, SUCCESS_UNKNOWN, np.uint8),
    )
