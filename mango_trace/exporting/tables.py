"""Tables of a verdict database as Parquet or CSV, one file a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from mango_trace.errors import UnknownNameError
from mango_trace.queries import run_sql

TABLES: Final = (
    *("traces", "oracles", "monitors", "verdicts", "actions", "intervals", "end_state", "labels"),
    *("samples", "runs", "problems"),
)
"""Tables that can be exported; ``intervals`` is the run-length truth of every predicate call."""


def export_tables(
    database: Path, folder: Path, names: Sequence[str], kind: Literal["parquet", "csv"]
) -> dict[Path, int]:
    """Write tables of a verdict database.

    Args:
        database: The DuckDB file.
        folder: Where to; created when it does not exist. Files of the same names are replaced.
        names: Tables, of :data:`TABLES`.
        kind: ``parquet``, or ``csv`` with lists as JSON and empty fields for NULL.

    Returns:
        Rows by file.

    Raises:
        UnknownNameError: There is no such table.
        DatabaseError: The database cannot be read.
    """
    for name in names:
        if name not in TABLES:
            raise UnknownNameError("table", name, TABLES)
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name in names:
        table = run_sql(database, f"SELECT * FROM {name} ORDER BY ALL").arrow  # noqa: S608  one of TABLES
        path = folder / f"{name}.{kind}"
        if kind == "parquet":
            pq.write_table(table, path, compression="zstd")
        else:
            pc.write_csv(_flat(table), path)
        written[path] = table.num_rows
    return written


def _flat(table: pa.Table) -> pa.Table:
    """Lists as JSON: CSV has none."""
    for position, field in enumerate(table.schema):
        if pa.types.is_list(field.type) or pa.types.is_large_list(field.type):
            texts = [None if value is None else json.dumps(value) for value in table[position].to_pylist()]
            table = table.set_column(position, field.name, pa.array(texts, pa.string()))
    return table
