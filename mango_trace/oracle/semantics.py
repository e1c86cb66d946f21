"""Temporal semantics: truth of the monitors in, verdict of the oracle out.

**Rules.** Evaluated states are ``start .. T-1``; an action holds at t when all its monitors do. In
a sequential group a child completes at its first t >= the group's start, the next one starts one
state later; in an any_order group all children start with the group, which completes at the
latest. ``hold=n`` completes at the first t such that the action holds at t-n+1 .. t, all of them
in its turn. ``at_end`` and ``never`` change what counts as passed, never when something completes.

**Ordering violation.** Let c be the completion of the predecessor (the previous child of the
sequential group, or the predecessor of the group itself; infinite if it did not complete). A
completed action violates the order iff the run of states that contains its completion began with
a rising edge r, start < r < c; one that did not complete iff any rising edge lies there. A run
that is true at the first evaluated state has no rising edge.

What undetermined states do to the outcome, and what is exact, says
:mod:`mango_trace.oracle.decide`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from mango_trace.oracle.compiled import CompiledOracle, Group
from mango_trace.oracle.decide import (
    OUTCOMES,
    ActionOutcome,
    Bounds,
    Case,
    Decision,
    Order,
    Outcome,
    broken,
    decide,
)
from mango_trace.oracle.timing import NEVER, Runs, edge_surely, read
from mango_trace.truth import FALSE, Truth, all_of, possibly, surely

Reason: TypeAlias = Literal["never_true", "too_early", "undone", "wrong_order", "invariant"]
"""Why an oracle failed."""


@dataclass(frozen=True, slots=True)
class ActionResult:
    """One action on one trace. Times are state indices and count states that are surely true.

    Attributes:
        index: Position in plan order.
        outcome: See :data:`ActionOutcome`; ``at_end`` and, if strict, the order are part of it.
        started_at: First state of its turn; ``None`` if the predecessor did not surely complete.
        first_true: First evaluated state where it holds, in its turn or not.
        completed_at: Where it completes, whatever ``at_end`` says later.
        last_true: Last evaluated state where it holds.
        longest_run: Longest run of states where it holds.
        held_at_end: Whether it holds at the last state.
        ordering_violation: Whether its effect appeared before its predecessor was complete;
            ``None`` if undetermined.
        too_early_at: The rising edge of the violation; ``None`` if there is none, or if it is
            certain that there is one but not where.
    """

    index: int
    outcome: ActionOutcome
    started_at: int | None = None
    first_true: int | None = None
    completed_at: int | None = None
    last_true: int | None = None
    longest_run: int = 0
    held_at_end: bool = False
    ordering_violation: bool | None = False
    too_early_at: int | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """Outcome of one oracle on one trace, with its evidence.

    Attributes:
        outcome: Passed, failed or undetermined.
        passed_at: State where the last action completed, if passed.
        actions: One result for each action, in plan order.
        first_failed: First action in plan order that failed; ``None`` if not failed, if only an
            invariant is broken, or if it is certain that one fails but not which.
        failed_set: The actions that were next when progress stopped: of a sequential group the
            first that failed, of an any_order group all; contains ``first_failed``.
        first_undetermined: First undetermined action, if the outcome is undetermined.
        stopped_at: Latest completion of an action that counts as completed, else the first
            evaluated state; ``None`` if passed or without states.
        reason: Why ``first_failed`` failed, or ``invariant`` if no action did. ``never_true``: at
            no evaluated state; ``too_early``: only before its turn; ``undone``: in its turn, but
            not for ``hold`` states or not at the end; ``wrong_order``: strict order only.
        invariant_at: First state where a ``never`` monitor is surely true.
        progress: How many actions count as completed.
        violations: How many actions surely came before their predecessor.
    """

    outcome: Outcome
    passed_at: int | None
    actions: tuple[ActionResult, ...]
    first_failed: int | None = None
    failed_set: tuple[int, ...] = ()
    first_undetermined: int | None = None
    stopped_at: int | None = None
    reason: Reason | None = None
    invariant_at: int | None = None
    progress: int = 0
    violations: int = 0


def judge(
    compiled: CompiledOracle,
    truths: Sequence[Truth],
    *,
    start: int,
    order: Order = "report",
) -> Judgement:
    """Judge one trace.

    Args:
        compiled: The oracle.
        truths: For each of ``compiled.monitors`` its truth, shape (T,), negation applied already
            (:meth:`~mango_trace.oracle.compile.CompiledMonitor.apply`).
        start: First evaluated state: the number of warm-up states.
        order: Whether an ordering violation is a failure.

    Returns:
        The judgement; undetermined if no state is evaluated.

    Raises:
        ValueError: If the truths do not fit the oracle or ``start`` is negative.
    """
    length = check_truths(compiled, truths, start)
    if length <= start:
        results = tuple(ActionResult(a.index, "undetermined") for a in compiled.actions)
        return Judgement("undetermined", None, results, first_undetermined=0)
    case = Case(compiled, compiled.root, tuple(truth[start:] for truth in truths))
    return _explain(case, decide(case, order), order, start)


@dataclass(frozen=True, slots=True)
class Termination:
    """What different meanings of success say of one trace. Hold, at_end and never are left out.

    Attributes:
        once: All actions hold together at some state.
        at_end: All actions hold together at the last state.
        held_k: All actions hold together for ``hold`` consecutive states.
        sequential: The actions complete one after the other, in plan order.
        any_order: Every action holds at some state.
        hold: Number of states that ``held_k`` asks for.
        once_at: First state where all actions surely hold together.
    """

    once: Outcome
    at_end: Outcome
    held_k: Outcome
    sequential: Outcome
    any_order: Outcome
    hold: int
    once_at: int | None = None


def termination(compiled: CompiledOracle, truths: Sequence[Truth], start: int, hold: int) -> Termination:
    """Compare meanings of success on one trace.

    Args:
        compiled: The oracle.
        truths: As for :func:`judge`.
        start: First evaluated state.
        hold: For how many states ``held_k`` asks.

    Returns:
        The table; everything undetermined if no state is evaluated.

    Raises:
        ValueError: If the truths do not fit the oracle, ``start`` is negative or ``hold`` < 1.
    """
    if hold < 1:
        raise ValueError(f"hold must be >= 1, not {hold}")
    if check_truths(compiled, truths, start) <= start:
        unknown: Outcome = "undetermined"
        return Termination(unknown, unknown, unknown, unknown, unknown, hold)
    evaluated = tuple(truth[start:] for truth in truths)
    children = tuple(range(len(compiled.actions)))
    chain = Case(compiled, Group("sequential", children), evaluated, plain=True)
    together = all_of(*chain.effects)
    if chain.settled:
        held = [surely(effect) for effect in chain.effects]
        in_turn = read(chain.root, held, chain.holds()).completed < NEVER
        sequential: Outcome = "passed" if in_turn else "failed"
        any_order: Outcome = "passed" if all(mask.any() for mask in held) else "failed"
    else:
        loose = replace(chain, root=Group("any_order", children))
        sequential, any_order = decide(chain, "report").outcome, decide(loose, "report").outcome
        if loose.contested():
            # A call and its negation never hold together, whatever is undetermined.
            together = np.full_like(together, FALSE)
    certain, possible = Runs(surely(together)), Runs(possibly(together))

    def lasting(states: int) -> Outcome:
        if certain.longest >= states:
            return "passed"
        return "undetermined" if possible.longest >= states else "failed"

    return Termination(
        once=lasting(1),
        at_end=OUTCOMES[int(together[-1])],
        held_k=lasting(hold),
        sequential=sequential,
        any_order=any_order,
        hold=hold,
        once_at=_shift(certain.first, start),
    )


def _explain(case: Case, decision: Decision, order: Order, offset: int) -> Judgement:
    """Add the evidence; states are counted from the first stored one again."""
    outcome, statuses = decision.outcome, decision.statuses
    holds = case.holds()
    results = tuple(_result(i, decision, holds[i], offset) for i in range(len(holds)))
    breaks = np.flatnonzero(surely(broken(case)))
    first = next((i for i, s in enumerate(statuses) if s == "failed"), None)
    if outcome != "failed":
        first = None
    reason: Reason | None = None
    if first is not None:
        reason = _reason(decision.bounds, first, order)
    elif outcome == "failed" and breaks.size:
        reason = "invariant"
    done = [r for r in results if r.outcome == "completed"]
    ends = [r.completed_at for r in done if r.completed_at is not None]
    return Judgement(
        outcome=outcome,
        passed_at=decision.bounds.worst.completed + offset if outcome == "passed" else None,
        actions=results,
        first_failed=first,
        failed_set=() if first is None else failed_set(case.root, statuses),
        first_undetermined=_first_undetermined(outcome, statuses),
        stopped_at=None if outcome == "passed" else max(ends, default=offset),
        reason=reason,
        invariant_at=int(breaks[0]) + offset if breaks.size else None,
        progress=len(done),
        violations=sum(violation is True for violation in decision.violations),
    )


def _result(index: int, decision: Decision, hold: int, offset: int) -> ActionResult:
    bounds, violation = decision.bounds, decision.violations[index]
    worst, best = bounds.worst, bounds.best
    runs = bounds.certain[index]
    early, late = best.previous[index], worst.previous[index]
    edge: int | None = None
    if violation and early is not None and late is not None:
        may_complete = best.completions[index] < NEVER
        edge = edge_surely(runs, bounds.possible[index], early, late, hold, may_complete=may_complete)
    return ActionResult(
        index=index,
        outcome=decision.statuses[index],
        started_at=_shift(worst.starts[index], offset),
        first_true=_shift(runs.first, offset),
        completed_at=_shift(worst.completions[index], offset),
        last_true=_shift(runs.last, offset),
        longest_run=runs.longest,
        held_at_end=bool(runs.effect[-1]),
        ordering_violation=violation,
        too_early_at=None if edge is None else edge + offset,
    )


def _reason(bounds: Bounds, index: int, order: Order) -> Reason:
    start = bounds.best.starts[index]
    if bounds.best.completions[index] < NEVER:
        if bounds.statuses[index] == "failed":
            return "undone"
        if order == "strict" and bounds.violations[index] is not False:
            return "wrong_order"
        # Unknowns that exclude each other: no assignment gives it its turn that early.
        start = bounds.worst.starts[index]
    possible = bounds.possible[index].effect
    if possible[start:].any():
        return "undone"
    return "too_early" if possible.any() else "never_true"


def failed_set(node: Group | int, statuses: Sequence[ActionOutcome]) -> tuple[int, ...]:
    """Of a sequential group the actions of the first child that failed, of an any_order group of all."""
    if isinstance(node, int):
        return (node,) if statuses[node] == "failed" else ()
    sets = [found for child in node.children if (found := failed_set(child, statuses))]
    return tuple(itertools.chain.from_iterable(sets[:1] if node.mode == "sequential" else sets))


def _first_undetermined(outcome: Outcome, statuses: Sequence[ActionOutcome]) -> int | None:
    if outcome != "undetermined":
        return None
    return next((i for i, s in enumerate(statuses) if s == "undetermined"), None)


def _shift(state: int, offset: int) -> int | None:
    return state + offset if state < NEVER else None


def check_truths(compiled: CompiledOracle, truths: Sequence[Truth], start: int) -> int:
    """See that truths fit an oracle.

    Args:
        compiled: The oracle.
        truths: As for :func:`judge`.
        start: First evaluated state.

    Returns:
        Number of states, T.

    Raises:
        ValueError: They do not, or ``start`` is negative.
    """
    if start < 0:
        raise ValueError(f"start must be >= 0, not {start}")
    if len(truths) != len(compiled.monitors):
        raise ValueError(f"{len(compiled.monitors)} truths are needed, not {len(truths)}")
    length = len(truths[0])
    for truth, monitor in zip(truths, compiled.monitors, strict=True):
        if truth.shape != (length,) or truth.dtype != np.uint8:
            raise ValueError(
                f"truth of {monitor.key}: shape {truth.shape} {truth.dtype}, wanted ({length},) uint8"
            )
    return length
