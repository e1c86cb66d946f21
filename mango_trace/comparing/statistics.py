"""Intervals and tests for rates, all two-sided, from statsmodels; what it lacks is here.

Hits are episodes that passed, ``n`` those that passed or failed. Nothing that was counted has no rate and no
interval: ``None``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, TypeAlias

from mango_trace.errors import UsageError

Interval: TypeAlias = tuple[float, float]
"""Lower and upper bound."""

_SMALLEST_P: Final = 1e-12


def wilson(hits: int, n: int, alpha: float = 0.05) -> Interval | None:
    """Wilson's score interval for a rate.

    Args:
        hits: Successes.
        n: Trials.
        alpha: One minus the confidence.

    Raises:
        UsageError: statsmodels is not installed.

    >>> [round(bound, 4) for bound in wilson(9, 10)]
    [0.5958, 0.9821]
    """
    if n == 0:
        return None
    low, high = library("statsmodels.stats.proportion").proportion_confint(
        hits, n, alpha=alpha, method="wilson"
    )
    return (0.0 if hits == 0 else float(low)), (1.0 if hits == n else float(high))


def newcombe(hits_a: int, n_a: int, hits_b: int, n_b: int, alpha: float = 0.05) -> Interval | None:
    """Newcombe's hybrid score interval for the difference of two independent rates, a minus b.

    Args:
        hits_a: Successes of a.
        n_a: Trials of a.
        hits_b: Successes of b.
        n_b: Trials of b.
        alpha: One minus the confidence.

    Raises:
        UsageError: statsmodels is not installed.

    >>> [round(bound, 4) for bound in newcombe(56, 70, 48, 80)]
    [0.0524, 0.3339]
    """
    if n_a == 0 or n_b == 0:
        return None
    low, high = library("statsmodels.stats.proportion").confint_proportions_2indep(
        hits_a, n_a, hits_b, n_b, method="newcomb", compare="diff", alpha=alpha
    )
    return float(low), float(high)


def newcombe_paired(
    both: int, only_a: int, only_b: int, neither: int, alpha: float = 0.05
) -> Interval | None:
    """Newcombe's interval for the difference of two rates of the same pairs, a minus b.

    Method 10 of R. G. Newcombe, Improved confidence intervals for the difference between binomial
    proportions based on paired data, Statistics in Medicine 17 (1998), 2635-2650: Wilson's intervals of
    both rates, added in squares with their correlation, which is corrected for continuity.

    Args:
        both: Pairs in which both passed.
        only_a: Pairs in which only a passed.
        only_b: Pairs in which only b passed.
        neither: Pairs in which neither passed.
        alpha: One minus the confidence.

    Raises:
        UsageError: statsmodels is not installed.

    >>> [round(bound, 4) for bound in newcombe_paired(36, 12, 2, 0)]
    [0.0569, 0.3404]
    """
    n = both + only_a + only_b + neither
    if n == 0:
        return None
    hits_a, hits_b = both + only_a, both + only_b
    interval_a, interval_b = wilson(hits_a, n, alpha), wilson(hits_b, n, alpha)
    assert interval_a is not None
    assert interval_b is not None
    product = hits_a * (n - hits_a) * hits_b * (n - hits_b)
    association = float(both * neither - only_a * only_b)
    if association > 0:
        association = max(association - n / 2, 0.0)
    correlation = association / math.sqrt(product) if product else 0.0

    def side(x: float, y: float) -> float:
        return math.sqrt(max(x * x - 2 * correlation * x * y + y * y, 0.0))

    rate_a, rate_b = hits_a / n, hits_b / n
    difference = (hits_a - hits_b) / n
    return (
        difference - side(rate_a - interval_a[0], interval_b[1] - rate_b),
        difference + side(interval_a[1] - rate_a, rate_b - interval_b[0]),
    )


def mcnemar_p(only_a: int, only_b: int) -> float:
    """The exact test of McNemar: how likely so uneven discordant pairs are if neither is better.

    Args:
        only_a: Pairs in which only a passed.
        only_b: Pairs in which only b passed.

    Raises:
        UsageError: statsmodels is not installed.

    >>> round(mcnemar_p(1, 11), 6)
    0.006348
    """
    if only_a == only_b:
        return 1.0
    tested = library("statsmodels.stats.contingency_tables").mcnemar([[0, only_a], [only_b, 0]], exact=True)
    return min(1.0, float(tested.pvalue))


def newcombe_p(hits_a: int, n_a: int, hits_b: int, n_b: int) -> float | None:
    """The smallest alpha at which Newcombe's interval leaves out 0, so that test and interval agree.

    Args:
        hits_a: Successes of a.
        n_a: Trials of a.
        hits_b: Successes of b.
        n_b: Trials of b.

    Raises:
        UsageError: statsmodels is not installed.
    """
    if n_a == 0 or n_b == 0:
        return None
    sign = (hits_a * n_b > hits_b * n_a) - (hits_a * n_b < hits_b * n_a)
    if sign == 0:
        return 1.0

    def nearest_to_zero(log_alpha: float) -> float:
        interval = newcombe(hits_a, n_a, hits_b, n_b, math.exp(log_alpha))
        assert interval is not None
        return interval[0] if sign > 0 else -interval[1]

    smallest = math.log(_SMALLEST_P)
    if nearest_to_zero(smallest) > 0:
        return _SMALLEST_P
    return math.exp(float(library("scipy.optimize").brentq(nearest_to_zero, smallest, -1e-12, xtol=1e-12)))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values of several tests, adjusted by Holm's method so that the family keeps its alpha.

    Args:
        p_values: One for each test.

    Raises:
        UsageError: statsmodels is not installed.

    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    if not p_values:
        return []
    adjusted = library("statsmodels.stats.multitest").multipletests(p_values, method="holm")[1]
    return [float(p) for p in adjusted]


def library(module: str) -> Any:
    """A module of statsmodels, or of scipy, which comes with it.

    Args:
        module: Its whole name.

    Raises:
        UsageError: It is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            "comparing needs the extra 'statistics': pip install 'mango-trace[statistics]'"
        ) from error
