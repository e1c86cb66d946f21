"""Tables that are joined and counted once, so that a query need not: each file is the SQL of one of them.

They are functions of the other tables and hold nothing of their own. An evaluation keeps them in the file
when it ends, and drops them in the transaction that first changes a row they may depend on: where they are,
they are right. Where they are not, because an evaluation was interrupted, a reader makes them for itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Final

import duckdb

_PREFIX: Final = "derived"
"""What the name of the schema begins with, in any version."""

_PASSING: Final = ("joined", "numbered")
"""What others are made from, and is not kept."""

_MADE: Final = (
    "listed", "starts", *_PASSING, "kinds", "outcomes", "met", "start_counts", "told", "located",
    "located_counts", "plans", "action_counts", "sampled", "parted", "rule_counts",
)  # fmt: skip
"""In an order in which each is behind those that it is made from."""

DERIVED: Final = tuple(name for name in _MADE if name not in _PASSING)
"""Names of the tables."""

_MORE_BYTES: Final = 512 * 2**20
"""Memory in which they are made, beside what is in use."""

_WORD: Final = re.compile(r"\w+")
_COMMENT: Final = re.compile(r"--.*")


@cache
def schema() -> str:
    """Schema of the database that they are kept in: it tells what SQL they are made by."""
    texts = "".join(_text(name) for name in ("_macros", *_MADE))
    return f"{_PREFIX}_{hashlib.sha256(texts.encode()).hexdigest()[:8]}"


def has_kept(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the tables are in the file, as this version makes them."""
    return schema() in _schemas(connection)


def read_kept(connection: duckdb.DuckDBPyConnection) -> None:
    """Let a connection find the tables that are in the file."""
    connection.execute(f"SET search_path = 'main,{schema()}'").fetchall()


def _schemas(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Schemas with such tables, of whatever version."""
    found = connection.sql(
        "SELECT schema_name FROM duckdb_schemas() "
        "WHERE database_name = current_database() AND starts_with(schema_name, $prefix)",
        params={"prefix": _PREFIX},
    ).fetchall()
    return [str(row[0]) for row in found]


def add_macros(connection: duckdb.DuckDBPyConnection) -> None:
    """Give a connection the macros that their SQL has; they go with the connection."""
    connection.execute(_text("_macros")).fetchall()


def drop(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop the tables from the file, in the transaction that is open."""
    for name in _schemas(connection):
        connection.execute(f"DROP SCHEMA {name} CASCADE").fetchall()


def keep(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the tables in the file, in the transaction that is open; the search path is left changed.

    Args:
        connection: With the macros.
    """
    drop(connection)
    connection.execute(f"CREATE SCHEMA {schema()}").fetchall()
    read_kept(connection)
    for name in _MADE:
        create = "CREATE TEMP TABLE " if name in _PASSING else f"CREATE TABLE {schema()}."
        connection.execute(f"{create}{name} AS {_text(name)}").fetchall()
    for name in _PASSING:
        connection.execute(f"DROP TABLE {name}").fetchall()


def make(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """Make the tables that some SQL names, and those that these are made from; they go with the connection.

    Args:
        connection: With the macros.
        text: The SQL.
    """
    for name in named_in(text, {name: _text(name) for name in _MADE}):
        connection.execute(f"CREATE TEMP TABLE {name} AS {_text(name)}").fetchall()


def named_in(text: str, statements: Mapping[str, str]) -> list[str]:
    """What some SQL needs of statements that make things, each behind those that it needs itself.

    Args:
        text: The SQL.
        statements: By the name of what they make, in an order in which none needs a later one.
    """
    needed = _words(text)
    found: list[str] = []
    for name, statement in reversed([*statements.items()]):
        if name in needed:
            needed |= _words(statement)
            found.append(name)
    return found[::-1]


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(_COMMENT.sub("", text))}


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
