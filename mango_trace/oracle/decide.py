"""Deciding an oracle where some states are undetermined.

Every undetermined value of a predicate call at a state is one unknown,
shared by all monitors and actions that use the call, negated or not. The outcome ranges over all
assignments: passed or failed if all agree, else undetermined. What is exact:

* order "report", *passed*: exact. Passing is monotone in the truth of the action monitors and
  antitone in ``never``, so reading every undetermined value as the worst is a lower bound; it is
  attained, because the worst case needs only one chain of actions to be late, whose turns do not
  overlap in time.
* order "report", *failed*: exact when no call is wanted both ways (say ``open(x)`` by one action,
  ``not open(x)`` by another): the best reading is then one assignment. Otherwise it is only an
  upper bound; up to ``EXACT_UNKNOWNS`` unknowns of such calls are enumerated (exact), with more of
  them the answer may be undetermined where failed would be right.
* order "strict" is not monotone: up to ``EXACT_UNKNOWNS`` unknowns are enumerated (exact); with
  more, bounds decide and the answer may be undetermined where passed or failed would be right.
* outcomes of the actions: as exact as that of the oracle. Ordering violations: bounds in order
  "report" (``None`` may stand where the answer is one), exact where enumerated.

It is never passed or failed where an assignment says otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, TypeAlias

import numpy as np

from mango_trace.oracle.compiled import CompiledOracle, Group
from mango_trace.oracle.timing import NEVER, Reading, Runs, edge_possible, edge_surely, read
from mango_trace.truth import FALSE, TRUE, UNDETERMINED, Truth, all_of, possibly, surely

EXACT_UNKNOWNS: Final = 8
"""How many unknowns are enumerated, at most 2**8 readings, where bounds are not exact."""

Outcome: TypeAlias = Literal["passed", "failed", "undetermined"]
"""Outcome of an oracle on a trace."""

OUTCOMES: Final[tuple[Outcome, Outcome, Outcome]] = ("failed", "undetermined", "passed")
"""Outcome of what has a truth value, by its number."""

ActionOutcome: TypeAlias = Literal["completed", "failed", "not_reached", "undetermined"]
"""``failed``: had its turn and did not complete; ``not_reached``: its turn never came."""

Order: TypeAlias = Literal["report", "strict"]
"""Whether an ordering violation is only reported or a failure."""


@dataclass(frozen=True)
class Case:
    """One decision problem; state 0 is the first evaluated one."""

    compiled: CompiledOracle
    root: Group
    truths: tuple[Truth, ...]
    plain: bool = False
    """Leave hold, at_end and never out."""

    @cached_property
    def effects(self) -> tuple[Truth, ...]:
        """Truth of each action."""
        return tuple(all_of(*(self.truths[m] for m in action.monitors)) for action in self.compiled.actions)

    @cached_property
    def settled(self) -> bool:
        """Whether no action is undetermined at any state."""
        return not any(map(_has_undetermined, self.effects))

    def holds(self) -> tuple[int, ...]:
        """States for which each action must hold."""
        return tuple(1 if self.plain else action.hold for action in self.compiled.actions)

    def ends(self) -> tuple[bool, ...]:
        """Whether each action must hold at the end."""
        return tuple(not self.plain and action.at_end for action in self.compiled.actions)

    def never(self) -> tuple[int, ...]:
        """Monitors that may never be true."""
        return () if self.plain else self.compiled.never

    def assume(self, unknowns: Sequence[tuple[str, int]], values: Sequence[bool]) -> Case:
        """Replace unknowns, each a call at a state, by values."""
        truths = [truth.copy() for truth in self.truths]
        for truth, monitor in zip(truths, self.compiled.monitors, strict=True):
            for (call, state), value in zip(unknowns, values, strict=True):
                if monitor.call == call:
                    truth[state] = TRUE if value != monitor.negate else FALSE
        return replace(self, truths=tuple(truths))

    def unknowns(self, calls: frozenset[str]) -> list[tuple[str, int]]:
        """Undetermined values of some calls, each once."""
        found: dict[tuple[str, int], None] = {}
        for truth, monitor in zip(self.truths, self.compiled.monitors, strict=True):
            if monitor.call in calls:
                for state in np.flatnonzero(truth == UNDETERMINED):
                    found[monitor.call, int(state)] = None
        return list(found)

    def contested(self) -> frozenset[str]:
        """Calls that are wanted true by one part of the oracle and false by another."""
        wanted: dict[str, set[bool]] = {}
        monitors = self.compiled.monitors
        for action in self.compiled.actions:
            for index in action.monitors:
                wanted.setdefault(monitors[index].call, set()).add(not monitors[index].negate)
        for index in self.never():
            wanted.setdefault(monitors[index].call, set()).add(monitors[index].negate)
        return frozenset(call for call, ways in wanted.items() if len(ways) == 2)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Worst and best reading of a case, and what they say.

    Attributes:
        worst: Undetermined values read as what delays.
        best: Undetermined values read as what helps.
        certain: Runs of each action where it surely holds.
        possible: Runs of each action where it possibly holds.
        surely_passes: Whether it passes in the worst reading (order "report").
        possibly_passes: Whether it passes in the best reading (order "report").
        statuses: Outcome of each action.
        violations: Whether each action came before its predecessor.
    """

    worst: Reading
    best: Reading
    certain: tuple[Runs, ...]
    possible: tuple[Runs, ...]
    surely_passes: bool
    possibly_passes: bool
    statuses: tuple[ActionOutcome, ...]
    violations: tuple[bool | None, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """Outcome of a case, and of each of its actions.

    Attributes:
        outcome: Passed, failed or undetermined.
        statuses: Outcome of each action.
        violations: Whether each came before its predecessor; ``None`` if undetermined.
        bounds: The readings that it comes from.
    """

    outcome: Outcome
    statuses: tuple[ActionOutcome, ...]
    violations: tuple[bool | None, ...]
    bounds: Bounds


def bounds_of(case: Case) -> Bounds:
    """Read a case in the worst and in the best way."""
    effects, holds, ends = case.effects, case.holds(), case.ends()
    certain = tuple(Runs(surely(effect)) for effect in effects)
    worst = read(case.root, [runs.effect for runs in certain], holds)
    possible, best = certain, worst
    if not case.settled:
        possible = tuple(Runs(possibly(effect)) for effect in effects)
        best = read(case.root, [runs.effect for runs in possible], holds)
    breaks = broken(case)
    passes, could_pass = worst.completed < NEVER, best.completed < NEVER
    statuses: list[ActionOutcome] = []
    violations: list[bool | None] = []
    for index, effect in enumerate(effects):
        final = effect[-1] if ends[index] else TRUE
        if best.starts[index] == NEVER:
            status: ActionOutcome = "not_reached"
        elif best.completions[index] == NEVER or final == FALSE:
            status = "failed"
        elif worst.completions[index] < NEVER and final == TRUE:
            status = "completed"
        else:
            status = "undetermined"
        statuses.append(status)
        passes = passes and bool(final == TRUE)
        could_pass = could_pass and bool(final != FALSE)
        violations.append(_violation(index, certain[index], possible[index], holds[index], worst, best))
    return Bounds(
        worst,
        best,
        certain,
        possible,
        passes and not possibly(breaks).any(),
        could_pass and not surely(breaks).any(),
        tuple(statuses),
        tuple(violations),
    )


def _violation(
    index: int, certain: Runs, possible: Runs, hold: int, worst: Reading, best: Reading
) -> bool | None:
    """Whether an action came before its predecessor completed; ``None`` if bounds do not say."""
    early, late = best.previous[index], worst.previous[index]
    if early is None or late is None:
        return False
    completes = (worst.completions[index] < NEVER, best.completions[index] < NEVER)
    if edge_surely(certain, possible, early, late, hold, may_complete=completes[1]) is not None:
        return True
    if possible is certain:
        return False  # nothing is undetermined, and the search was exact
    if edge_possible(certain, possible, early, late, hold, must_complete=completes[0]) is None:
        return False
    return None


def broken(case: Case) -> Truth:
    """Find where an invariant is broken, shape (T,)."""
    never = [case.truths[index] for index in case.never()]
    return np.maximum.reduce(never) if never else np.zeros_like(case.truths[0])


def decide(case: Case, order: Order) -> Decision:
    """Decide a case; what is exact says the module.

    Args:
        case: What to decide.
        order: Whether an ordering violation is a failure.

    Returns:
        The decision.
    """
    decision = _bounded(case, order)
    if not _is_open(decision):
        return decision
    everything = frozenset(monitor.call for monitor in case.compiled.monitors)
    for calls in (everything, case.contested()) if order == "strict" else (case.contested(),):
        unknowns = case.unknowns(calls)
        if 0 < len(unknowns) <= EXACT_UNKNOWNS:
            readings = [_bounded(c, order) for c in _assignments(case, unknowns)]
            return _agreement(readings, decision.bounds)
    return decision


def _bounded(case: Case, order: Order) -> Decision:
    """Decide from bounds: exact when nothing is undetermined."""
    bounds = bounds_of(case)
    outcome: Outcome = "undetermined"
    if bounds.surely_passes:
        outcome = "passed"
    elif not bounds.possibly_passes:
        outcome = "failed"
    if order == "report":
        return Decision(outcome, bounds.statuses, bounds.violations, bounds)
    statuses: list[ActionOutcome] = []
    for status, violation in zip(bounds.statuses, bounds.violations, strict=True):
        if violation and status in ("completed", "undetermined"):
            statuses.append("failed")
        elif violation is None and status == "completed":
            statuses.append("undetermined")
        else:
            statuses.append(status)
    if True in bounds.violations:
        outcome = "failed"
    elif None in bounds.violations and outcome == "passed":
        outcome = "undetermined"
    return Decision(outcome, tuple(statuses), bounds.violations, bounds)


def _is_open(decision: Decision) -> bool:
    return (
        decision.outcome == "undetermined"
        or "undetermined" in decision.statuses
        or None in decision.violations
    )


def _assignments(case: Case, unknowns: Sequence[tuple[str, int]]) -> Iterator[Case]:
    for values in itertools.product((False, True), repeat=len(unknowns)):
        yield case.assume(unknowns, values)


def _agreement(readings: Sequence[Decision], bounds: Bounds) -> Decision:
    """What all assignments say alike."""
    outcomes = {reading.outcome for reading in readings}
    statuses = zip(*(reading.statuses for reading in readings), strict=True)
    violations = zip(*(reading.violations for reading in readings), strict=True)
    return Decision(
        outcomes.pop() if len(outcomes) == 1 else "undetermined",
        tuple(_agreed_status(set(column)) for column in statuses),
        tuple(column[0] if len(set(column)) == 1 else None for column in violations),
        bounds,
    )


def _agreed_status(statuses: set[ActionOutcome]) -> ActionOutcome:
    if len(statuses) == 1:
        return next(iter(statuses))
    return "failed" if statuses == {"failed", "not_reached"} else "undetermined"


def _has_undetermined(truth: Truth) -> bool:
    return int(UNDETERMINED) in truth.tobytes()
