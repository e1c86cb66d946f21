"""Comparing verdict databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mango_trace.verdicts import TABLES, open_read_only


def tables_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every table that an evaluation fills, as sorted rows.

    Left out are runs and problems, which tell of evaluations and not of traces, and when and where
    a trace was recorded.
    """
    with open_read_only(path) as connection:
        found = {}
        for name, schema in TABLES.items():
            columns = ", ".join(c for c in schema.names if c not in ("dataset", "recorded_at"))
            rows = connection.execute(f"SELECT {columns} FROM {name}").fetchall()
            found[name] = sorted(rows, key=repr)
        return found


def without_intervals(tables: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """Rows without truth intervals and without the column that says whether they are stored."""
    kept = {name: rows for name, rows in tables.items() if name != "intervals"}
    for name in ("verdicts", "end_state"):
        place = TABLES[name].names.index("intervals")
        kept[name] = sorted((row[:place] + row[place + 1 :] for row in kept[name]), key=repr)
    return kept
