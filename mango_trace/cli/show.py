"""``mango-trace show``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mango_trace.cli import places

_EPILOG = """\b
Examples:
  mango-trace show 3f2a --db verdicts.duckdb
  mango-trace show 3f2a --data runs --oracles oracles
"""


@click.command(epilog=_EPILOG)
@click.argument("trace")
@click.option("--db", "database", type=click.Path(path_type=Path), help="Verdicts to show.")
@click.option("--data", "dataset", type=places.dataset, help="Dataset to judge the trace from, instead.")
@click.option(
    "--oracles", multiple=True, type=click.Path(path_type=Path), help="Oracles to judge it by, with --data."
)
@click.option("--width", type=click.IntRange(20), help="Columns of the timeline.")
def show(
    trace: str,
    database: Path | None,
    dataset: Path | None,
    oracles: tuple[Path, ...],
    width: int | None,
) -> None:
    """Show how TRACE went: every action's outcome, every monitor's timeline.

    TRACE is the start of an id, as ls and query traces list them.
    """
    from mango_trace.errors import UsageError
    from mango_trace.evaluation.story import story_of, story_of_trace

    if (database is None) == (dataset is None):
        raise UsageError("give either --db FILE or --data DATASET")
    columns = width or 60
    if database is not None:
        click.echo(story_of(database, trace, columns))
    elif dataset is not None:
        text, problems = story_of_trace(dataset, trace, oracles, columns)
        for problem in problems:
            click.echo(f"error: {problem}", err=True)
        click.echo(text)
        sys.exit(3 if problems else 0)
