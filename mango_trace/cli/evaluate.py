"""``mango-trace evaluate``."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Literal

import click

from mango_trace.cli import places
from mango_trace.cli.reporting import announce_compiling, print_problems, progress_bar

_EPILOG = """\b
Examples:
  mango-trace evaluate runs --oracles oracles --db verdicts.duckdb
  mango-trace evaluate a b --oracles my_oracle.json --db v.duckdb --workers 2 --order strict
  mango-trace evaluate s3://bucket/runs --db verdicts.duckdb --engine ray --ray-address head:6379
"""


@click.command(epilog=_EPILOG)
@click.argument("datasets", nargs=-1, required=True, type=places.dataset)
@click.option(
    "--oracles",
    "oracles",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Oracle or library file, or a folder of them; may be repeated [default: the reference"
    " oracles that come with the program].",
)
@click.option(
    "--db", "database", required=True, type=click.Path(path_type=Path), help="DuckDB file for the verdicts."
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="How many shards are judged at the same time [default: 1; with Ray, one for each CPU].",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Where: in processes of this machine, or as tasks of Ray.",
)
@click.option(
    "--ray-address",
    metavar="HOST:PORT",
    help="Cluster for --engine ray [default: one is started on this machine].",
)
@click.option(
    "--order",
    type=click.Choice(["report", "strict"]),
    default="report",
    show_default=True,
    help="strict: an effect before its turn is a failure.",
)
@click.option(
    "--hold",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="States that the meaning of success 'held k' asks for.",
)
@click.option(
    "--rules",
    is_flag=True,
    help="Also ask the geometric counterpart of every benchmark rule, for 'query rules'.",
)
@click.option(
    "--verdicts-only",
    is_flag=True,
    help="Same verdicts, sooner: leave out the truth intervals of monitors, which 'show' draws and 'query"
    " disagreements' looks into.",
)
def evaluate(
    datasets: tuple[Path, ...],
    oracles: tuple[Path, ...],
    database: Path,
    workers: int | None,
    engine: Literal["local", "ray"],
    ray_address: str | None,
    order: Literal["report", "strict"],
    hold: int,
    rules: bool,
    verdicts_only: bool,
) -> None:
    """Judge every trace of DATASETS, folders or URLs, and store the verdicts.

    The benchmark's own goal is judged in any case. Calling it again changes nothing, and an
    interrupted call goes on where it stopped.
    """
    from mango_trace.errors import UsageError
    from mango_trace.evaluation import Options
    from mango_trace.evaluation import evaluate as run
    from mango_trace.evaluation.engines import OnRay, local
    from mango_trace.shipped import shipped

    if ray_address is not None and engine != "ray":
        raise UsageError("--ray-address goes with --engine ray")
    started = time.monotonic()
    announce_compiling()
    with progress_bar("trace") as progress:
        try:
            summary = run(
                datasets,
                oracles or (shipped("oracles"),),
                database,
                options=Options(order=order, hold=hold, rules=rules, intervals=not verdicts_only),
                workers=workers,
                engine=OnRay(ray_address) if engine == "ray" else local,
                progress=progress,
            )
        except KeyboardInterrupt:
            click.echo("interrupted; the same command goes on where it stopped", err=True)
            sys.exit(130)
    print_problems((*summary.problems, *summary.trace_errors.items()))
    problems = f", {len(summary.problems)} problems with the input (above)" if summary.problems else ""
    click.echo(
        f"{database}: {summary.judged} traces judged in {time.monotonic() - started:.1f} s, "
        f"{summary.skipped} were judged already, "
        f"{len(summary.trace_errors)} could not be judged{problems}"
    )
    sys.exit(summary.exit_code)
