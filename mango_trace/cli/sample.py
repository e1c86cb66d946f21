"""``mango-trace sample``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mango_trace.cli import places
from mango_trace.cli.output import format_option, print_rows

if TYPE_CHECKING:
    from mango_trace.store.sampling import Chosen, Draw, Shortage

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_COLUMNS = (
    "task", "trace_id", "stratum", "in_place_of", "position", "first_failed", "failure_class",
)  # fmt: skip


@click.command(
    epilog="""\b
Examples:
  mango-trace sample runs
  mango-trace sample runs --mark
  mango-trace sample runs --simple --margin 0.1 --name tenth --mark
"""
)
@click.argument("dataset", type=places.dataset)
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed draws other runs.")
@click.option(
    "--per-class",
    type=click.IntRange(0),
    default=2,
    show_default=True,
    help="Failed runs of each task that failed early, middle and late.",
)
@click.option(
    "--successes", type=click.IntRange(0), default=4, show_default=True, help="Successes of each task."
)
@click.option("--simple", is_flag=True, help="Draw a simple random sample of Cochran's size instead.")
@click.option(
    "--confidence", type=_SHARE, default=0.95, show_default=True, help="Confidence of Cochran's size."
)
@click.option(
    "--margin", type=_SHARE, default=0.05, show_default=True, help="Margin of error of Cochran's size."
)
@click.option("--mark", is_flag=True, help="Keep the sample beside the traces; it replaces the one so named.")
@click.option("--name", default="paper", show_default=True, help="Name of the sample that is kept.")
@format_option
def sample(
    dataset: Path,
    seed: int,
    per_class: int,
    successes: int,
    simple: bool,
    confidence: float,
    margin: float,
    mark: bool,
    name: str,
    output_format: str,
) -> None:
    """Draw a sample of the runs in DATASET, one row each.

    Of every task as many that failed early, middle and late, and some that succeeded. Where a class has
    too few, the nearest failed runs stand in. The same seed draws the same runs.
    """
    from mango_trace.store import Dataset
    from mango_trace.store.sampling import draw_simple, draw_stratified, keep_draw

    opened = Dataset(dataset)
    if simple:
        draw = draw_simple(opened.records, seed=seed, confidence=confidence, margin=margin)
    else:
        draw = draw_stratified(opened.records, seed=seed, per_class=per_class, successes=successes)
    if mark:
        changed = keep_draw(opened, name, draw)
    print_rows([_row(chosen) for chosen in draw.chosen], output_format, _COLUMNS)
    for line in _summary(draw, confidence, margin):
        click.echo(line, err=True)
    if mark:
        click.echo(f"sample {name}: {'kept' if changed else 'was there already'}", err=True)
    for problem in opened.problems:
        click.echo(f"error: {problem}", err=True)
    sys.exit(3 if opened.problems else 0)


def _row(chosen: Chosen) -> dict[str, Any]:
    from mango_trace.store.labels import action_text
    from mango_trace.store.sampling import failure_label, position

    record = chosen.record
    label, where = failure_label(record), position(record)
    return {
        "task": record.metadata.task,
        "trace_id": record.trace_id,
        "stratum": chosen.stratum,
        "in_place_of": chosen.in_place_of,
        "position": None if where is None else float(where),
        "first_failed": None if label is None else action_text(label),
        "failure_class": None if label is None else label.failure_class,
    }


def _summary(draw: Draw, confidence: float, margin: float) -> Iterator[str]:
    """What there was to draw from, what is missing, and how many runs would be enough."""
    from mango_trace.store.sampling import cochran_size

    pool = draw.pool
    yield (
        f"pool: {pool.n_traces} runs, {pool.n_failed} failed ({pool.n_unplaced} of them without a labelled "
        f"state), {pool.n_success} succeeded, {pool.n_unknown} unknown, {pool.n_broken} broken recordings"
    )
    missing = sum(shortage.missing for shortage in draw.shortages)
    yield f"drawn: {len(draw.chosen)} runs" + (f", {missing} are missing" if missing else "")
    for task, shortages in groupby(draw.shortages, key=lambda short: f"{short.suite} {short.task}"):
        yield f"{task}: " + "; ".join(_shortage(short) for short in shortages)
    enough, enough_failed = (
        cochran_size(size, confidence=confidence, margin=margin) for size in (pool.n_drawable, pool.n_failed)
    )
    yield (
        f"Cochran's size at {confidence:.4g} confidence and margin {margin:.4g}: {enough} of "
        f"{pool.n_drawable} runs, {enough_failed} of {pool.n_failed} failed runs"
    )


def _shortage(short: Shortage) -> str:
    instead = f" and {short.substitutes} instead" if short.substitutes else ""
    return f"{short.stratum} {short.found} of {short.wanted}{instead}"
