"""Readings of masks as bytes equal loops over their states."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mango_trace.oracle import timing
from mango_trace.oracle.decide import _has_undetermined
from mango_trace.oracle.timing import NEVER
from mango_trace.truth import UNDETERMINED

BITS = st.lists(st.integers(0, 2), max_size=24)
"""0: false, 1: undetermined, 2: true."""
STATES = st.one_of(st.integers(0, 26), st.just(NEVER))


def masks(bits: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Where something surely and where it possibly holds."""
    truth = np.array(bits, dtype=np.uint8)
    return truth == 2, truth >= 1


def end_of_run(effect: np.ndarray, state: int) -> int:
    while state + 1 < len(effect) and effect[state + 1]:
        state += 1
    return state


@given(BITS, st.integers(0, 26), st.integers(1, 5))
def test_first_completion(bits: list[int], start: int, hold: int) -> None:
    effect, _ = masks(bits)
    held, expected = 0, NEVER
    for state in range(start, len(effect)):
        held = held + 1 if effect[state] else 0
        if held == hold:
            expected = state
            break
    assert timing.first_completion(effect, start, hold) == expected


@given(BITS)
def test_summary(bits: list[int]) -> None:
    effect, _ = masks(bits)
    first, last, longest, run = NEVER, NEVER, 0, 0
    for state in range(len(effect)):
        run = run + 1 if effect[state] else 0
        if run:
            first, last, longest = min(first, state), state, max(longest, run)
    assert timing.summary(effect) == (first, last, longest)


@given(BITS, STATES, STATES)
def test_certain_edge(bits: list[int], before: int, reach: int) -> None:
    certain, possible = masks(bits)
    expected = NEVER
    for state in range(1, min(len(certain), before)):
        begins = certain[state] and not certain[state - 1] and not possible[state - 1]
        if begins and end_of_run(certain, state) >= reach:
            expected = state
            break
    assert timing.certain_edge(certain, possible, before, reach) == expected


@given(BITS, st.integers(0, 26), STATES, st.integers(0, 4))
def test_possible_edge(bits: list[int], early: int, late: int, hold: int) -> None:
    certain, possible = masks(bits)
    expected = NEVER
    for state in range(1, min(len(certain), late)):
        if not possible[state] or certain[state - 1]:
            continue
        if hold == 0 or end_of_run(possible, state) >= max(state + 1, early) + hold:
            expected = state
            break
    assert timing._possible_edge(certain, possible, early, late, hold) == expected


@given(BITS)
def test_has_undetermined(bits: list[int]) -> None:
    truth = np.array(bits, dtype=np.uint8)
    assert _has_undetermined(truth) == any(value == UNDETERMINED for value in truth)
