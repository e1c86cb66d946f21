"""How far a run is: what is told after each round, and how it is shown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TextIO, TypeAlias

from generator.negotiation import Round

if TYPE_CHECKING:
    from tqdm import tqdm

LIBRARY: Final = "library"
"""The item of a round about a whole library."""

Module: TypeAlias = Literal["I", "II", "III"]


@dataclass(frozen=True, slots=True)
class RoundReport:
    """One round of a negotiation.

    Attributes:
        module: Module that it belongs to.
        item: What it is about: an atomic task, an instruction's task, or :data:`LIBRARY`.
        number: Number of the round, from 1.
        scores: Scores of the assessors by their names, from 0 to 10.
        n_problems: How many things the program itself found wrong.
        accepted: Whether the candidate was accepted.
    """

    module: Module
    item: str
    number: int
    scores: Mapping[str, float]
    n_problems: int
    accepted: bool

    def __str__(self) -> str:
        """Say it in a line, as in ``II open: round 2, hacker 6.0``."""
        parts = [f"round {self.number}", *(f"{name} {score:.1f}" for name, score in self.scores.items())]
        if self.n_problems:
            parts.append(f"{self.n_problems} problem{'s' if self.n_problems > 1 else ''}")
        if self.accepted:
            parts.append("accepted")
        return f"{self.module} {self.item}: {', '.join(parts)}"


Progress: TypeAlias = Callable[[RoundReport], None]
"""Is told of each round, from one thread at a time."""


def one_at_a_time(progress: Progress | None) -> Progress | None:
    """Keep the threads that tell of progress apart."""
    if progress is None:
        return None
    lock = threading.Lock()

    def tell(report: RoundReport) -> None:
        with lock:
            progress(report)

    return tell


def rounds_of(
    progress: Progress | None, module: Module, item: str
) -> Callable[[int, Round[Any]], None] | None:
    """Make what a negotiation calls after each round of what a module calls."""
    if progress is None:
        return None

    def tell(number: int, found: Round[Any]) -> None:
        scores = {name: assessment.score for name, assessment in found.assessments.items()}
        progress(RoundReport(module, item, number, scores, len(found.problems), found.accepted))

    return tell


class Display:
    """A bar of items that are done, with the latest round beside it.

    It is on stderr, and nowhere if that is no terminal: what a command prints can be piped.

    Args:
        total: How many items there are; ``None`` if that is not known.
        unit: What an item is.
        stream: Where it is shown; ``None`` is stderr.
    """

    def __init__(self, total: int | None, unit: str, stream: TextIO | None = None) -> None:
        from tqdm import tqdm

        self._bar: tqdm[Any] = tqdm(total=total, unit=unit, file=stream, disable=None, dynamic_ncols=True)

    def show(self, report: RoundReport) -> None:
        """Show a round; a :data:`Progress`."""
        self._bar.set_postfix_str(str(report))

    def done(self) -> None:
        """Count one item as done."""
        self._bar.update()

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
