"""What was measured, as rows that are kept as JSON."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Final

from pydantic import BaseModel, ConfigDict, TypeAdapter

from mango_trace.errors import BadInputError

TURNS: Final = 5
"""How often what is compared is measured, in turns."""

_NOISE: Final = 0.15
"""Share by which a ratio may differ between two runs before it counts as a change."""


class Measurement(BaseModel):
    """One row.

    Attributes:
        group: What it belongs to.
        what: What was measured.
        value: The figure.
        unit: Its unit.
        compared_with: What the ratio is taken to; empty where there is none.
        ratio: The ratio.
        better: Whether a larger or a smaller ratio is better.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    group: str
    what: str
    value: float
    unit: str
    compared_with: str = ""
    ratio: float | None = None
    better: str = "larger"


class Results(BaseModel):
    """All rows of a run, and where they come from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    machine: str
    versions: dict[str, str]
    rows: tuple[Measurement, ...]


def results_of(rows: Iterable[Measurement]) -> Results:
    """Rows with the machine and the versions that they were measured with."""
    packages = ("mango-trace", "mujoco", "numpy", "numba", "duckdb", "robosuite")
    return Results(
        machine=f"{platform.machine()}, Python {platform.python_version()}",
        versions={name: version(name) for name in packages},
        rows=tuple(rows),
    )


def write_results(path: Path, results: Results) -> None:
    """Write results as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results.model_dump(), indent=1) + "\n")


def read_results(path: Path) -> Results:
    """Read results.

    Raises:
        BadInputError: There are none, or the file holds something else.
    """
    try:
        return TypeAdapter(Results).validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise BadInputError(f"{path}: no results; make bench measures them") from error
    except ValueError as error:
        raise BadInputError(f"{path}: {error}") from error


def in_turns(*measures: Callable[[], float], turns: int = TURNS) -> list[float]:
    """Median of each of several measures, taken in turns so that noise meets all of them."""
    found: list[list[float]] = [[] for _ in measures]
    for _ in range(turns):
        for values, measure in zip(found, measures, strict=True):
            values.append(measure())
    return [median(values) for values in found]


def changes(committed: Results, now: Results) -> list[dict[str, object]]:
    """Ratios of a run beside the committed ones, with what became of each."""
    before = {(row.group, row.what, row.compared_with): row for row in committed.rows}
    found: list[dict[str, object]] = []
    for row in now.rows:
        if row.ratio is None:
            continue
        old = before.pop((row.group, row.what, row.compared_with), None)
        found.append(
            {
                "what": row.what,
                "compared_with": row.compared_with,
                "committed": None if old is None else old.ratio,
                "now": row.ratio,
                "change": "new" if old is None or old.ratio is None else _change(old.ratio, row),
            }
        )
    gone = [row for row in before.values() if row.ratio is not None]
    found.extend(
        {"what": row.what, "compared_with": row.compared_with, "committed": row.ratio, "now": None,
         "change": "not measured"}
        for row in gone
    )  # fmt: skip
    return found


def _change(old: float, row: Measurement) -> str:
    assert row.ratio is not None
    if abs(row.ratio - old) <= _NOISE * abs(old):
        return "as before"
    return "better" if (row.ratio > old) == (row.better == "larger") else "WORSE"


def worse(found: Sequence[dict[str, object]]) -> int:
    """How many ratios fell."""
    return sum(row["change"] == "WORSE" for row in found)
