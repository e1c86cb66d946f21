"""Laws of the search for the smallest subset."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generator.study.search import Limits, smallest_subset


def covering(needed: frozenset[int]):
    """Share of some needed things that a subset has; 1 if none is needed."""
    return lambda subset: len(needed & set(subset)) / len(needed) if needed else 1.0


problems = st.integers(1, 12).flatmap(
    lambda n: st.tuples(st.just(n), st.frozensets(st.integers(0, n - 1)), st.integers(0, 99))
)


@given(problems)
def test_what_is_found_is_feasible_and_sizes_only_fall(problem):
    n, needed, seed = problem
    seen = [tuple(range(n))]
    found = smallest_subset(n, covering(needed), np.random.default_rng(seed), progress=seen.append)
    assert found.feasible
    assert needed <= set(found.subset)
    assert found.fitness == 1.0
    sizes = [len(subset) for subset in seen]
    assert sizes == sorted(sizes, reverse=True)
    assert seen[-1] == found.subset != ()


@given(problems)
def test_the_same_seed_finds_the_same(problem):
    n, needed, seed = problem
    first, second = (smallest_subset(n, covering(needed), np.random.default_rng(seed)) for _ in range(2))
    assert first == second


@given(problems, st.integers(1, 30), st.integers(1, 30))
def test_limits_are_kept(problem, generations, patience):
    n, needed, seed = problem
    limits, seen = Limits(generations=generations, patience=patience), [tuple(range(n))]
    found = smallest_subset(n, covering(needed), np.random.default_rng(seed), limits, seen.append)
    assert found.generations == len(seen) - 1 <= generations
    stale = longest = 0
    for before, after in pairwise(seen):
        stale = 0 if before != after else stale + 1
        longest = max(longest, stale)
    assert longest <= patience
    assert found.generations == generations or stale == patience


def test_no_subset_is_asked_twice_and_the_empty_one_never():
    asked = []

    def fitness(subset):
        asked.append(subset)
        return covering(frozenset({1, 4}))(subset)

    found = smallest_subset(8, fitness, np.random.default_rng(3), Limits(generations=2000, patience=2000))
    assert len(asked) == len(set(asked)) == found.evaluations
    assert () not in asked
    assert found.subset == (1, 4)


def test_only_the_whole_set_may_be_infeasible():
    found = smallest_subset(5, lambda _: 0.9, np.random.default_rng(0))
    assert (found.subset, found.feasible, found.generations) == ((0, 1, 2, 3, 4), False, 20)


def test_one_thing_cannot_be_left_out():
    assert smallest_subset(1, lambda _: 1.0, np.random.default_rng(0)).subset == (0,)


def test_the_threshold_itself_is_enough():
    sizes = {
        threshold: len(
            smallest_subset(
                10, covering(frozenset(range(10))), np.random.default_rng(0), Limits(threshold, 500, 500)
            ).subset
        )
        for threshold in (0.5, 0.8, 1.0)
    }
    assert sizes == {0.5: 5, 0.8: 8, 1.0: 10}


class Preset:
    """Gives the numbers that it was made with, and then those that flip nothing."""

    def __init__(self, *rows):
        self.rows = list(rows)

    def random(self, n):
        return np.array(self.rows.pop(0) if self.rows else [1.0] * n)


def test_every_bit_of_the_best_flips_alone_with_probability_1_in_n():
    seen = []
    chance = Preset([0.24, 0.25, 0.9, 0.0], [0.9, 0.1, 0.9, 0.9], [0.2, 0.9, 0.1, 0.9], [0.2, 0.2, 0.9, 0.9])
    found = smallest_subset(4, lambda subset: float(subset != (2,)), chance, Limits(1.0, 4), seen.append)
    # 0 and 3 go; without 1 too it is not feasible; 0 for 2, and 0 for 1, are no smaller.
    assert seen == [(1, 2)] * 4
    assert found.evaluations == 3
