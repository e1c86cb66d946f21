"""Many traces judged together where nothing is undetermined.

The rules are those of :mod:`mango_trace.oracle.semantics`, which stays the law: what is found here equals
:func:`~mango_trace.oracle.semantics.judge` and :func:`~mango_trace.oracle.semantics.termination`. A trace in
which an undetermined state could matter is left to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from mango_trace.jit import jit
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
from mango_trace.oracle.timing import NEVER, certain_edge, first_completion, summary
from mango_trace.truth import Truth

_Numbers: TypeAlias = npt.NDArray[np.int64]

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


class _Program(NamedTuple):
    """An oracle as arrays: nodes of the order tree, each before its children; ``A`` actions."""

    kind: _Numbers
    """Action or mode of a group, ``(N,)``."""
    action: _Numbers
    """Index of an action, ``(N,)``."""
    size: _Numbers
    """Nodes of the subtree, itself included, ``(N,)``."""
    hold: _Numbers
    """For how many states each action must hold, ``(A,)``."""
    member: _Numbers
    """Monitors of all actions, one action behind the other."""
    member_start: _Numbers
    """Where the monitors of each action start, and end, ``(A + 1,)``."""
    never: _Numbers
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
    actions, traces = _read(
        np.stack(truths), np.array(spans, dtype=np.int64), _program(compiled), _program(compiled, plain=True)
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


@jit
def _read(truths: Truth, spans: _Numbers, program: _Program, chain: _Program) -> tuple[_Numbers, _Numbers]:
    """Readings of all traces: ``(traces, actions, columns)`` and ``(traces, columns)``."""
    n_actions = len(program.hold)
    actions = np.full((len(spans), n_actions, _COLUMNS), NEVER, dtype=np.int64)
    traces = np.full((len(spans), _TRACE_COLUMNS), NEVER, dtype=np.int64)
    scratch = np.empty((n_actions, _COLUMNS), dtype=np.int64)
    for trace in range(len(spans)):
        begin, end = spans[trace, 1], spans[trace, 2]
        length = end - begin
        found = traces[trace]
        found[_SETTLED] = length > 0 and _settled(truths, begin, end, program)
        if not found[_SETTLED]:
            continue
        effects = np.empty((n_actions, length), dtype=np.bool_)
        together = np.ones(length, dtype=np.bool_)
        for action in range(n_actions):
            for state in range(length):
                holds = True
                for place in range(program.member_start[action], program.member_start[action + 1]):
                    holds = holds and truths[program.member[place], begin + state] == 2
                effects[action, state] = holds
                together[state] = together[state] and holds
        for monitor in program.never:
            for state in range(length):
                if truths[monitor, begin + state] == 2:
                    found[_BROKEN] = min(found[_BROKEN], state)
                    break
        found[_ALL_COMPLETED] = _walk(program, effects, actions[trace])
        found[_IN_TURN] = _walk(chain, effects, scratch)
        found[_TOGETHER_FIRST], _, found[_TOGETHER_LONGEST] = summary(together)
        found[_TOGETHER_AT_END] = together[-1]
        for action in range(n_actions):
            row, effect = actions[trace, action], effects[action]
            row[_FIRST], row[_LAST], row[_LONGEST] = summary(effect)
            row[_AT_END] = effect[-1]
            if row[_PREVIOUS] != _NONE:
                reach = 0
                if row[_COMPLETED] < NEVER:
                    reach = min(row[_PREVIOUS], NEVER - program.hold[action]) + program.hold[action]
                row[_EDGE] = certain_edge(effect, effect, row[_PREVIOUS], reach)
    return actions, traces


@jit
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


@jit
def _walk(program: _Program, effects: npt.NDArray[np.bool_], rows: _Numbers) -> int:
    """Find the earliest completions; gives that of the root. A stack of groups stands for recursion."""
    depth = len(program.kind)
    place, stop, mode = np.empty(depth, np.int64), np.empty(depth, np.int64), np.empty(depth, np.int64)
    start, before, latest = np.empty(depth, np.int64), np.empty(depth, np.int64), np.empty(depth, np.int64)
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
                done = first_completion(effects[action], start[top], program.hold[action])
            rows[action, _STARTED], rows[action, _PREVIOUS] = start[top], before[top]
            rows[action, _COMPLETED] = done
        latest[top] = max(latest[top], done)
        if mode[top] == _SEQUENTIAL:
            before[top] = done
            start[top] = done + 1 if done < NEVER else NEVER
