"""Questions about verdicts: SQL files with a header, run on a read-only verdict database.

A query is a file ``queries/NAME.sql``. Its header says everything a caller needs::

    -- One line that says what it is
    -- answers: What it answers, in a sentence or two; a line that goes on is indented
    --   by three spaces.
    -- parameter NAME TYPE DEFAULT -- what it does; TYPE is VARCHAR, BIGINT, DOUBLE or BOOLEAN
    -- column NAME -- what it holds; one line for every column, in order
    SELECT ... WHERE x = $NAME

``queries/_shared.sql`` holds temporary macros that every query can use. They read the tables of
``verdicts/schema.sql`` and those that are derived from them (``verdicts/derived``), of which each file says
what it holds; a query should count kinds rather than traces, where it can. No common table expression may
have the name of a derived table: the macros would read it instead. To add a query, add a file: nothing else
has to be changed.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from mango_trace.errors import BadInputError, DatabaseError, UnknownNameError, UsageError
from mango_trace.shipped import shipped
from mango_trace.verdicts import derived, open_read_only

Value: TypeAlias = str | int | float | bool
"""Value of a parameter."""

TYPES: Final[dict[str, type[Value]]] = {
    "VARCHAR": str,
    "BIGINT": int,
    "DOUBLE": float,
    "BOOLEAN": bool,
}
"""Types that a parameter may have."""

_SHARED: Final = "_shared.sql"
_PARAMETER: Final = re.compile(r"parameter (\w+) (\w+) ('(?:[^']|'')*'|\S+) -- (.+)")
_COLUMN: Final = re.compile(r"column (\w+) -- (.+)")
_MACRO: Final = re.compile(r"^CREATE TEMP MACRO (\w+)\(", re.MULTILINE)
_READ: Final = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN})

# Names that parameters stand for, so that a typing error is not answered with an empty table.
_KNOWN: Final[dict[str, str]] = {
    "evaluator": "SELECT DISTINCT evaluator FROM runs",
    "who": "SELECT DISTINCT who FROM labels",
    "sample": "SELECT DISTINCT sample FROM samples",
    "meaning": "SELECT meaning FROM meanings()",
    "policy": "SELECT policy FROM kinds UNION SELECT policy_label FROM kinds",
}
_KNOWN_BY_PARAMETER: Final = {
    "evaluator": "evaluator",
    "who": "who",
    "sample": "sample",
    "meaning": "meaning",
    "policy": "policy",
    "a": "policy",
    "b": "policy",
}
_ORDER_MODES: Final = ("report", "strict")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named value that a query takes.

    Attributes:
        name: Its name, without the dollar sign.
        type: One of :data:`TYPES`.
        default: Its value when none is given.
        doc: What it does.
    """

    name: str
    type: str
    default: Value
    doc: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a query's answer.

    Attributes:
        name: Its name.
        doc: What it holds.
    """

    name: str
    doc: str


@dataclass(frozen=True, slots=True)
class Query:
    """A question with its SQL.

    Attributes:
        name: Name of the file, without suffix.
        title: What it is, in one line.
        answers: What it answers.
        parameters: What it takes.
        columns: What comes out, in order.
        sql: The text of the file.
    """

    name: str
    title: str
    answers: str
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    sql: str

    def bind(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """Give every parameter its value.

        Args:
            given: Values by name; text is read as the parameter's type.

        Returns:
            A value for each parameter.

        Raises:
            UnknownNameError: There is no such parameter.
            UsageError: A value cannot be read as the type.
        """
        known = [parameter.name for parameter in self.parameters]
        for name in given:
            if name not in known:
                raise UnknownNameError("query parameter", name, known)
        return {
            parameter.name: _value(parameter, given[parameter.name])
            if parameter.name in given
            else parameter.default
            for parameter in self.parameters
        }


@dataclass(frozen=True)
class Result:
    """Rows that SQL gave. NaN does not occur: it is NULL (``None``).

    Attributes:
        arrow: The rows as an Arrow table.
    """

    arrow: pa.Table

    @property
    def columns(self) -> tuple[str, ...]:
        """Names, in order."""
        return tuple(self.arrow.column_names)

    @cached_property
    def rows(self) -> tuple[tuple[Any, ...], ...]:
        """Values of each row; a million rows take seconds."""
        return tuple(zip(*map(_values, self.arrow.columns), strict=True))

    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def query_names() -> tuple[str, ...]:
    """Names of all queries, sorted."""
    return tuple(sorted(path.stem for path in shipped("queries").glob("[!_]*.sql")))


@cache
def find_query(name: str) -> Query:
    """Read a query.

    Args:
        name: Its name.

    Raises:
        UnknownNameError: There is none of that name.
        BadInputError: Its header is wrong.
    """
    names = query_names()
    if name not in names:
        raise UnknownNameError("query", name, names)
    path = shipped("queries") / f"{name}.sql"
    return parse_query(name, path.read_text(encoding="utf-8"))


def parse_query(name: str, text: str) -> Query:
    r"""Read the header of a query.

    Args:
        name: Name of the query.
        text: Its file.

    Returns:
        The query.

    Raises:
        BadInputError: The header has not the form that the module describes.

    >>> query = parse_query("n", "-- Title\n-- answers: How many\n-- column n -- number\nSELECT 1 n")
    >>> query.title, query.answers, query.columns
    ('Title', 'How many', (Column(name='n', doc='number'),))
    """
    lines = _header(text)
    title, entries = (lines[0], lines[1:]) if lines else ("", [])
    answers = ""
    parameters: list[Parameter] = []
    columns: list[Column] = []
    for entry in entries:
        if match := _PARAMETER.fullmatch(entry):
            parameters.append(_parameter(name, *match.groups()))
        elif match := _COLUMN.fullmatch(entry):
            columns.append(Column(*match.groups()))
        elif entry.startswith("answers: "):
            answers = entry.removeprefix("answers: ")
        else:
            raise BadInputError(f"query {name}: cannot read the header line {entry!r}")
    if not (title and answers and columns):
        raise BadInputError(f"query {name}: the header needs a title, answers and columns")
    return Query(name, title, answers, tuple(parameters), tuple(columns), text)


def run_query(database: Path | str, name: str, parameters: Mapping[str, Value] | None = None) -> Result:
    """Ask a verdict database one of the shipped questions.

    Args:
        database: The DuckDB file; it is opened read-only.
        name: Name of the query.
        parameters: Values of its parameters; the others have their defaults.

    Returns:
        The answer.

    Raises:
        UnknownNameError: No such query or parameter, or a value names what is not there.
        UsageError: A value cannot be read.
        DatabaseError: The file cannot be read as a verdict database.
    """
    query = find_query(name)
    values = query.bind(parameters or {})
    known = [_KNOWN[_KNOWN_BY_PARAMETER[name]] for name in values if name in _KNOWN_BY_PARAMETER]
    with _open(database, " ".join((query.sql, *known))) as connection:
        try:
            _check_names(connection, query, values)
            return _fetch(connection, query.sql, values)
        except duckdb.Error as error:
            raise DatabaseError(f"{database}: query {name}: {error}") from error


def run_sql(database: Path | str, text: str) -> Result:
    """Run one SELECT of the caller's on a verdict database.

    The file cannot be changed and no other file be reached. The macros of ``queries/_shared.sql``
    can be used, e.g. ``wilson_low(hits, n)``.

    Args:
        database: The DuckDB file; it is opened read-only.
        text: One statement.

    Returns:
        The rows.

    Raises:
        UsageError: It is not one statement that reads, or DuckDB does not accept it.
        DatabaseError: The file cannot be read as a verdict database.
    """
    with _open(database, text) as connection:
        try:
            statements = duckdb.extract_statements(text)
            if len(statements) != 1:
                raise UsageError(f"sql takes exactly one statement, not {len(statements)}")
            kind = statements[0].type
            if kind not in _READ:
                raise UsageError(f"sql only reads: a SELECT is accepted, {kind.name} is not")
            if statements[0].named_parameters:
                raise UsageError("sql takes no parameters; write the values into the statement")
            return _fetch(connection, text, {})
        except duckdb.Error as error:
            raise UsageError(f"sql: {error}") from error


def _open(database: Path | str, text: str) -> duckdb.DuckDBPyConnection:
    """Open a database to read what some SQL asks for."""
    connection = open_read_only(database)
    try:
        # A name in the SQL must never be taken for a variable of this program.
        connection.execute("SET python_enable_replacements = false").fetchall()
        macros = _macros_in(text)
        derived.add_macros(connection)
        if derived.has_kept(connection):
            derived.read_kept(connection)
        else:  # an evaluation was interrupted
            derived.make(connection, " ".join((text, *macros)))
        for macro in macros:
            connection.execute(macro).fetchall()
    except BaseException as error:
        connection.close()
        if isinstance(error, duckdb.Error):
            raise DatabaseError(f"{database}: {error}") from error
        raise
    return connection


@cache
def _shared() -> dict[str, str]:
    """Statements of the shared macros by name, in the order of the file."""
    text = (shipped("queries") / _SHARED).read_text(encoding="utf-8")
    names = _MACRO.findall(text)
    statements = [statement.query for statement in duckdb.extract_statements(text)]
    return dict(zip(names, statements, strict=True))


def _macros_in(text: str) -> list[str]:
    """Statements of the macros that some SQL needs, each behind those that it needs itself.

    To make all of them takes as long as many a query.
    """
    return [_shared()[name] for name in derived.named_in(text, _shared())]


def _fetch(connection: duckdb.DuckDBPyConnection, text: str, values: Mapping[str, Value]) -> Result:
    relation = connection.sql(text, params=dict(values) or None)
    if relation is None:
        raise UsageError("sql: the statement gives no rows")
    table = relation.to_arrow_table()
    columns = [_without_nan(column) for column in table.columns]
    return Result(pa.Table.from_arrays(columns, names=list(_unique(table.column_names))))


def _unique(names: list[str]) -> tuple[str, ...]:
    """Number columns of the same name, so that a row can be a dictionary: a, a_1.

    >>> _unique(["a", "b", "a"])
    ('a', 'b', 'a_1')
    """
    found: dict[str, None] = {}
    for name in names:
        candidates = (name if k == 0 else f"{name}_{k}" for k in itertools.count())
        found[next(each for each in candidates if each not in found)] = None
    return tuple(found)


def _without_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if _has_floats(column.type):
        return pa.chunked_array([pa.array([_clean(value) for value in column.to_pylist()], column.type)])
    return column


def _has_floats(kind: pa.DataType) -> bool:
    """Whether something inside a value of this type may be NaN."""
    inner = [kind.field(place).type for place in range(kind.num_fields)]
    return any(pa.types.is_floating(one) or _has_floats(one) for one in inner)


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if pa.types.is_decimal(column.type) and column.type.scale == 0:  # DuckDB's 128 bit integers
        return [None if value is None else int(value) for value in values]
    return values


def _clean(value: Any) -> Any:
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_clean(item) for item in value)
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return value


def _header(text: str) -> list[str]:
    """Lines of the comment at the top, those that go on joined to the line before."""
    lines: list[str] = []
    for line in text.splitlines():
        if not line.startswith("-- "):
            break
        if line.startswith("--   ") and lines:
            lines[-1] += " " + line[5:].strip()
        else:
            lines.append(line[3:].strip())
    return lines


def _parameter(query: str, name: str, kind: str, default: str, doc: str) -> Parameter:
    if kind not in TYPES:
        raise BadInputError(f"query {query}: parameter {name}: {UnknownNameError('type', kind, TYPES)}")
    text = default[1:-1].replace("''", "'") if default.startswith("'") else default
    try:
        value = _read(text, kind)
    except ValueError as error:
        raise BadInputError(f"query {query}: parameter {name}: bad default {default}") from error
    return Parameter(name, kind, value, doc)


def _value(parameter: Parameter, given: Value) -> Value:
    try:
        return _read(str(given), parameter.type)
    except ValueError as error:
        raise UsageError(
            f"parameter {parameter.name}: {given!r} is no {parameter.type}; {parameter.doc}"
        ) from error


def _read(text: str, kind: str) -> Value:
    """Read a value of a type; raises ``ValueError``."""
    if kind == "BOOLEAN":
        values = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
        if text.lower() not in values:
            raise ValueError(text)
        return values[text.lower()]
    if kind == "BIGINT":
        number = int(text)
        if not -(2**63) <= number < 2**63:
            raise ValueError(text)
        return number
    if kind == "DOUBLE":
        value = float(text)
        if not math.isfinite(value):
            raise ValueError(text)
        return value
    return text


def _check_names(connection: duckdb.DuckDBPyConnection, query: Query, values: Mapping[str, Value]) -> None:
    """Refuse values that name what the database does not have, or that nothing can have."""
    for name, value in values.items():
        if value == "":
            continue
        if name == "limit" and int(value) < 0:
            raise UsageError(f"parameter limit: {value} is no number of rows; 0 = all")
        if name == "order_mode" and value not in _ORDER_MODES:
            raise UnknownNameError("order_mode", str(value), _ORDER_MODES)
        if name == "oracle":
            _check_oracles(connection, str(value))
        elif name in _KNOWN_BY_PARAMETER:
            kind = _KNOWN_BY_PARAMETER[name]
            known = [str(row[0]) for row in connection.sql(_KNOWN[kind]).fetchall()]
            if value not in known:
                raise UnknownNameError(kind, str(value), known)


def _check_oracles(connection: duckdb.DuckDBPyConnection, wanted: str) -> None:
    rows = connection.sql(
        "SELECT oracle, name FROM oracles WHERE kind = 'fine_grained' ORDER BY name, oracle"
    ).fetchall()
    for text in (part.strip() for part in wanted.split(",")):
        if not text or not any(text in (name, str(digest)[: len(text)]) for digest, name in rows):
            known = [f"{str(digest)[:12]} ({name})" for digest, name in rows]
            raise UnknownNameError("fine-grained oracle", text, known)
