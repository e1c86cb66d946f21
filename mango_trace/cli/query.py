"""``mango-trace query`` and ``mango-trace sql``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mango_trace.cli.output import format_option, print_rows

if TYPE_CHECKING:
    from mango_trace.queries import Query, Result

_DATABASE = click.Path(path_type=Path)

_QUERY_EPILOG = """\b
Examples:
  mango-trace query --list
  mango-trace query agreement --db verdicts.duckdb
  mango-trace query policies --describe
  mango-trace query policies --db verdicts.duckdb --param a=pi0 --param b=act --format json
"""

_SQL_EPILOG = """\b
Examples:
  mango-trace sql "SELECT outcome, count(*) FROM verdicts GROUP BY 1" --db verdicts.duckdb
  mango-trace sql "SHOW TABLES" --db verdicts.duckdb
"""


@click.command(epilog=_QUERY_EPILOG)
@click.argument("name", required=False)
@click.option("--db", "database", type=_DATABASE, help="Verdict database (a DuckDB file).")
@click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="KEY=VALUE",
    help="Parameter of the query; may be repeated.",
)
@click.option("--list", "list_all", is_flag=True, help="List all queries.")
@click.option("--describe", is_flag=True, help="Say what NAME answers, takes and gives.")
@format_option
def query(
    name: str | None,
    database: Path | None,
    parameters: tuple[str, ...],
    list_all: bool,
    describe: bool,
    output_format: str,
) -> None:
    """Answer the question NAME from a verdict database; --list shows all of them."""
    from mango_trace.errors import UsageError
    from mango_trace.queries import find_query, query_names, run_query

    if list_all:
        found = [find_query(known) for known in query_names()]
        rows = [{"query": one.name, "title": one.title} for one in found]
        print_rows(rows, output_format, ["query", "title"])
    elif name is None:
        raise UsageError("give the NAME of a query, or --list to see all of them")
    elif describe:
        click.echo(_description(find_query(name)), nl=False)
    elif database is None:
        find_query(name)  # a wrong name is the first thing to say
        raise UsageError(f"query {name} needs --db FILE")
    else:
        _print_result(run_query(database, name, _pairs(parameters)), output_format)


@click.command(epilog=_SQL_EPILOG)
@click.argument("statement")
@click.option("--db", "database", type=_DATABASE, required=True, help="Verdict database (a DuckDB file).")
@format_option
def sql(statement: str, database: Path, output_format: str) -> None:
    """Run one SELECT of your own on a verdict database, which it cannot change."""
    from mango_trace.queries import run_sql

    _print_result(run_sql(database, statement), output_format)


def _print_result(result: Result, output_format: str) -> None:
    print_rows(result.records(), output_format, result.columns)
    if not result.rows and output_format == "table":
        click.echo("no rows", err=True)


def _pairs(texts: tuple[str, ...]) -> dict[str, str]:
    from mango_trace.errors import UsageError

    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--param takes KEY=VALUE, not {text!r}")
        if key in pairs:
            raise UsageError(f"--param {key} is given twice")
        pairs[key] = value
    return pairs


def _description(found: Query) -> str:
    """Title, answer, parameters and columns of a query, for reading."""
    formatter = click.HelpFormatter(max_width=100)
    formatter.write_text(f"{found.name}: {found.title}")
    formatter.write_paragraph()
    formatter.write_text(found.answers)
    if found.parameters:
        with formatter.section("Parameters (--param KEY=VALUE)"):
            formatter.write_dl(
                [
                    (f"{parameter.name} {parameter.type}", f"{parameter.doc} [{parameter.default!r}]")
                    for parameter in found.parameters
                ]
            )
    with formatter.section("Columns"):
        formatter.write_dl([(column.name, column.doc) for column in found.columns])
    return formatter.getvalue()
