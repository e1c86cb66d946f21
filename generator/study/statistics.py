"""The paper's statistics: Shapiro-Wilk, Student's t or Kruskal-Wallis, Vargha and Delaney's A12."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy import stats

ALPHA: Final = 0.05
"""Level of significance, of the test for normality as well."""

_MAGNITUDES: Final = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"))
"""Limits of ``|2 (A12 - 0.5)|`` below which an effect is called so."""

_FEWEST: Final = 3
"""Fewest values that the test for normality takes."""

_SAME: Final = 1e-9
"""Spread, relative to the largest value, up to which values count as one: what is left is rounding."""

Test: TypeAlias = Literal["t", "kruskal", "equal", "undetermined"]
"""``equal``: all values of both samples are the same, there is nothing to test; ``undetermined``: too few."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two samples beside each other.

    Attributes:
        test: Which test was made.
        p: Its p-value; ``None`` where none was made.
        a12: Probability that a value of the first is larger than one of the second, ties half; ``None`` where
            a sample is empty.
        magnitude: What the effect is called; empty where there is none to be had.
    """

    test: Test
    p: float | None
    a12: float | None
    magnitude: str

    @property
    def significant(self) -> bool:
        """Whether the samples differ, at :data:`ALPHA`."""
        return self.p is not None and self.p < ALPHA


def mean_and_sd(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean and sample standard deviation; ``None`` where there are too few values for them."""
    if not values:
        return None, None
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return float(np.mean(values)), sd


def compare(first: Sequence[float], second: Sequence[float]) -> Comparison:
    """Compare two samples as the paper does.

    Student's t where Shapiro-Wilk does not reject that both are normal, else Kruskal-Wallis. A constant
    sample is not normal.

    Args:
        first: Values of one configuration.
        second: Values of another.
    """
    if not first or not second:
        return Comparison("undetermined", None, None, "")
    effect = a12(first, second)
    name = magnitude(effect)
    if min(len(first), len(second)) < _FEWEST:
        return Comparison("undetermined", None, effect, name)
    if _is_constant([*first, *second]):
        return Comparison("equal", None, effect, name)
    if _is_normal(first) and _is_normal(second):
        return Comparison("t", float(stats.ttest_ind(first, second).pvalue), effect, name)
    return Comparison("kruskal", float(stats.kruskal(first, second).pvalue), effect, name)


def a12(first: Sequence[float], second: Sequence[float]) -> float:
    """Vargha and Delaney's A12: how often a value of the first is larger, ties counted half.

    >>> a12([1, 2, 3], [1, 2, 3])
    0.5
    """
    u = stats.mannwhitneyu(first, second, method="asymptotic").statistic
    return float(u) / (len(first) * len(second))


def magnitude(effect: float) -> str:
    """What an A12 is called.

    >>> magnitude(0.5), magnitude(0.6), magnitude(0.3), magnitude(1.0)
    ('negligible', 'small', 'medium', 'large')
    """
    scaled = abs(2 * (effect - 0.5))
    return next((name for limit, name in _MAGNITUDES if scaled < limit), "large")


def _is_constant(values: Sequence[float]) -> bool:
    return float(np.ptp(values)) <= _SAME * max(map(abs, values))


def _is_normal(values: Sequence[float]) -> bool:
    return not _is_constant(values) and float(stats.shapiro(values).pvalue) > ALPHA
