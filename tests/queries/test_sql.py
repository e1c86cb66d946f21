"""SQL of the caller's: it reads this file and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from mango_trace.errors import DatabaseError, UsageError
from mango_trace.queries import run_sql


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO meta VALUES ('a', 'b')", "INSERT is not"),
        ("UPDATE meta SET value = '9'", "UPDATE is not"),
        ("DELETE FROM traces", "DELETE is not"),
        ("DROP TABLE traces", "DROP is not"),
        ("CREATE TABLE x (i INTEGER)", "CREATE is not"),
        ("ATTACH 'other.duckdb'", "ATTACH is not"),
        ("COPY traces TO 'x.csv'", "COPY is not"),
        ("EXPORT DATABASE 'x'", "EXPORT is not"),
        ("INSTALL httpfs", "LOAD is not"),
        ("SET enable_external_access = true", "SET is not"),
        ("SELECT 1; SELECT 2", "exactly one statement, not 2"),
        ("SELECT 1; DROP TABLE traces", "exactly one statement, not 2"),
        ("  -- nothing", "exactly one statement, not 0"),
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM trace", "traces"),
        ("SELECT $a", "takes no parameters"),
        ("SELECT * FROM read_text('/etc/hostname')", "disabled"),
        ("SELECT * FROM read_csv('/etc/hostname')", "disabled"),
        ("SELECT * FROM connection", "does not exist"),
    ],
)
def test_refused(empty: Path, text: str, message: str) -> None:
    before = empty.read_bytes()
    with pytest.raises(UsageError, match=message):
        run_sql(empty, text)
    assert empty.read_bytes() == before


def test_reads(empty: Path) -> None:
    result = run_sql(empty, "SELECT count(*) AS n, sum(2) AS s FROM meta")
    assert (result.columns, result.rows) == (("n", "s"), ((1, 2),))
    assert result.records() == [{"n": 1, "s": 2}]
    assert result.arrow.num_rows == 1
    assert ("traces",) in run_sql(empty, "SHOW TABLES").rows


def test_nan_does_not_leave(empty: Path) -> None:  # O-69
    result = run_sql(
        empty,
        "SELECT x, [x, 1.0] AS l, {'a': x} AS s FROM "
        "(VALUES (0.1::DOUBLE), ('nan'::DOUBLE), (0.3::DOUBLE)) AS t(x)",
    )
    assert [row[0] for row in result.rows] == [0.1, None, 0.3]
    assert result.rows[1][1:] == ([None, 1.0], {"a": None})
    assert result.arrow.column("x").null_count == 1


def test_not_a_database(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="no such verdict database"):
        run_sql(tmp_path / "none.duckdb", "SELECT 1")
    text = tmp_path / "text.duckdb"
    text.write_text("hello" * 1000)
    with pytest.raises(DatabaseError):
        run_sql(text, "SELECT 1")
