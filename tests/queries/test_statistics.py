"""Intervals and tests in SQL equal those of statsmodels and published values."""

from __future__ import annotations

from pathlib import Path

import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from mango_trace.queries import run_sql


def sql(path: Path, text: str) -> tuple:
    return run_sql(path, text).rows[0]


def test_wilson_equals_statsmodels(empty: Path) -> None:
    rows = run_sql(
        empty,
        "SELECT k, n, wilson_low(k, n), wilson_high(k, n) FROM range(1, 61) AS n(n), "
        "range(0, 61) AS k(k) WHERE k <= n",
    ).rows
    assert len(rows) == sum(n + 1 for n in range(1, 61))
    for hits, n, low, high in rows:
        expected = proportion_confint(hits, n, alpha=0.05, method="wilson")
        assert (low, high) == pytest.approx(expected, abs=1e-9)


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
def test_wilson_has_no_zero_width(empty: Path, hits, n, low, high) -> None:
    found = sql(empty, f"SELECT 100 * wilson_low({hits}, {n}), 100 * wilson_high({hits}, {n})")
    assert found == pytest.approx((low, high), abs=0.01)


def test_no_episodes_have_no_rate(empty: Path) -> None:  # O-84
    assert sql(empty, "SELECT ratio(0, 0), wilson_low(0, 0), wilson_high(0, 0)") == (None,) * 3


@pytest.mark.parametrize(  # O-83
    ("counts", "low", "high"),
    [((56, 70, 48, 80), 0.0524, 0.3339), ((9, 10, 3, 10), 0.1705, 0.8090)],
)
def test_newcombe(empty: Path, counts, low, high) -> None:
    listed = ", ".join(map(str, counts))
    found = sql(empty, f"SELECT newcombe_low({listed}), newcombe_high({listed})")
    assert found == pytest.approx((low, high), abs=1e-4)
    expected = confint_proportions_2indep(*counts, method="newcomb", compare="diff")
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("only_a", "only_b"), [(3, 9), (10, 2), (1, 0), (5, 5), (0, 40), (300, 240)])
def test_mcnemar_equals_statsmodels(empty: Path, only_a: int, only_b: int) -> None:
    (found,) = sql(empty, f"SELECT mcnemar_p({only_a}, {only_b})")
    assert found == pytest.approx(mcnemar([[7, only_a], [only_b, 7]], exact=True).pvalue, rel=1e-9)


def test_mcnemar_without_discordant_pairs(empty: Path) -> None:
    assert sql(empty, "SELECT mcnemar_p(0, 0)") == (1.0,)
