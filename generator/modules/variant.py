"""Switches of the study: what is left out of the whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Variant:
    """Which parts take part.

    Attributes:
        assessors: Assessors examine candidates.
        judge: A judge decides; else the first candidate that the program accepts is taken.
        task_library: Module I: there is a library of atomic tasks.
        oracle_library: Module II: there is a library of atomic oracles.
        reliability: The program checks that an oracle compiles and what traces show, and says so.
        rounds: Budgets of rounds: of Module I, of Module II for each task and for its library, of Module III.
    """

    assessors: bool = True
    judge: bool = True
    task_library: bool = True
    oracle_library: bool = True
    reliability: bool = True
    rounds: tuple[int, int, int, int] = (10, 10, 10, 25)


WHOLE: Final = Variant()
BASELINE: Final = Variant(assessors=False, judge=False, reliability=False, rounds=(1, 1, 1, 1))
ABLATIONS: Final = {
    "tasks": Variant(task_library=False),
    "oracles": Variant(oracle_library=False),
    "reliability": Variant(reliability=False),
}
"""By what is left out."""
