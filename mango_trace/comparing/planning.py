"""Planning a comparison: rollouts, difference and power, of which two give the third."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mango_trace.comparing.power import (
    independent_discordance,
    paired_power,
    pairs_needed,
    rollouts_needed,
    smallest_difference,
    unpaired_power,
)
from mango_trace.errors import UsageError


@dataclass(frozen=True, slots=True)
class Plan:
    """One way to compare two policies.

    Attributes:
        design: Whether rollouts are paired.
        rate_a: Success rate of A.
        rate_b: Success rate of B; ``None`` if the rollouts show no difference on that side.
        discordance: Share of pairs in which one passes alone; ``None`` if unpaired.
        alpha: Level of the test.
        rollouts: Rollouts of each policy, or pairs.
        power: Probability to tell the two apart.
    """

    design: Literal["paired", "unpaired"]
    rate_a: float
    rate_b: float | None
    discordance: float | None
    alpha: float
    rollouts: int
    power: float

    @property
    def difference(self) -> float | None:
        """Rate of A minus rate of B."""
        return None if self.rate_b is None else self.rate_a - self.rate_b


def plan(
    rate_a: float,
    rate_b: float | None = None,
    rollouts: int | None = None,
    discordance: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> list[Plan]:
    """Find what was not given: rollouts, the rate of B on either side, or the power.

    Args:
        rate_a: Success rate of A.
        rate_b: Success rate of B.
        rollouts: Rollouts of each policy, or pairs.
        discordance: Share of pairs in which one passes alone; if not given, the least that can be and that of
            independent outcomes, in a plan each.
        alpha: Level of the test.
        power: Probability to tell the two apart, where it is not what is asked.

    Raises:
        UsageError: Neither ``rate_b`` nor ``rollouts`` is given, the rates are equal, no such discordance can
            be, or statsmodels is not installed.
    """
    if rate_b is None:
        if rollouts is None:
            raise UsageError(
                "give --rate-b for the rollouts that are needed, or --rollouts for the difference"
            )
        return _detectable(rate_a, rollouts, discordance, alpha, power)
    shares = [discordance]
    if discordance is None:
        shares = [abs(rate_a - rate_b), independent_discordance(rate_a, rate_b)]
    plans = [
        Plan("unpaired", rate_a, rate_b, None, alpha, *_unpaired(rate_a, rate_b, rollouts, alpha, power))
    ]
    for share in dict.fromkeys(share for share in shares if share is not None):
        _check(share, rate_a, rate_b)
        found = _paired(rate_a - rate_b, share, rollouts, alpha, power)
        plans.append(Plan("paired", rate_a, rate_b, share, alpha, *found))
    return plans


def _unpaired(
    rate_a: float, rate_b: float, rollouts: int | None, alpha: float, power: float
) -> tuple[int, float]:
    """Rollouts and power, of which one is given."""
    if rollouts is None:
        return rollouts_needed(rate_a, rate_b, alpha, power), power
    return rollouts, unpaired_power(rollouts, rollouts, rate_a, rate_b, alpha)


def _paired(
    difference: float, share: float, rollouts: int | None, alpha: float, power: float
) -> tuple[int, float]:
    if rollouts is None:
        return pairs_needed(difference, share, alpha, power), power
    return rollouts, paired_power(rollouts, difference, share, alpha)


def _check(share: float, rate_a: float, rate_b: float) -> None:
    """See that two policies with these rates can differ in such a share of pairs."""
    low, high = abs(rate_a - rate_b), _most(rate_a, rate_b)
    if not low - 1e-12 <= share <= high + 1e-12:
        raise UsageError(
            f"with rates {rate_a:g} and {rate_b:g} one policy passes alone in {low:.4g} to {high:.4g} of the "
            f"pairs; a discordance of {share:g} cannot be"
        )


def _most(rate_a: float, rate_b: float) -> float:
    """The largest share of pairs in which one of two policies passes alone."""
    return min(rate_a + rate_b, 2 - rate_a - rate_b)


def _detectable(
    rate_a: float, rollouts: int, discordance: float | None, alpha: float, power: float
) -> list[Plan]:
    found = []
    for direction, largest in ((-1, rate_a), (1, 1 - rate_a)):

        def unpaired(size: float, direction: int = direction) -> float:
            return unpaired_power(rollouts, rollouts, rate_a, rate_a + direction * size, alpha) - power

        def share(size: float, direction: int = direction) -> float:
            if discordance is None:
                return independent_discordance(rate_a, rate_a + direction * size)
            return min(max(discordance, size), _most(rate_a, rate_a + direction * size))

        def paired(size: float, direction: int = direction) -> float:
            return paired_power(rollouts, size, share(size, direction), alpha) - power

        size = smallest_difference(unpaired, largest)
        rate = None if size is None else rate_a + direction * size
        found.append(Plan("unpaired", rate_a, rate, None, alpha, rollouts, power))
        size = smallest_difference(paired, largest)
        rate = None if size is None else rate_a + direction * size
        pairs = discordance if size is None else share(size, direction)
        found.append(Plan("paired", rate_a, rate, pairs, alpha, rollouts, power))
    return found
