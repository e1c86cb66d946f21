"""Rows on standard output, as an aligned table, JSON, CSV or Markdown.

Nothing is cut off and nothing is coloured: what is printed can be piped and read back. NULL is ``-``
in a table (also of Markdown), ``null`` in JSON and empty in CSV; NaN is NULL everywhere.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, TypeAlias, TypeVar

import click

from mango_trace.errors import UnknownNameError

FORMATS: Final = ("table", "json", "csv", "md")
"""Output formats."""

Row: TypeAlias = Mapping[str, Any]
"""One row: values by column."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def format_option(command: _Command) -> _Command:
    """Give a command the option ``--format``, passed on as ``output_format``."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="How rows are printed.",
    )(command)


def print_rows(rows: Sequence[Row], output_format: str, columns: Sequence[str] | None = None) -> None:
    """Print rows on standard output.

    Args:
        rows: Rows with the same columns.
        output_format: One of :data:`FORMATS`.
        columns: Names in order; needed for a heading where there may be no rows.
    """
    click.echo(render(rows, output_format, columns), nl=False)


def render(rows: Sequence[Row], output_format: str, columns: Sequence[str] | None = None) -> str:
    """Write rows as text that ends with a line break.

    Args:
        rows: Rows with the same columns.
        output_format: One of :data:`FORMATS`.
        columns: Names in order; those of the first row if not given.

    Raises:
        UnknownNameError: There is no such format.

    >>> print(render([{"task": "a", "rate": 0.5}, {"task": "b", "rate": None}], "table"), end="")
    task    rate
    ----  ------
    a     0.5000
    b          -
    """
    names = list(columns) if columns is not None else list(rows[0]) if rows else []
    if output_format == "table":
        return _table(names, rows)
    if output_format == "json":
        return json_text([{name: row[name] for name in names} for row in rows])
    if output_format == "csv":
        return _csv(names, rows)
    if output_format == "md":
        return _markdown(names, rows)
    raise UnknownNameError("format", output_format, FORMATS)


def json_text(value: Any) -> str:
    """Write a value as JSON that ends with a line break; what is not finite is null."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    """Turn a value into what JSON has; what is not finite becomes null."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return str(value)


def _csv(names: Sequence[str], rows: Sequence[Row]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_csv_cell(row[name]) for name in names] for row in rows)
    return stream.getvalue()


def _csv_cell(value: Any) -> str:
    plain = _plain(value)
    if plain is None:
        return ""
    if isinstance(plain, str):
        return plain
    return json.dumps(plain, ensure_ascii=False)  # lists and objects can be read back


def _markdown(names: Sequence[str], rows: Sequence[Row]) -> str:
    if not names:
        return ""
    cells = ([_table_cell(row[name]).replace("|", "\\|") for name in names] for row in rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in [names, ["---"] * len(names), *cells])


def _table(names: Sequence[str], rows: Sequence[Row]) -> str:
    if not names:
        return ""
    cells = [[_table_cell(row[name]) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[i]) for line in cells), 0) for i, name in enumerate(names)]
    right = [
        any(_is_number(row[name]) for row in rows)
        and all(_is_number(row[name]) or row[name] is None for row in rows)
        for name in names
    ]

    def line(texts: Sequence[str]) -> str:
        padded = (
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(texts, widths, right, strict=True)
        )
        return "  ".join(padded).rstrip() + "\n"

    return "".join([line(names), line(["-" * width for width in widths]), *map(line, cells)])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _table_cell(value: Any) -> str:
    plain = _plain(value)
    if plain is None:
        return "-"
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, float):
        return _number(plain)
    if isinstance(plain, list):
        return ", ".join(_table_cell(item) for item in plain) or "-"
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return printable(text)  # one row is one line


def printable(text: str) -> str:
    """The same without what would steer a terminal: names come from files."""
    return "".join(char if char.isprintable() else " " for char in text)


def _number(value: float) -> str:
    """Four decimals, or three digits where that would hide the value.

    >>> _number(0.85066), _number(1e-7), _number(12345678.0)
    ('0.8507', '1e-07', '1.23e+07')
    """
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:.4f}"
    return f"{value:.3g}"
