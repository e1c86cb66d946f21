"""``mango-trace doctor``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from mango_trace.cli import places
from mango_trace.cli.output import format_option, print_rows
from mango_trace.cli.reporting import announce_compiling, print_problems, progress_bar

_COLUMNS: Final = ("kind", "suite", "task", "policy", "count", "of", "what", "advice")


@click.command(
    epilog="""\b
Examples:
  mango-trace doctor runs
  mango-trace doctor pi0_runs act_runs --min-runs 50 --format json
"""
)
@click.argument("datasets", nargs=-1, required=True, type=places.dataset)
@click.option(
    "--min-runs",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="So many runs of a task and a policy are enough.",
)
@format_option
def doctor(datasets: tuple[Path, ...], min_runs: int, output_format: str) -> None:
    """Find what makes comparisons of the runs in DATASETS wrong, one row each.

    Starts that repeat or are not what their ids say, tasks that are solved or broken at the start, horizons
    below the longest demonstration, mixed versions, robots and control frequencies, too few runs, missing
    rewards, recordings that broke. The runs of all DATASETS, folders or URLs, are looked at together.

    Exit codes: 0 nothing found, 1 something found, 3 some of it could not be read.
    """
    from mango_trace.doctor import examine

    announce_compiling()
    with progress_bar("trace") as progress:
        report = examine(datasets, min_runs=min_runs, progress=progress)
    rows = [{name: getattr(finding, name) for name in _COLUMNS} for finding in report.findings]
    print_rows(rows, output_format, _COLUMNS)
    print_problems(report.problems)
    click.echo(f"{report.n_traces} traces, {len(rows)} findings", err=True)
    sys.exit(report.exit_code)
