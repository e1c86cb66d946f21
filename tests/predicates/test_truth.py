"""Kleene's laws of three-valued truth."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mango_trace.truth import FALSE, TRUE, UNDETERMINED, all_of, any_of, from_bool, negate, possibly, surely

VALUES = st.sampled_from([FALSE, UNDETERMINED, TRUE])


@st.composite
def three(draw):
    """Three truth arrays of one length."""
    n = draw(st.integers(0, 12))
    return [np.array(draw(st.lists(VALUES, min_size=n, max_size=n)), dtype=np.uint8) for _ in range(3)]


@given(three())
def test_kleene_laws(truths):
    a, b, c = truths
    equal = np.testing.assert_array_equal
    equal(negate(negate(a)), a)
    equal(negate(all_of(a, b)), any_of(negate(a), negate(b)))
    equal(negate(any_of(a, b)), all_of(negate(a), negate(b)))
    equal(all_of(a, b), all_of(b, a))
    equal(all_of(a, all_of(b, c)), all_of(a, b, c))
    equal(all_of(a, any_of(b, c)), any_of(all_of(a, b), all_of(a, c)))
    equal(any_of(a, all_of(a, b)), a)
    equal(surely(negate(a)), ~possibly(a))
    equal(surely(all_of(a, b)), surely(a) & surely(b))
    equal(possibly(any_of(a, b)), possibly(a) | possibly(b))
    assert all_of(a, b).dtype == any_of(a, b).dtype == negate(a).dtype == np.uint8


@given(three())
def test_undetermined_stands_for_either_value(truths):
    """A connective is undetermined exactly where both choices are still open."""
    a, b, _ = truths
    for connective, plain in ((all_of, np.logical_and), (any_of, np.logical_or)):
        result = connective(a, b)
        choices = [
            plain(np.where(a == UNDETERMINED, x, a == TRUE), np.where(b == UNDETERMINED, y, b == TRUE))
            for x in (False, True)
            for y in (False, True)
        ]
        agree = np.all(choices, axis=0) | ~np.any(choices, axis=0)
        np.testing.assert_array_equal(result == UNDETERMINED, ~agree)
        np.testing.assert_array_equal(result[agree] == TRUE, choices[0][agree])


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_from_bool(pairs):
    values, known = map(np.array, zip(*pairs, strict=True))
    truth = from_bool(values, known)
    np.testing.assert_array_equal(truth == UNDETERMINED, ~known)
    np.testing.assert_array_equal(surely(truth), values & known)
    np.testing.assert_array_equal(from_bool(values), from_bool(values, np.ones_like(known)))
