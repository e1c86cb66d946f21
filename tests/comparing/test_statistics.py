"""Intervals and tests equal statsmodels and scipy and published values; they obey their laws."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from mango_trace.comparing.statistics import (
    holm,
    mcnemar_p,
    newcombe,
    newcombe_p,
    newcombe_paired,
    wilson,
)
from mango_trace.errors import UsageError

COUNT = st.integers(0, 60)

NEWCOMBE_1998 = {
    # Pairs in which both, only A, only B, neither passed: method 10 in table III of R. G. Newcombe,
    # Statistics in Medicine 17 (1998), 2635-2650.
    (36, 12, 2, 0): (0.0569, 0.3404),
    (20, 12, 2, 16): (0.0562, 0.3292),
    (18, 12, 2, 18): (0.0562, 0.3290),
    (36, 14, 0, 0): (0.1528, 0.4167),
    (35, 14, 0, 1): (0.1461, 0.4175),
    (18, 14, 0, 18): (0.1441, 0.3963),
    (2, 97, 1, 0): (0.8721, 0.9854),
    (0, 29, 1, 0): (0.6666, 0.9882),
    (2, 98, 0, 0): (0.9178, 0.9945),
    (1, 98, 0, 1): (0.9171, 0.9916),
    (0, 30, 0, 0): (0.8395, 1.0),
    (54, 0, 0, 0): (-0.0664, 0.0664),
    (53, 0, 0, 1): (-0.0729, 0.0729),
    (30, 0, 0, 24): (-0.0358, 0.0358),
}


@pytest.mark.parametrize(  # O-82
    ("hits", "n", "low", "high"),
    [
        (9, 10, 59.58, 98.21),
        (10, 10, 72.25, 100),
        (0, 10, 0, 27.75),
        (49, 50, 89.50, 99.65),
        (0, 50, 0, 7.13),
        (493, 500, 97.14, 99.32),
    ],
)
def test_wilson_has_no_zero_width(hits: int, n: int, low: float, high: float) -> None:
    found = wilson(hits, n)
    assert found is not None
    assert [100 * bound for bound in found] == pytest.approx([low, high], abs=0.01)
    assert found == pytest.approx(proportion_confint(hits, n, method="wilson"), abs=1e-12)
    by_scipy = binomtest(hits, n).proportion_ci(method="wilson")
    assert found == pytest.approx((by_scipy.low, by_scipy.high), abs=1e-9)


@pytest.mark.parametrize(  # O-83
    ("counts", "difference", "low", "high"),
    [((56, 70, 48, 80), 0.2, 0.0524, 0.3339), ((9, 10, 3, 10), 0.6, 0.1705, 0.8090)],
)
def test_newcombe(counts, difference: float, low: float, high: float) -> None:
    found = newcombe(*counts)
    assert found == pytest.approx((low, high), abs=1e-4)
    assert found == pytest.approx(confint_proportions_2indep(*counts, method="newcomb"), abs=1e-9)
    assert counts[0] / counts[1] - counts[2] / counts[3] == pytest.approx(difference)


def test_what_never_ran_has_no_interval() -> None:  # O-84
    assert wilson(0, 0) is None
    assert newcombe(0, 0, 3, 10) is None
    assert newcombe_p(3, 10, 0, 0) is None
    assert newcombe_paired(0, 0, 0, 0) is None


@pytest.mark.parametrize(("cells", "bounds"), NEWCOMBE_1998.items())
def test_newcombe_paired_equals_the_published_table(cells, bounds) -> None:
    assert newcombe_paired(*cells) == pytest.approx(bounds, abs=5.1e-5)


def test_newcombe_paired_equals_the_worked_example() -> None:
    # D. G. Altman, D. Machin, T. N. Bryant, M. J. Gardner, Statistics with Confidence (2000), table 6.2.
    assert newcombe_paired(14, 5, 0, 22) == pytest.approx((0.011, 0.226), abs=6e-4)


@given(COUNT, COUNT, COUNT, COUNT)
def test_swapping_mirrors_every_interval(a: int, b: int, c: int, d: int) -> None:
    if a + b + c + d:
        low, high = newcombe_paired(a, b, c, d) or (math.nan, math.nan)
        assert newcombe_paired(a, c, b, d) == pytest.approx((-high, -low), abs=1e-12)
        assert low - 1e-12 <= (b - c) / (a + b + c + d) <= high + 1e-12
    low, high = newcombe(a, a + b + 1, c, c + d + 1) or (math.nan, math.nan)
    assert newcombe(c, c + d + 1, a, a + b + 1) == pytest.approx((-high, -low), abs=1e-12)
    assert mcnemar_p(b, c) == mcnemar_p(c, b)


@given(COUNT, COUNT)
def test_mcnemar_equals_statsmodels_and_the_binomial_test(only_a: int, only_b: int) -> None:
    found = mcnemar_p(only_a, only_b)
    if only_a + only_b:
        assert found == pytest.approx(float(mcnemar([[7, only_a], [only_b, 7]], exact=True).pvalue), rel=1e-9)
        assert found == pytest.approx(binomtest(only_a, only_a + only_b).pvalue, rel=1e-6)
    else:
        assert found == 1.0


@pytest.mark.parametrize("counts", [(56, 70, 48, 80), (9, 10, 3, 10), (10, 10, 9, 10), (1, 40, 9, 30)])
def test_p_and_interval_agree(counts) -> None:
    p = newcombe_p(*counts)
    assert p is not None
    for alpha, leaves_out_0 in ((p * 1.001, True), (p * 0.999, False)):
        low, high = newcombe(*counts, alpha) or (math.nan, math.nan)
        assert (low > 0 or high < 0) == leaves_out_0
    assert newcombe_p(*counts[2:], *counts[:2]) == pytest.approx(p, rel=1e-6)
    assert newcombe_p(3, 6, 5, 10) == 1.0


@settings(max_examples=25)  # statsmodels collects garbage at each call
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_equals_statsmodels_and_its_definition(p_values: list[float]) -> None:
    found = holm(p_values)
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    worst = 0.0
    for rank, i in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[i]))
        assert found[i] == pytest.approx(worst, abs=1e-9)
    if p_values:
        assert found == pytest.approx(list(multipletests(p_values, method="holm")[1]), abs=1e-12)


def test_without_statsmodels_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels.stats.proportion", None)
    with pytest.raises(UsageError, match=r"pip install 'mango-trace\[statistics\]'"):
        wilson(1, 2)
