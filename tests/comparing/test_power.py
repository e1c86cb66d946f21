"""Rollouts, differences and power: published values, and what they promise, by enumeration."""

from __future__ import annotations

import math

import pytest
from scipy.stats import multinomial

from mango_trace.comparing.planning import plan
from mango_trace.comparing.power import (
    detectable_paired,
    detectable_unpaired,
    paired_power,
    pairs_needed,
    rollouts_needed,
    unpaired_power,
)
from mango_trace.comparing.statistics import mcnemar_p
from mango_trace.errors import UsageError


def test_paired_power_equals_the_published_example() -> None:
    # R. G. O'Brien (2002), as in the manual of G*Power 3.1, chapter 5: cells 0.32 and 0.08, 50 pairs,
    # one-sided 5 %, exact power 0.839343. Two-sided at 10 % adds the other tail, which is below 2e-5.
    assert paired_power(50, 0.24, 0.40, alpha=0.10) == pytest.approx(0.839343, abs=2e-5)


@pytest.mark.parametrize(("n", "difference", "discordance"), [(9, 0.3, 0.5), (14, 0.6, 0.6), (12, 0.0, 0.4)])
def test_paired_power_equals_enumeration(n: int, difference: float, discordance: float) -> None:
    only_a, only_b = (discordance + difference) / 2, (discordance - difference) / 2
    cells = multinomial(n, [only_a, only_b, 1 - discordance])
    expected = sum(
        cells.pmf([a, b, n - a - b]) for a in range(n + 1) for b in range(n + 1 - a) if mcnemar_p(a, b) < 0.05
    )
    assert paired_power(n, difference, discordance) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("difference", "discordance"), [(0.1, 0.3), (0.2, 0.2), (0.05, 0.2), (1.0, 1.0)])
def test_so_many_pairs_are_enough_and_fewer_are_not(difference: float, discordance: float) -> None:
    n = pairs_needed(difference, discordance)
    assert paired_power(n, difference, discordance) >= 0.8
    assert all(paired_power(k, difference, discordance) < 0.8 for k in range(max(1, n - 20), n))


def test_six_pairs_are_the_least_that_separate() -> None:
    assert pairs_needed(1.0, 1.0) == 6  # 2 / 2**6 < 0.05 < 2 / 2**5
    assert detectable_paired(5, 0.2) is None


@pytest.mark.parametrize(  # the examples of R's power.prop.test, and 0.7 against 0.8
    ("rates", "power", "n"), [((0.50, 0.75), 0.90, 76.7), ((0.8, 0.7), 0.80, 293.15)]
)
def test_rollouts_equal_the_published_ones(rates, power: float, n: float) -> None:
    assert rollouts_needed(*rates, power=power) == math.ceil(n)
    assert rollouts_needed(*reversed(rates), power=power) == math.ceil(n)
    assert unpaired_power(math.ceil(n), math.ceil(n), *rates) == pytest.approx(power, abs=0.01)


def test_the_detectable_difference_has_the_power() -> None:
    for n, discordance in ((50, 0.3), (200, 0.1), (20, 0.0)):
        size = detectable_paired(n, discordance)
        assert size is not None
        assert paired_power(n, size, max(size, discordance)) == pytest.approx(0.8, abs=1e-4)
    for n_a, n_b, rate in ((50, 60, 0.5), (500, 100, 0.9), (50, 50, 1.0)):
        size = detectable_unpaired(n_a, n_b, rate)
        assert size == pytest.approx(detectable_unpaired(n_b, n_a, rate), abs=1e-9)
        assert size is not None
    assert (detectable_paired(400, 0.3) or 1) < (detectable_paired(100, 0.3) or 0)


def test_two_of_three_give_the_third() -> None:
    unpaired, fewest, most = plan(0.8, 0.7)
    assert (unpaired.rollouts, fewest.discordance, most.discordance) == (
        294,
        pytest.approx(0.1),
        pytest.approx(0.38),
    )
    assert fewest.rollouts < most.rollouts
    (_, again) = plan(0.8, 0.7, rollouts=most.rollouts, discordance=0.38)
    assert 0.8 <= again.power < 0.81
    lower, paired, higher, _ = plan(0.8, rollouts=294)
    assert lower.rate_b == pytest.approx(0.7, abs=1e-3)
    assert paired.rate_b is not None
    assert paired.rate_b < 0.8 < (higher.rate_b or 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate_a": 0.8}, "--rate-b"),
        ({"rate_a": 0.8, "rate_b": 0.8}, "equal"),
        ({"rate_a": 0.8, "rate_b": 0.9, "discordance": 0.05}, "0.1 to 0.3"),
        ({"rate_a": 0.8, "rate_b": 0.80001}, "more than"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan(**arguments)
