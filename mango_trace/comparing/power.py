"""How many rollouts show a difference, and which difference a number of rollouts can show.

The test is the one that a comparison makes: McNemar's exact test for pairs, of which the power is exact, too;
for independent rollouts the normal approximation of statsmodels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from mango_trace.comparing.statistics import library
from mango_trace.errors import UsageError

_MOST_ROLLOUTS: Final = 10_000_000
_WINDOW: Final = 32
"""Power rises with the number of pairs, but in teeth: so far below a number a smaller one is looked for."""


def independent_discordance(rate_a: float, rate_b: float) -> float:
    """Share of pairs in which one passes alone, if the outcomes of a pair have nothing to do with each other.

    >>> round(independent_discordance(0.8, 0.7), 4)
    0.38
    """
    return rate_a * (1 - rate_b) + rate_b * (1 - rate_a)


def paired_power(n: int, difference: float, discordance: float, alpha: float = 0.05) -> float:
    """Probability that McNemar's exact test separates two policies, before anything is run.

    Args:
        n: Pairs.
        difference: Of the rates.
        discordance: Share of pairs in which one passes alone; at least the size of the difference.
        alpha: Level of the test.

    Raises:
        UsageError: No such discordance can be, or scipy is not installed.
    """
    size = abs(difference)
    if not size - 1e-12 <= discordance <= 1 + 1e-12:
        raise UsageError(
            f"discordance {discordance:g} must lie between the difference, {size:g}, and 1: the share of "
            "pairs in which one policy passes alone is at least the difference"
        )
    if n < 1 or discordance <= 0:
        return 0.0
    binomial = library("scipy.stats").binom
    discordance = min(discordance, 1.0)
    spread = 12 * math.sqrt(n * discordance * (1 - discordance)) + 12
    centre = n * discordance
    m = np.arange(max(0, math.floor(centre - spread)), min(n, math.ceil(centre + spread)) + 1)
    # The largest number of the rarer discordant pairs with which the test still separates; -1 for none.
    largest = binomial.ppf(alpha / 2, m, 0.5)
    largest = np.where(2 * binomial.cdf(largest, m, 0.5) < alpha, largest, largest - 1)
    share = min((discordance + size) / (2 * discordance), 1.0)
    separated = binomial.cdf(largest, m, share) + binomial.sf(m - largest - 1, m, share)
    return float(np.sum(binomial.pmf(m, n, discordance) * np.where(largest < 0, 0.0, separated)))


def pairs_needed(difference: float, discordance: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """Pairs with which McNemar's exact test separates two policies with a given probability.

    Args:
        difference: Of the rates, not 0.
        discordance: Share of pairs in which one passes alone.
        alpha: Level of the test.
        power: The probability.

    Raises:
        UsageError: The difference is 0, or too small to be shown, or the discordance cannot be.
    """
    _check_difference(difference)

    def enough(n: int) -> bool:
        return paired_power(n, difference, discordance, alpha) >= power

    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST_ROLLOUTS:
            raise UsageError(f"a difference of {difference:g} needs more than {_MOST_ROLLOUTS} pairs")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return next(n for n in range(max(1, high - _WINDOW), high + 1) if enough(n))


def unpaired_power(n_a: int, n_b: int, rate_a: float, rate_b: float, alpha: float = 0.05) -> float:
    """Probability that independent rollouts separate two policies.

    Args:
        n_a: Rollouts of a.
        n_b: Rollouts of b.
        rate_a: Success rate of a.
        rate_b: Success rate of b.
        alpha: Level of the test.

    Raises:
        UsageError: statsmodels is not installed.
    """
    if min(n_a, n_b) < 1:
        return 0.0
    if abs(rate_a - rate_b) >= 1:
        return 1.0  # the approximation divides by a variance of 0
    return float(
        library("statsmodels.stats.proportion").power_proportions_2indep(
            rate_a - rate_b, rate_b, n_a, ratio=n_b / n_a, alpha=alpha, return_results=False
        )
    )


def rollouts_needed(rate_a: float, rate_b: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """Independent rollouts of each policy that separate two of them with a given probability.

    Args:
        rate_a: Success rate of a.
        rate_b: Success rate of b.
        alpha: Level of the test.
        power: The probability.

    Raises:
        UsageError: The rates are equal, or too near to be told apart, or statsmodels is not installed.

    >>> rollouts_needed(0.8, 0.7)
    294
    """
    _check_difference(rate_a - rate_b)
    needed = float(
        library("statsmodels.stats.proportion").samplesize_proportions_2indep_onetail(
            rate_a - rate_b, rate_b, power, ratio=1, alpha=alpha, alternative="two-sided"
        )
    )
    if needed > _MOST_ROLLOUTS:
        raise UsageError(f"a difference of {rate_a - rate_b:g} needs more than {_MOST_ROLLOUTS} rollouts")
    return math.ceil(needed)


def detectable_paired(n: int, discordance: float, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest difference that some pairs show with a given probability.

    Args:
        n: Pairs.
        discordance: Share of pairs in which one passes alone; more, where the difference asks for it.
        alpha: Level of the test.
        power: The probability.

    Returns:
        The size of the difference; ``None`` if they show none.
    """
    return smallest_difference(lambda size: paired_power(n, size, max(discordance, size), alpha) - power, 1.0)


def detectable_unpaired(
    n_a: int, n_b: int, rate: float, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The smallest difference that independent rollouts show with a given probability.

    Args:
        n_a: Rollouts of a.
        n_b: Rollouts of b.
        rate: Of both together; the two rates lie as evenly around it as they can.
        alpha: Level of the test.
        power: The probability.

    Returns:
        The size of the difference, whichever policy is the better one; ``None`` if they show none.
    """

    def surplus(size: float) -> float:
        lower = min(max(rate - size / 2, 0.0), 1 - size)
        one = unpaired_power(n_a, n_b, lower + size, lower, alpha)
        other = unpaired_power(n_a, n_b, lower, lower + size, alpha)
        return min(one, other) - power

    return smallest_difference(surplus, 1.0)


def smallest_difference(surplus: Callable[[float], float], largest: float) -> float | None:
    """Where power reaches what is asked for.

    Args:
        surplus: Power above what is asked for at a size of the difference; it rises.
        largest: The largest difference that can be.

    Returns:
        The size, or ``None`` if not even the largest is enough.
    """
    smallest = 1e-9
    if largest <= smallest or surplus(largest) < 0:
        return None
    if surplus(smallest) >= 0:
        return smallest
    return float(library("scipy.optimize").brentq(surplus, smallest, largest, xtol=1e-9))


def _check_difference(difference: float) -> None:
    if abs(difference) < 1e-12:
        raise UsageError("the two rates are equal: no number of rollouts shows a difference of 0")
