"""Command line of the benchmarks; see :mod:`recorder.bench`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import click
from tqdm import tqdm

from mango_trace.cli.marks import fill_tables
from mango_trace.cli.output import print_rows
from recorder.bench.measurements import (
    Measurement,
    Results,
    changes,
    read_results,
    results_of,
    worse,
    write_results,
)

RESULTS: Final = Path("docs/performance.json")
"""The committed figures."""

# Rows of the README, by the beginning of what they measure.
_README: Final = (
    "verdicts with exact truth intervals, states in memory",
    "verdicts alone, states in memory",
    "evaluate: from disk to database",
    "2 workers",
    "evaluate, 100000 traces",
    "peak memory, 100000 traces",
    "evaluate as a command, cold",
    "recording, commit included",
    "query agreement",
    "query policies",
)


@click.group()
def bench() -> None:
    """Measure, write tables, compare."""
    os.environ.setdefault("MUJOCO_GL", "disable")


@bench.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, help="Only these groups of rows; the others stay as they were.")
@click.option("--out", type=click.Path(path_type=Path), help="JSON file [default: FOLDER/results.json].")
def run(folder: Path, only: tuple[str, ...], out: Path | None) -> None:
    """Measure on the rollouts in FOLDER/libero-10 and keep the rows as JSON."""
    path = out or folder / "results.json"
    groups = _groups(folder)
    if unknown := [name for name in only if name not in groups]:
        raise click.BadParameter(f"no group {', '.join(unknown)}; there are {', '.join(groups)}")
    kept: list[Measurement] = list(read_results(path).rows) if path.exists() else []
    for name in tqdm(only or tuple(groups), unit="group", disable=None):
        rows = list(groups[name]())
        kept = [row for row in kept if row.group != name] + rows
        kept.sort(key=lambda row: list(groups).index(row.group))  # whatever was measured last
        write_results(path, results_of(kept))
    _print(kept)


@bench.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.argument("documents", nargs=-1, type=click.Path(path_type=Path))
def table(results: Path, documents: tuple[Path, ...]) -> None:
    """Write the tables of DOCUMENTS from RESULTS, between their marks."""
    found = read_results(results)
    for document in documents:
        document.write_text(fill_tables(document.read_text(), lambda name: _markdown(found, name)))


@bench.command()
@click.argument("results", type=click.Path(path_type=Path))
def compare(results: Path) -> None:
    """Print which ratios of RESULTS fell against the committed figures; exit code 1 if any did."""
    found = changes(read_results(RESULTS), read_results(results))
    print_rows(found, "table")
    sys.exit(1 if worse(found) else 0)


def _groups(folder: Path) -> dict[str, Callable[[], Iterator[Measurement]]]:
    from recorder.bench.asking import asking
    from recorder.bench.judging import judging
    from recorder.bench.recording import recording
    from recorder.bench.scaling import cold_start, scaling
    from recorder.bench.storage import encodings, storage

    root = folder / "libero-10"
    return {
        "judging": lambda: judging(root),
        "start": lambda: cold_start(root),
        "scaling": lambda: scaling(root),
        "queries": lambda: asking(root),
        "recording": lambda: recording(folder),
        "storage": lambda: storage(root),
        "encodings": lambda: encodings(root),
    }


def _print(rows: Iterable[Measurement]) -> None:
    print_rows(
        [
            {
                "what": row.what,
                "value": row.value,
                "unit": row.unit,
                "ratio": row.ratio,
                "compared_with": row.compared_with,
            }
            for row in rows
        ],
        "table",
    )


def _markdown(results: Results, name: str) -> str:
    """A table: ``readme`` or the name of a group."""
    rows = [
        row
        for row in results.rows
        if (row.what.startswith(_README) if name == "readme" else row.group == name)
    ]
    lines = ["| what | value | ratio |", "| --- | ---: | --- |"]
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.3g} {row.compared_with}"
        lines.append(f"| {row.what} | {row.value:.3g} {row.unit} | {ratio} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    bench()
