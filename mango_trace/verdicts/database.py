"""The verdict database: one committer, any number of readers of the file afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Final, Self

import duckdb
import pyarrow as pa

from mango_trace.errors import DatabaseError, NewerFormatError
from mango_trace.verdicts import derived
from mango_trace.verdicts.tables import TABLES

SCHEMA_VERSION: Final = 5

_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "traces": ("trace_id",),
    "oracles": ("oracle",),
    "monitors": ("oracle", "action", "position"),
    "verdicts": ("trace_id", "oracle", "evaluator", "order_mode"),
    "actions": ("trace_id", "oracle", "evaluator", "order_mode", "action"),
    "intervals": ("trace_id", "monitor", "evaluator", "first_state"),
    "labels": ("trace_id", "who", "position"),
    "samples": ("trace_id", "sample"),
    "end_state": ("trace_id", "oracle", "evaluator"),
}


class VerdictDatabase:
    """A DuckDB file that verdicts are written to.

    Args:
        path: The file; created when it does not exist.

    Raises:
        DatabaseError: Another process has it open, or it is no verdict database.
        NewerFormatError: Written by a newer version.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._con = _connect(self.path, read_only=False)
        try:
            self._prepare()
        except BaseException:
            self._con.close()
            raise

    def _prepare(self) -> None:
        tables = {row[0] for row in self._con.sql("SHOW TABLES").fetchall()}
        if tables and "meta" not in tables:
            raise DatabaseError(f"{self.path}: a DuckDB file, but no verdict database")
        if not tables:
            with self._transaction():  # killed in between, the file is as good as new
                self._con.execute(_schema()).fetchall()
                self._write("INSERT INTO meta VALUES ('schema_version', ?)", [str(SCHEMA_VERSION)])
        _check_version(self._con, self.path)
        derived.add_macros(self._con)
        filled = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (FROM {name})" for name in _KEYS)
        found = {str(row[0]) for row in self._con.sql(filled).fetchall()}
        # For tables that were empty: the first keys of what was written since.
        self._written: dict[str, set[str]] = {name: set() for name in _KEYS if name not in found}

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection, for queries."""
        return self._con

    def start_run(self, evaluator: str, mujoco: str, order_mode: str) -> int:
        """Note that an evaluation starts and return its number."""
        runs = self._con.sql("SELECT run, evaluator FROM runs").fetchall()
        run = max((int(number) for number, _ in runs), default=0) + 1
        with self._transaction():
            if evaluator not in [known for _, known in runs]:
                derived.drop(self._con)
            self._write(
                "INSERT INTO runs (run, evaluator, mujoco, order_mode, started) VALUES (?, ?, ?, ?, ?)",
                [run, evaluator, mujoco, order_mode, datetime.now(UTC).replace(tzinfo=None)],
            )
        return run

    def finish_run(self, run: int, n_traces: int, n_errors: int) -> None:
        """Note that an evaluation is done, and keep what queries read joined and counted."""
        self._write(
            "UPDATE runs SET finished = ?, n_traces = ?, n_errors = ? WHERE run = ?",
            [datetime.now(UTC).replace(tzinfo=None), n_traces, n_errors, run],
        )
        if not derived.has_kept(self._con):
            try:
                with derived.sparing_memory(self._con):
                    self._keep_derived()
            except duckdb.OutOfMemoryException:  # what cannot go to the disk is more than was spared
                with suppress(duckdb.OutOfMemoryException, duckdb.IOException):  # readers make them, then
                    self._keep_derived()

    def _keep_derived(self) -> None:
        try:
            with self._transaction():
                derived.keep(self._con)
        finally:  # not sooner: what failed takes no more statements before it is rolled back
            self._write("RESET search_path")

    def note_problem(self, run: int, subject: str, message: str) -> None:
        """Store what was wrong with the input."""
        self._write("INSERT INTO problems VALUES (?, ?, ?)", [run, subject, message])

    def commit(self, results: Sequence[Mapping[str, pa.Table]]) -> None:
        """Store rows in one transaction; rows with the same key are replaced, the last one stays.

        Args:
            results: Arrow tables by name, of one or several shards.
        """
        parts: dict[str, list[pa.Table]] = {}
        for tables in results:
            for name, table in tables.items():
                parts.setdefault(name, []).append(table)
        with self._transaction():
            if parts:
                derived.drop(self._con)
            for name, pieces in parts.items():
                columns = ", ".join(TABLES[name].names)
                matches = " AND ".join(f"{name}.{key} = new_rows.{key}" for key in _KEYS[name])
                table = _last_of_each_key(name, pieces)
                self._con.register("new_rows", table)
                if self._may_replace(name, table):
                    self._keep_intervals(name)
                    self._write(f"DELETE FROM {name} USING new_rows WHERE {matches}")  # noqa: S608
                self._write(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM new_rows")  # noqa: S608
                self._con.unregister("new_rows")

    def _keep_intervals(self, name: str) -> None:
        """Mark new rows as having truth intervals also where those of an earlier evaluation are stored.

        A monitor's truth depends on trace and evaluator alone, so what is stored stays right.
        """
        if "intervals" not in TABLES[name].names:
            return
        stored = (
            f"FROM {name} AS old WHERE old.intervals AND old.trace_id = new_rows.trace_id "
            "AND old.oracle = new_rows.oracle AND old.evaluator = new_rows.evaluator"
        )
        marked = self._con.sql(
            f"SELECT * REPLACE (intervals OR EXISTS ({stored}) AS intervals) FROM new_rows"  # noqa: S608
        ).to_arrow_table()
        self._con.unregister("new_rows")
        self._con.register("new_rows", marked)

    def _may_replace(self, name: str, table: pa.Table) -> bool:
        """Whether a table may hold rows with keys of the new ones."""
        if name not in self._written:
            return True
        before = len(self._written[name])
        new = set(table[_KEYS[name][0]].unique().to_pylist())
        self._written[name] |= new
        return len(self._written[name]) < before + len(new)

    def labelled(self) -> set[tuple[str, str, int]]:
        """Trace, labeller and position of every label that is there."""
        rows = self._con.sql("SELECT trace_id, who, position FROM labels").fetchall()
        return {(str(trace), str(who), int(position)) for trace, who, position in rows}

    def replace_samples(self, samples: Mapping[str, Mapping[str, str]]) -> None:
        """Make the samples of some traces these; what is equal already is not written again.

        Args:
            samples: For each trace its stratum by sample; none, if it is in no sample any more.
        """
        found = self._con.sql("SELECT trace_id, sample, stratum FROM samples").fetchall()
        there = {row for row in found if row[0] in samples}
        wanted = {
            (trace_id, sample, stratum)
            for trace_id, strata in samples.items()
            for sample, stratum in strata.items()
        }
        self._written.pop("samples", None)  # from now on its rows are not only those of commits
        with self._transaction():
            if there != wanted:
                derived.drop(self._con)
            self._for_each(
                "DELETE FROM samples USING given "
                "WHERE samples.trace_id = given.trace_id AND samples.sample = given.sample",
                there - wanted,
            )
            self._for_each("INSERT INTO samples SELECT trace_id, sample, stratum FROM given", wanted - there)

    def _for_each(self, statement: str, samples: set[tuple[str, str, str]]) -> None:
        """Run a statement that reads rows of samples as ``given``."""
        if samples:
            columns = zip(*sorted(samples), strict=True)
            table = pa.table(dict(zip(("trace_id", "sample", "stratum"), map(list, columns), strict=True)))
            self._con.register("given", table)
            self._write(statement)
            self._con.unregister("given")

    def judged(self, evaluator: str, order_mode: str, hold: int, *, intervals: bool) -> set[tuple[str, str]]:
        """Pairs of trace and oracle that have such a verdict already, errors not counted.

        With ``intervals``, those alone whose truth intervals are stored.
        """
        rows = self._con.sql(
            "SELECT trace_id, oracle FROM verdicts WHERE evaluator = $evaluator "
            "AND order_mode = $order_mode AND hold = $hold AND outcome <> 'error' "
            "AND (intervals OR NOT $intervals) "
            "UNION ALL SELECT trace_id, oracle FROM end_state "
            "WHERE evaluator = $evaluator AND outcome <> 'error' AND (intervals OR NOT $intervals)",
            params={
                "evaluator": evaluator,
                "order_mode": order_mode,
                "hold": hold,
                "intervals": intervals,
            },
        ).fetchall()
        return {(str(trace), str(oracle)) for trace, oracle in rows}

    def _write(self, statement: str, values: Sequence[object] = ()) -> None:
        """Run one statement to its end; DuckDB 2 refuses the next one before that."""
        self._con.execute(statement, list(values)).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._write("BEGIN")
        try:
            yield
        except BaseException:
            self._write("ROLLBACK")
            raise
        self._write("COMMIT")

    def close(self) -> None:
        """Close the file, so that others can read it."""
        self._con.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _last_of_each_key(name: str, pieces: Sequence[pa.Table]) -> pa.Table:
    """Rows of several shards; where two have one key (an oracle, a trace stored twice), the later."""
    table = pa.concat_tables(pieces)
    first = _KEYS[name][0]
    if len(table[first].unique()) == sum(len(piece[first].unique()) for piece in pieces):
        return table  # no two have a key in common: shards of different traces
    numbered = table.select(_KEYS[name]).append_column("row", pa.array(range(len(table)), pa.int64()))
    last = numbered.group_by(list(_KEYS[name])).aggregate([("row", "max")])["row_max"]
    return table if len(last) == len(table) else table.take(last.sort())


def open_read_only(path: Path | str) -> duckdb.DuckDBPyConnection:
    """Open a verdict database for queries only.

    SQL from the outside can neither change it nor reach other files.

    Args:
        path: The file.

    Raises:
        DatabaseError: There is none, another process writes to it, or it is something else.
        NewerFormatError: Written by a newer version.
    """
    file = Path(path)
    if not file.is_file():
        raise DatabaseError(f"{file}: no such verdict database; mango-trace evaluate makes one")
    connection = _connect(file, read_only=True)
    try:
        _check_version(connection, file)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    # External access would let a query read and write files; registering Arrow tables needs none.
    config: dict[str, str | bool | int | float | list[str]] = {}
    if read_only:
        config["enable_external_access"] = "false"
    try:
        return duckdb.connect(str(path), read_only=read_only, config=config)
    except duckdb.IOException as error:
        text = str(error)
        if "lock" in text.lower():
            raise DatabaseError(
                f"{path}: another process is writing to it; try again when it is done"
            ) from error
        raise DatabaseError(f"{path}: {text}") from error
    except duckdb.Error as error:
        raise DatabaseError(f"{path}: {error}") from error


def _schema() -> str:
    return (files("mango_trace.verdicts") / "schema.sql").read_text()


def _check_version(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    try:
        rows = connection.sql("SELECT value FROM meta WHERE key = 'schema_version'").fetchall()
        version = int(rows[0][0])
    except (duckdb.Error, IndexError, ValueError) as error:
        raise DatabaseError(f"{path}: a DuckDB file, but no verdict database") from error
    if version > SCHEMA_VERSION:
        raise NewerFormatError(str(path), version, SCHEMA_VERSION)
    if version < SCHEMA_VERSION:
        raise DatabaseError(
            f"{path}: written by an older mango-trace (tables of version {version}, now "
            f"{SCHEMA_VERSION}); evaluate into a new file, judging again is quick"
        )
