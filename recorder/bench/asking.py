"""Every shipped query over a million verdicts."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

import duckdb

from mango_trace.evaluation import evaluate
from mango_trace.queries import find_query, query_names, run_query
from mango_trace.shipped import shipped
from mango_trace.verdicts import TABLES, VerdictDatabase
from recorder.bench.measurements import Measurement

_VERDICTS: Final = 1_000_000
_WANTED_MS: Final = 200.0
_TURNS: Final = 5
_PAGE: Final = 1000
_PAGED: Final = f", {_PAGE} rows"


def asking(root: Path) -> Iterator[Measurement]:
    """Time of each query on verdicts of a dataset, copied under other names to a million: synthetic.

    Queries that list rows are asked for a page of them.
    """
    with tempfile.TemporaryDirectory(dir=root.parent) as temporary:
        source, database = Path(temporary) / "source.duckdb", Path(temporary) / "million.duckdb"
        evaluate([root], [shipped("oracles")], source)
        n = _copy(source, database)
        with VerdictDatabase(database) as verdicts:
            started = time.perf_counter()
            verdicts.finish_run(1, n, 0)
            yield Measurement(
                group="queries", what=f"what queries read of {n} verdicts, joined once by evaluate",
                value=time.perf_counter() - started, unit="s",
            )  # fmt: skip
        for name in query_names():
            known = {parameter.name for parameter in find_query(name).parameters}
            given = {"limit": _PAGE} if "limit" in known else {}
            times = []
            for _ in range(_TURNS):
                started = time.perf_counter()
                run_query(database, name, given)
                times.append((time.perf_counter() - started) * 1e3)
            yield Measurement(
                group="queries", what=f"query {name}, {n} verdicts{_PAGED if given else ''}",
                value=median(times), unit="ms", compared_with=f"of {_WANTED_MS:g} ms",
                ratio=median(times) / _WANTED_MS, better="smaller",
            )  # fmt: skip
        started = time.perf_counter()
        n_rows = run_query(database, "traces").arrow.num_rows
        yield Measurement(
            group="queries", what=f"query traces, all {n_rows} rows, as an Arrow table",
            value=time.perf_counter() - started, unit="s",
        )  # fmt: skip


def _copy(source: Path, target: Path) -> int:
    """Write the rows of every trace many times, each time under another name; gives the verdicts.

    Every other copy is of another policy, so that there are two to compare.
    """
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
                copied = copied.replace('"policy"', "policy || '-' || turn % 2 AS policy")
                rows = f"SELECT {copied} FROM source.{table}, range({times}) AS t(turn)"  # noqa: S608
            else:
                rows = f"SELECT {names} FROM source.{table}"  # noqa: S608
            run(f"INSERT INTO {table} ({names}) {rows}")
        run("INSERT INTO runs FROM source.runs")
        run("DETACH source")
    return int(there * times)
