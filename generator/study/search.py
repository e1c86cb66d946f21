"""The smallest subset that is still good enough, by a (1+1) evolutionary algorithm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Subset: TypeAlias = tuple[int, ...]
"""Indices in rising order."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a subset is good enough, and when the search ends.

    Attributes:
        threshold: Smallest fitness of a feasible subset.
        generations: Most generations.
        patience: Generations in a row without improvement after which it ends.
    """

    threshold: float = 0.95
    generations: int = 200
    patience: int = 20


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Attributes:
        subset: The smallest feasible subset; the whole set if nothing smaller is.
        fitness: Its fitness.
        feasible: Whether it is feasible; only the whole set may not be.
        generations: Generations that passed.
        evaluations: Subsets whose fitness was asked, the whole set included.
    """

    subset: Subset
    fitness: float
    feasible: bool
    generations: int
    evaluations: int


def smallest_subset(
    n: int,
    fitness: Callable[[Subset], float],
    rng: np.random.Generator,
    limits: Limits | None = None,
    progress: Callable[[Subset], None] = lambda _: None,
) -> Found:
    """Search the smallest feasible subset of ``n`` things, beginning with all of them.

    Each generation flips every bit of the best subset with probability ``1/n``; the candidate replaces it
    only if it is smaller and feasible. The fitness of a candidate that is not smaller, or that was asked
    before, is not asked: it could change nothing.

    Args:
        n: How many things there are, at least one.
        fitness: How good a subset is, from 0 to 1; never asked of the empty one.
        rng: Where chance comes from.
        limits: When to end.
        progress: Called after each generation with the best subset.

    Returns:
        The subset and what it took.
    """
    limits = limits or Limits()
    known: dict[Subset, float] = {}

    def ask(mask: np.ndarray) -> float:
        subset = _subset(mask)
        if subset not in known:
            known[subset] = fitness(subset)
        return known[subset]

    best = np.ones(n, dtype=np.bool_)
    ask(best)
    generation = stale = 0
    while generation < limits.generations and stale < limits.patience:
        generation, stale = generation + 1, stale + 1
        candidate = best ^ (rng.random(n) < 1 / n)
        if 0 < candidate.sum() < best.sum() and ask(candidate) >= limits.threshold:
            best, stale = candidate, 0
        progress(_subset(best))
    value = ask(best)
    return Found(_subset(best), value, value >= limits.threshold, generation, len(known))


def _subset(mask: np.ndarray) -> Subset:
    return tuple(map(int, np.flatnonzero(mask)))
