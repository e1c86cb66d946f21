"""Every shipped query over a million verdicts."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb

from mango_trace.evaluation import evaluate
from mango_trace.queries import find_query, query_names, run_query
from mango_trace.shipped import shipped
from mango_trace.verdicts import TABLES, VerdictDatabase
from recorder.bench.measurements import Measurement

_VERDICTS: Final = 1_000_000
_WANTED_MS: Final = 200.0


def asking(root: Path) -> Iterator[Measurement]:
    """Time of each query on verdicts of a dataset, copied under other names to a million: synthetic."""
    with tempfile.TemporaryDirectory(dir=root.parent) as temporary:
        source, database = Path(temporary) / "source.duckdb", Path(temporary) / "million.duckdb"
        evaluate([root], [shipped("oracles")], source)
        n = _copy(source, database)
        yield from _joins(database, n)
        for name in query_names():
            parameters = {} if name != "policies" else {"a": "scripted", "b": "scripted"}
            known = {parameter.name for parameter in find_query(name).parameters}
            given = {key: value for key, value in parameters.items() if key in known}
            times = []
            for _ in range(2):
                started = time.perf_counter()
                run_query(database, name, given)
                times.append((time.perf_counter() - started) * 1e3)
            yield Measurement(
                group="queries", what=f"query {name}, {n} verdicts", value=min(times), unit="ms",
                compared_with=f"of {_WANTED_MS:g} ms", ratio=min(times) / _WANTED_MS, better="smaller",
            )  # fmt: skip


def _joins(database: Path, n: int) -> Iterator[Measurement]:
    """What one join costs, by the traces' names and by numbers; and a query if all were joined before."""
    with duckdb.connect(str(database), read_only=True) as connection:
        connection.execute(
            "CREATE TEMP TABLE numbered AS SELECT row_number() OVER () AS number, trace_id FROM traces"
        ).fetchall()
        connection.execute(
            "CREATE TEMP TABLE verdict_numbers AS SELECT number FROM verdicts JOIN numbered USING (trace_id)"
        ).fetchall()
        connection.execute(
            """CREATE TEMP TABLE outcomes AS
            SELECT number, suite, task, v.oracle, v.outcome AS ours, e.outcome AS theirs
            FROM verdicts AS v JOIN numbered USING (trace_id) JOIN traces USING (trace_id)
            JOIN end_state AS e USING (trace_id)"""
        ).fetchall()
        for what, statement in (
            (
                f"one join of {n} verdicts with their traces by trace_id",
                "SELECT count(*) FROM verdicts JOIN traces USING (trace_id)",
            ),
            (
                f"one join of {n} verdicts with their traces by a number",
                "SELECT count(*) FROM verdict_numbers JOIN numbered USING (number)",
            ),
            (
                f"the counts of query agreement from a table of {n} outcomes, joined before",
                """SELECT suite, task, oracle, ours, theirs, count(*), count(DISTINCT number) FROM outcomes
                GROUP BY GROUPING SETS ((suite, task, oracle, ours, theirs), (ours, theirs))""",
            ),
        ):
            times = []
            for _ in range(3):
                started = time.perf_counter()
                connection.execute(statement).fetchall()
                times.append((time.perf_counter() - started) * 1e3)
            yield Measurement(
                group="queries", what=what, value=min(times), unit="ms",
            )  # fmt: skip


def _copy(source: Path, target: Path) -> int:
    """Write the rows of every trace many times, each time under another name; gives the verdicts."""
    VerdictDatabase(target).close()  # with the tables and keys of any other
    with duckdb.connect(str(target)) as connection:

        def run(statement: str) -> list[tuple[int, ...]]:
            return connection.execute(statement).fetchall()

        run(f"ATTACH '{source}' AS source (READ_ONLY)")
        ((there,),) = run("SELECT count(*) FROM source.verdicts")
        times = -(-_VERDICTS // there)
        for table, schema in TABLES.items():
            names = ", ".join(f'"{name}"' for name in schema.names)
            if "trace_id" in schema.names:
                copied = names.replace('"trace_id"', "trace_id || '-' || turn AS trace_id")
                rows = f"SELECT {copied} FROM source.{table}, range({times}) AS t(turn)"  # noqa: S608
            else:
                rows = f"SELECT {names} FROM source.{table}"  # noqa: S608
            run(f"INSERT INTO {table} ({names}) {rows}")
        run("INSERT INTO runs FROM source.runs")
        run("DETACH source")
    return int(there * times)
