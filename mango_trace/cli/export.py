"""``mango-trace export``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from mango_trace.cli import places

if TYPE_CHECKING:
    from mango_trace.exporting import Exported

_EPILOG = """\b
Examples:
  mango-trace export tables --db verdicts.duckdb --out tables --format csv --table verdicts
  mango-trace export robomimic runs --db verdicts.duckdb --out hdf5
  mango-trace export lerobot runs --db verdicts.duckdb --only passed --by oracle --out training
"""

_DATABASE = click.Path(path_type=Path)
_OUT = click.Path(path_type=Path, file_okay=False)


@click.group(epilog=_EPILOG)
def export() -> None:
    """Write verdicts and traces in formats of other programs."""


@export.command("tables")
@click.option("--db", "database", type=_DATABASE, required=True, help="Verdict database (a DuckDB file).")
@click.option("--out", type=_OUT, required=True, help="Folder for the files.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["parquet", "csv"]),
    default="parquet",
    show_default=True,
)
@click.option("--table", "tables", multiple=True, help="Table; may be repeated [default: all].")
def tables_command(
    database: Path, out: Path, kind: Literal["parquet", "csv"], tables: tuple[str, ...]
) -> None:
    """Write tables of a verdict database: verdicts, truth intervals, and all the others."""
    from mango_trace.exporting import TABLES, export_tables

    for path, rows in export_tables(database, out, tables or TABLES, kind).items():
        click.echo(f"{path}: {rows} rows")


def _options(command: Any) -> Any:
    for option in (
        click.option(
            "--by",
            type=click.Choice(["goal", "oracle"]),
            default="goal",
            show_default=True,
            help="Whose outcome --only means: the benchmark's goal, or the fine-grained oracle.",
        ),
        click.option("--only", type=click.Choice(["passed", "failed", "undetermined"])),
        click.option("--oracle", default="", help="Oracle that is meant, where several judge a task."),
        click.option("--db", "database", type=_DATABASE, help="Verdicts that go along."),
        click.option("--out", type=_OUT, required=True, help="Folder to write to."),
        click.argument("dataset", type=places.dataset),
    ):
        command = option(command)
    return command


@export.command("robomimic")
@_options
def robomimic_command(dataset: Path, out: Path, **options: Any) -> None:
    """Write traces as robomimic's HDF5, one file a task, with verdicts as filter keys."""
    from mango_trace.exporting import export_robomimic

    _report(out, export_robomimic(dataset, out, options.pop("database"), **options))


@export.command("lerobot")
@_options
@click.option("--robot-type", default="panda", show_default=True)
def lerobot_command(dataset: Path, out: Path, **options: Any) -> None:
    """Write traces as a LeRobotDataset v3.0, with verdicts as columns of every frame."""
    from mango_trace.exporting import export_lerobot

    _report(out, export_lerobot(dataset, out, options.pop("database"), **options))


def _report(out: Path, exported: Exported) -> None:
    for trace_id, reason in exported.errors.items():
        click.echo(f"error: trace {trace_id}: {reason}", err=True)
    click.echo(
        f"{out}: {exported.written} traces written, {exported.left_out} with another outcome and "
        f"{exported.broken} broken recordings left out, {len(exported.errors)} errors"
    )
    sys.exit(3 if exported.errors else 0)
