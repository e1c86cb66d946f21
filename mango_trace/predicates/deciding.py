"""Helpers that every predicate shares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mango_trace.signals.base import ContactRows, GeomGroup, Signals
from mango_trace.truth import Mask, Truth, from_bool

_NEAR_BOUND = 1e-9
"""Distance to a bound below which the order of floating-point operations could decide."""


def decide(signals: Signals, values: npt.ArrayLike, *names: str) -> Truth:
    """Truth where the pose of every named thing is known, undetermined elsewhere.

    Args:
        signals: Arrays of the trace.
        values: Booleans, ``(T,)``.
        *names: Things that the values depend on.
    """
    return from_bool(values, known_for(signals, *names))


def known_for(signals: Signals, *names: str) -> Mask:
    """States where the pose of every named thing is known."""
    known = np.ones(signals.n_states, dtype=np.bool_)
    for name in names:
        known &= signals.known(name)
    return known


def any_contact(
    signals: Signals,
    first: GeomGroup,
    second: GeomGroup,
    where: Mask,
    select: Callable[[ContactRows], Mask] | None = None,
) -> Mask:
    """States of ``where`` with at least one selected contact between two groups.

    Args:
        signals: Arrays of the trace.
        first: One group of geoms.
        second: The other.
        where: States to look at; the result is false elsewhere.
        select: Which contacts count; by default those that the solver acts on.
    """
    if not where.any():
        return np.zeros(signals.n_states, dtype=np.bool_)
    if select is None:
        return signals.in_contact(first, second, where)
    rows = signals.contacts(first, second, where)
    return rows.any_per_state(select(rows), signals.n_states)


def as_benchmark(values: Mask, slack: npt.NDArray[np.float64], rule: Callable[[int], bool]) -> Mask:
    """Recompute states that lie on a bound with the benchmark's own order of operations.

    Poses and sums over arrays may differ from the benchmark's in the last bits; that can change the
    answer only within rounding of a bound.

    Args:
        values: The vectorised answer, ``(T,)``.
        slack: Distance to the nearest bound, ``(T,)``.
        rule: The benchmark's rule at one state.
    """
    exact = values.copy()
    for state in np.flatnonzero(np.abs(slack) < _NEAR_BOUND):
        exact[state] = rule(int(state))
    return exact
