"""Many traces judged together where nothing is undetermined.

The rules are those of :mod:`mango_trace.oracle.semantics`, which stays the law: what is found here equals
:func:`~mango_trace.oracle.semantics.judge` and :func:`~mango_trace.oracle.semantics.termination`. A trace in
which an undetermined state could matter is left to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from mango_trace.jit import Axes, inner, loop
from mango_trace.oracle.compiled import CompiledOracle, Group
from mango_trace.oracle.decide import ActionOutcome, Order, Outcome
from mango_trace.oracle.semantics import (
    ActionResult,
    Judgement,
    Reason,
    Termination,
    check_truths,
    failed_set,
)
from mango_trace.oracle.timing import NEVER
from mango_trace.truth import Mask, Truth

_Numbers: TypeAlias = npt.NDArray[np.int64]
_Row: TypeAlias = Annotated[_Numbers, Axes(1)]
_Room: TypeAlias = Annotated[_Numbers, Axes(2, written=True)]

_ACTION: Final = 0
_SEQUENTIAL: Final = 1
_ANY_ORDER: Final = 2
_NONE: Final = -1

# Columns of what is found of an action; times count from the first evaluated state.
_STARTED: Final = 0
_COMPLETED: Final = 1
_PREVIOUS: Final = 2
_FIRST: Final = 3
_LAST: Final = 4
_LONGEST: Final = 5
_AT_END: Final = 6
_EDGE: Final = 7
_COLUMNS: Final = 8

# Columns of what is found of a trace.
_SETTLED: Final = 0
_ALL_COMPLETED: Final = 1
_BROKEN: Final = 2
_TOGETHER_FIRST: Final = 3
_TOGETHER_LONGEST: Final = 4
_TOGETHER_AT_END: Final = 5
_IN_TURN: Final = 6
_TRACE_COLUMNS: Final = 7

# Rows of the stack on which groups of the order tree wait.
_PLACE: Final = 0
_STOP: Final = 1
_MODE: Final = 2
_START: Final = 3
_BEFORE: Final = 4
_LATEST: Final = 5
_STACK_ROWS: Final = 6


class _Program(NamedTuple):
    """An oracle as arrays: nodes of the order tree, each before its children; ``A`` actions."""

    kind: _Row
    """Action or mode of a group, ``(N,)``."""
    action: _Row
    """Index of an action, ``(N,)``."""
    size: _Row
    """Nodes of the subtree, itself included, ``(N,)``."""
    hold: _Row
    """For how many states each action must hold, ``(A,)``."""
    member: _Row
    """Monitors of all actions, one action behind the other."""
    member_start: _Row
    """Where the monitors of each action start, and end, ``(A + 1,)``."""
    never: _Row
    """Monitors that may never be true."""


def judge_settled(
    compiled: CompiledOracle,
    truths: Sequence[Truth],
    spans: Sequence[tuple[int, int, int]],
    *,
    order: Order,
    hold: int,
) -> list[tuple[Judgement, Termination] | None]:
    """Judge the traces of a batch by one oracle.

    Args:
        compiled: The oracle.
        truths: For each of ``compiled.monitors`` its truth over all states of the batch, ``(T,)``, negation
            applied already.
        spans: For each trace the first state that is stored, and the first one that is evaluated, and the
            one behind its last, as numbers of states of the batch.
        order: Whether an ordering violation is a failure.
        hold: For how many states the held-k meaning of success asks.

    Returns:
        For each trace what :func:`~mango_trace.oracle.semantics.judge` and
        :func:`~mango_trace.oracle.semantics.termination` say, or ``None`` where they must be asked.

    Raises:
        ValueError: If the truths do not fit the oracle, or ``hold`` < 1.
    """
    if hold < 1:
        raise ValueError(f"hold must be >= 1, not {hold}")
    check_truths(compiled, truths, 0)
    if not spans:
        return []
    places, program = np.array(spans, dtype=np.int64), _program(compiled)
    n_actions, longest = len(compiled.actions), int((places[:, 2] - places[:, 1]).max())
    actions = np.full((len(spans), n_actions, _COLUMNS), NEVER, dtype=np.int64)
    traces = np.full((len(spans), _TRACE_COLUMNS), NEVER, dtype=np.int64)
    _read(
        np.stack(truths),
        places,
        program,
        _program(compiled, plain=True),
        actions,
        traces,
        np.empty((n_actions, _COLUMNS), dtype=np.int64),
        np.empty((n_actions + 1, max(longest, 0)), dtype=np.bool_),
        np.empty((_STACK_ROWS, len(program.kind) + n_actions + 1), dtype=np.int64),
    )
    return [
        _result(compiled, found, of_trace, order, hold, evaluated - stored) if of_trace[_SETTLED] else None
        for found, of_trace, (stored, evaluated, _) in zip(
            actions.tolist(), traces.tolist(), spans, strict=True
        )
    ]


def _program(compiled: CompiledOracle, *, plain: bool = False) -> _Program:
    """The oracle, or its actions in plan order without hold and never."""
    kinds: list[int] = []
    actions: list[int] = []
    sizes: list[int] = []

    def add(node: Group | int) -> None:
        place = len(kinds)
        sizes.append(1)
        if isinstance(node, int):
            kinds.append(_ACTION)
            actions.append(node)
            return
        kinds.append(_SEQUENTIAL if node.mode == "sequential" else _ANY_ORDER)
        actions.append(_NONE)
        for child in node.children:
            add(child)
        sizes[place] = len(kinds) - place

    add(Group("sequential", tuple(range(len(compiled.actions)))) if plain else compiled.root)
    members = [action.monitors for action in compiled.actions]
    return _Program(
        np.array(kinds, dtype=np.int64),
        np.array(actions, dtype=np.int64),
        np.array(sizes, dtype=np.int64),
        np.array([1 if plain else action.hold for action in compiled.actions], dtype=np.int64),
        np.array([number for one in members for number in one], dtype=np.int64),
        np.cumsum([0, *map(len, members)], dtype=np.int64),
        np.array(() if plain else compiled.never, dtype=np.int64),
    )


def _result(
    compiled: CompiledOracle, rows: list[list[int]], trace: list[int], order: Order, hold: int, offset: int
) -> tuple[Judgement, Termination]:
    """Write down what was found of one trace; states are counted from the first stored one again."""
    strict = order == "strict"
    broken = trace[_BROKEN] < NEVER
    statuses: list[ActionOutcome] = []
    for row, action in zip(rows, compiled.actions, strict=True):
        if row[_STARTED] == NEVER:
            statuses.append("not_reached")
        elif row[_COMPLETED] == NEVER or (action.at_end and not row[_AT_END]):
            statuses.append("failed")
        else:
            statuses.append("failed" if strict and row[_EDGE] < NEVER else "completed")
    violated = [row[_EDGE] < NEVER for row in rows]
    ends = all(row[_AT_END] for row, action in zip(rows, compiled.actions, strict=True) if action.at_end)
    passed = trace[_ALL_COMPLETED] < NEVER and ends and not broken and not (strict and any(violated))
    outcome: Outcome = "passed" if passed else "failed"
    first = None if passed else next((i for i, s in enumerate(statuses) if s == "failed"), None)
    reason: Reason | None = None
    if first is not None:
        reason = _reason(rows[first], at_end=compiled.actions[first].at_end)
    elif not passed and broken:
        reason = "invariant"
    done = [row[_COMPLETED] for row, status in zip(rows, statuses, strict=True) if status == "completed"]
    judgement = Judgement(
        outcome=outcome,
        passed_at=trace[_ALL_COMPLETED] + offset if passed else None,
        actions=tuple(_action(i, row, statuses[i], offset) for i, row in enumerate(rows)),
        first_failed=first,
        failed_set=() if first is None else failed_set(compiled.root, statuses),
        stopped_at=None if passed else max(done, default=0) + offset,
        reason=reason,
        invariant_at=trace[_BROKEN] + offset if broken else None,
        progress=len(done),
        violations=sum(violated),
    )
    termination = Termination(
        once=_outcome(trace[_TOGETHER_LONGEST] >= 1),
        at_end=_outcome(trace[_TOGETHER_AT_END]),
        held_k=_outcome(trace[_TOGETHER_LONGEST] >= hold),
        sequential=_outcome(trace[_IN_TURN] < NEVER),
        any_order=_outcome(all(row[_FIRST] < NEVER for row in rows)),
        hold=hold,
        once_at=_shift(trace[_TOGETHER_FIRST], offset),
    )
    return judgement, termination


def _action(index: int, row: list[int], status: ActionOutcome, offset: int) -> ActionResult:
    return ActionResult(
        index,
        status,
        _shift(row[_STARTED], offset),
        _shift(row[_FIRST], offset),
        _shift(row[_COMPLETED], offset),
        _shift(row[_LAST], offset),
        row[_LONGEST],
        bool(row[_AT_END]),
        row[_EDGE] < NEVER,
        _shift(row[_EDGE], offset),
    )


def _reason(row: list[int], *, at_end: bool) -> Reason:
    if row[_COMPLETED] < NEVER:
        return "undone" if at_end and not row[_AT_END] else "wrong_order"
    if NEVER > row[_LAST] >= row[_STARTED]:
        return "undone"
    return "too_early" if row[_FIRST] < NEVER else "never_true"


def _outcome(holds: bool | int) -> Outcome:
    return "passed" if holds else "failed"


def _shift(state: int, offset: int) -> int | None:
    return state + offset if state < NEVER else None


@loop
def _read(
    truths: Annotated[Truth, Axes(2)],
    spans: Annotated[_Numbers, Axes(2)],
    program: _Program,
    chain: _Program,
    actions: Annotated[_Numbers, Axes(3, written=True)],
    traces: _Room,
    scratch: _Room,
    masks: Annotated[Mask, Axes(2, written=True)],
    stack: _Room,
) -> None:
    """Read all traces: ``(traces, actions, columns)`` and ``(traces, columns)``, full of ``NEVER`` before.

    The others are room: rows of actions for the plain reading, a mask for each action and one for all of
    them over the longest trace, and a stack for :func:`_walk`.
    """
    n_actions = len(program.hold)
    for trace in range(len(spans)):
        begin, end = spans[trace, 1], spans[trace, 2]
        length = end - begin
        found = traces[trace]
        found[_SETTLED] = length > 0 and _settled(truths, begin, end, program)
        if not found[_SETTLED]:
            continue
        together = masks[n_actions][:length]
        together[:] = True
        for action in range(n_actions):
            effect = masks[action][:length]
            for state in range(length):
                holds = True
                for place in range(program.member_start[action], program.member_start[action + 1]):
                    holds = holds and truths[program.member[place], begin + state] == 2
                effect[state] = holds
                together[state] = together[state] and holds
        for monitor in program.never:
            for state in range(length):
                if truths[monitor, begin + state] == 2:
                    found[_BROKEN] = min(found[_BROKEN], state)
                    break
        found[_ALL_COMPLETED] = _walk(program, masks, length, actions[trace], stack)
        found[_IN_TURN] = _walk(chain, masks, length, scratch, stack)
        found[_TOGETHER_FIRST], _, found[_TOGETHER_LONGEST] = _summary(together)
        found[_TOGETHER_AT_END] = together[-1]
        for action in range(n_actions):
            row, effect = actions[trace, action], masks[action][:length]
            row[_FIRST], row[_LAST], row[_LONGEST] = _summary(effect)
            row[_AT_END] = effect[-1]
            if row[_PREVIOUS] != _NONE:
                reach = 0
                if row[_COMPLETED] < NEVER:
                    reach = min(row[_PREVIOUS], NEVER - program.hold[action]) + program.hold[action]
                row[_EDGE] = _edge(effect, row[_PREVIOUS], reach)


@inner
def _settled(truths: Truth, begin: int, end: int, program: _Program) -> bool:
    """Whether no action and no invariant is undetermined at any state."""
    for action in range(len(program.hold)):
        for state in range(begin, end):
            least = 2
            for place in range(program.member_start[action], program.member_start[action + 1]):
                least = min(least, truths[program.member[place], state])
            if least == 1:
                return False
    for monitor in program.never:
        for state in range(begin, end):
            if truths[monitor, state] == 1:
                return False
    return True


@inner
def _walk(program: _Program, masks: Mask, length: int, rows: _Numbers, stack: _Numbers) -> int:
    """Find the earliest completions; gives that of the root. A stack of groups stands for recursion."""
    place, stop, mode = stack[_PLACE], stack[_STOP], stack[_MODE]
    start, before, latest = stack[_START], stack[_BEFORE], stack[_LATEST]
    place[0], stop[0], mode[0] = 1, program.size[0], program.kind[0]
    start[0], before[0], latest[0] = 0, _NONE, -1
    top = 0
    while True:
        if place[top] == stop[top]:
            done = latest[top]
            top -= 1
            if top < 0:
                return int(done)
        else:
            node = place[top]
            place[top] += program.size[node]
            if program.kind[node] != _ACTION:
                place[top + 1], stop[top + 1] = node + 1, node + program.size[node]
                mode[top + 1] = program.kind[node]
                start[top + 1], before[top + 1], latest[top + 1] = start[top], before[top], -1
                top += 1
                continue
            action = program.action[node]
            done = NEVER
            if start[top] < NEVER:
                done = _first_completion(masks[action][:length], start[top], program.hold[action])
            rows[action, _STARTED], rows[action, _PREVIOUS] = start[top], before[top]
            rows[action, _COMPLETED] = done
        latest[top] = max(latest[top], done)
        if mode[top] == _SEQUENTIAL:
            before[top] = done
            start[top] = done + 1 if done < NEVER else NEVER


@inner
def _first_completion(effect: Mask, start: int, hold: int) -> int:
    """First state at which the effect holds for so many, all of them at least ``start``."""
    held = 0
    for state in range(start, len(effect)):
        held = held + 1 if effect[state] else 0
        if held == hold:
            return state
    return NEVER


@inner
def _summary(effect: Mask) -> tuple[int, int, int]:
    """First and last true state and the length of the longest run."""
    first, last, longest, run = NEVER, NEVER, 0, 0
    for state in range(len(effect)):
        if not effect[state]:
            run = 0
            continue
        run += 1
        first, last, longest = min(first, state), state, max(longest, run)
    return first, last, longest


@inner
def _edge(effect: Mask, before: int, reach: int) -> int:
    """First state before ``before`` at which a run begins that lasts at least to ``reach``."""
    for state in range(1, min(len(effect), before)):
        if effect[state] and not effect[state - 1]:
            end = state
            while end + 1 < len(effect) and effect[end + 1]:
                end += 1
            if end >= reach:
                return state
    return NEVER
