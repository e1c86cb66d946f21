"""Tables that are joined and counted once, so that a query need not: each file is the SQL of one of them.

They are functions of the other tables and hold nothing of their own. An evaluation keeps them in the file
when it ends, and drops them in the transaction that first changes a row they may depend on: where they are,
they are right. Where they are not, because an evaluation was interrupted, a reader makes them for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Final

import duckdb

SCHEMA: Final = "derived"
"""Schema of the database that they are kept in."""

_PASSING: Final = ("joined", "numbered")
"""What others are made from, and is not kept."""

_MADE: Final = (
    "listed", "starts", *_PASSING, "kinds", "outcomes", "met", "told", "located", "located_counts", "plans",
    "action_counts", "sampled", "parted", "rule_counts",
)  # fmt: skip
"""In an order in which each is behind those that it is made from."""

DERIVED: Final = tuple(name for name in _MADE if name not in _PASSING)
"""Names of the tables."""

_MORE_BYTES: Final = 512 * 2**20
"""Memory in which they are made, beside what is in use."""


def has_kept(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the tables are in the file."""
    return bool(
        connection.sql(
            "SELECT 1 FROM duckdb_schemas() WHERE database_name = current_database() AND schema_name = $name",
            params={"name": SCHEMA},
        ).fetchall()
    )


def add_macros(connection: duckdb.DuckDBPyConnection) -> None:
    """Give a connection the macros that their SQL has; they go with the connection."""
    connection.execute(_text("_macros")).fetchall()


def drop(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop the tables from the file, in the transaction that is open."""
    connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE").fetchall()


def make(connection: duckdb.DuckDBPyConnection, *, keep: bool) -> None:
    """Make the tables, in the transaction that is open, if one is.

    Args:
        connection: With the macros.
        keep: Whether to keep them in the file; else they go with the connection.
    """
    create = "CREATE TEMP TABLE "
    if keep:
        create = f"CREATE TABLE {SCHEMA}."
        drop(connection)
        connection.execute(f"CREATE SCHEMA {SCHEMA}").fetchall()
        connection.execute(f"SET search_path = 'main,{SCHEMA}'").fetchall()
    for name in _MADE:
        place = "CREATE TEMP TABLE " if name in _PASSING else create
        connection.execute(f"{place}{name} AS {_text(name)}").fetchall()
    for name in _PASSING:
        connection.execute(f"DROP TABLE {name}").fetchall()


@contextmanager
def sparing_memory(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let a connection take little more memory than it has now; what does not fit goes to the disk."""
    ((used,),) = connection.sql("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchall()
    try:
        for setting in (
            f"memory_limit = '{int(used) + _MORE_BYTES} bytes'",
            "preserve_insertion_order = false",  # half of the time; what needs an order has one
        ):
            connection.execute(f"SET {setting}").fetchall()
        yield
    finally:
        for name in ("memory_limit", "preserve_insertion_order"):
            connection.execute(f"RESET {name}").fetchall()


@cache
def _text(name: str) -> str:
    return (files(__name__) / f"{name}.sql").read_text(encoding="utf-8")
