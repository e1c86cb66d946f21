"""The paper's statistics, against values worked out by hand and against scipy itself."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from generator.study.statistics import a12, compare, magnitude, mean_and_sd

samples = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("first", "second", "effect", "called"),
    [
        ([4, 5, 6], [1, 2, 3], 1.0, "large"),
        ([1, 2, 3], [4, 5, 6], 0.0, "large"),
        ([1, 2, 3], [1, 2, 3], 0.5, "negligible"),
        ([1, 1, 1], [1, 1, 1], 0.5, "negligible"),
        ([2, 2], [1, 2, 3], 0.5, "negligible"),
        # 3 of 6 pairs are larger, 2 tied: (3 + 1) / 6
        ([2, 3], [1, 2, 3], 4 / 6, "medium"),
        # 1 larger, 4 tied of 9: (1 + 2 + ...) counted out: 1>0, 1=1, 1=1, 1>0, 1=1, 1=1, 0=0, 0<1, 0<1
        ([1, 1, 0], [0, 1, 1], 0.5, "negligible"),
        ([5], [1], 1.0, "large"),
        # 6 of 10 pairs are larger: |2 (0.6 - 0.5)| = 0.2
        ([6.5], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.6, "small"),
    ],
)
def test_a12_of_samples_that_were_counted_by_hand(first, second, effect, called):
    assert a12(first, second) == pytest.approx(effect)
    assert magnitude(a12(first, second)) == called


@given(samples, samples)
def test_a12_counts_pairs(first, second):
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in product(first, second)]
    assert a12(first, second) == pytest.approx(math.fsum(pairs) / len(pairs))
    assert a12(first, second) + a12(second, first) == pytest.approx(1)


@pytest.mark.parametrize(
    ("effect", "called"),
    [(0.5735, "small"), (0.5734, "negligible"), (0.665, "medium"), (0.6649, "small"), (0.737, "large"),
     (0.7369, "medium"), (0.2631, "medium"), (0.263, "large")],
)  # fmt: skip
def test_limits_of_magnitudes_are_the_papers(effect, called):
    assert magnitude(effect) == called


@given(samples, samples)
def test_a_comparison_never_warns_and_its_figures_are_numbers(first, second):
    """Warnings are errors in these tests."""
    found = compare(first, second)
    assert found.a12 is not None
    assert 0 <= found.a12 <= 1
    assert (found.p is None) == (found.test in ("equal", "undetermined"))
    assert found.p is None or 0 <= found.p <= 1
    assert compare(second, first).test == found.test


def test_normal_samples_get_students_t():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0, 1, 20).tolist(), rng.normal(2, 1, 20).tolist()
    found = compare(first, second)
    assert (found.test, found.p) == ("t", stats.ttest_ind(first, second, equal_var=True).pvalue)
    assert found.significant


def test_other_samples_get_kruskal_wallis():
    first, second = [0.0] * 9 + [100.0], [0.0] * 5 + [1.0, 2.0, 3.0, 4.0, 500.0]
    found = compare(first, second)
    assert (found.test, found.p) == ("kruskal", stats.kruskal(first, second).pvalue)


def test_constant_samples_are_said_plainly():
    assert compare([1.0] * 10, [1.0] * 10).test == "equal"
    assert not compare([1.0] * 10, [1.0] * 10).significant
    assert compare([0.1 + 0.2] * 5, [0.3] * 5).test == "equal"  # rounding is no difference
    different = compare([1.0] * 10, [0.0] * 10)
    assert (different.test, different.a12, different.magnitude) == ("kruskal", 1.0, "large")
    assert different.significant
    assert compare([1.0] * 3, [0.5, 1.0, 1.5]).test == "kruskal"


def test_too_few_values_are_undetermined():
    assert compare([1.0, 2.0], [3.0, 4.0, 5.0]).test == "undetermined"
    assert compare([1.0, 2.0], [3.0, 4.0, 5.0]).a12 == 0.0
    assert compare([], [1.0]) == compare([1.0], [])
    assert compare([], [1.0]).a12 is None


def test_mean_and_sd():
    assert mean_and_sd([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]) == (5.0, pytest.approx(math.sqrt(32 / 7)))
    assert mean_and_sd([3.0]) == (3.0, None)
    assert mean_and_sd([]) == (None, None)
