"""The verdict database: rows are replaced, never lost; readers can do nothing but read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from datetime import datetime
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from mango_trace.errors import DatabaseError, NewerFormatError
from mango_trace.verdicts import TABLES, Rows, VerdictDatabase, open_read_only

ROOT = Path(__file__).parents[2]


def label_rows(*keys: int, note: str = "") -> dict[str, pa.Table]:
    rows = Rows()
    for key in keys:
        rows.add("labels", {"trace_id": f"t{key}", "who": "injected", "position": 0, "note": note})
    return rows.to_arrow()


def end_state_row(trace: str, **more: object) -> dict[str, object]:
    return {
        "trace_id": trace,
        "oracle": "o",
        "evaluator": "e",
        "outcome": "passed",
        "at_end": "passed",
        "intervals": True,
        **more,
    }


def run_script(text: str, *arguments: object) -> subprocess.Popen[str]:
    """Another process with the package at hand."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def test_columns_of_the_schema_are_those_of_the_rows(tmp_path):
    with VerdictDatabase(tmp_path / "v.duckdb") as database:
        for table, schema in TABLES.items():
            found = [row[0] for row in database.connection.sql(f"DESCRIBE {table}").fetchall()]
            assert found == schema.names, table


def test_committing_again_changes_nothing(tmp_path):
    with VerdictDatabase(tmp_path / "v.duckdb") as database:
        for _ in range(3):
            database.commit([label_rows(1, 2, 3, note="same")])
            rows = database.connection.sql("SELECT trace_id, note FROM labels ORDER BY 1").fetchall()
            assert rows == [("t1", "same"), ("t2", "same"), ("t3", "same")]


def test_hundred_rows_after_replacing_eighty_of_them(tmp_path):
    """O-65"""
    path = tmp_path / "v.duckdb"
    with VerdictDatabase(path) as database:
        database.commit([label_rows(*range(1, 101), note="old")])
        database.commit([label_rows(*range(21, 101), note="new")])
    with open_read_only(path) as connection:
        counted = connection.sql(
            "SELECT count(*), count(*) FILTER (note = 'new'), "
            "min(substr(trace_id, 2)::INT), max(substr(trace_id, 2)::INT) FROM labels"
        ).fetchall()
    assert counted == [(100, 80, 1, 100)]


def test_a_row_is_replaced_whole(tmp_path):
    rows = Rows()
    rows.add("end_state", end_state_row("t", first_success=7))
    other = Rows()
    other.add("end_state", end_state_row("t", outcome="failed"))
    with VerdictDatabase(tmp_path / "v.duckdb") as database:
        database.commit([rows.to_arrow()])
        database.commit([other.to_arrow()])
        found = database.connection.sql("SELECT outcome, first_success FROM end_state").fetchall()
    assert found == [("failed", None)]


def test_a_commit_is_all_or_nothing(tmp_path):
    rows = Rows()
    rows.add("labels", {"trace_id": "t", "who": "w", "position": 0})
    rows.add("end_state", end_state_row("t"))
    rows.add("end_state", end_state_row("t"))  # two rows of one key
    with VerdictDatabase(tmp_path / "v.duckdb") as database:
        with pytest.raises(duckdb.ConstraintException):
            database.commit([rows.to_arrow()])
        assert database.connection.sql("SELECT count(*) FROM labels").fetchall() == [(0,)]
        database.commit([label_rows(1)])  # and it goes on
        assert database.connection.sql("SELECT count(*) FROM labels").fetchall() == [(1,)]


def test_numpy_booleans_and_missing_numbers_are_stored_as_such(tmp_path):
    """O-67, O-69"""
    rows = Rows()
    base = {
        **{name: "x" for name in TABLES["traces"].names if TABLES["traces"].field(name).type == pa.string()},
        **dict.fromkeys(("seed", "episode", "n_states", "n_steps", "warmup_steps", "horizon", "substeps"), 1),
        "recorded_at": datetime(2026, 1, 1),
    }
    rows.add("traces", {**base, "trace_id": "a", "live_success": np.bool_(True), "problems": []})
    rows.add("traces", {**base, "trace_id": "b", "live_success": None, "seed": np.int64(5)})
    with VerdictDatabase(tmp_path / "v.duckdb") as database:
        database.commit([rows.to_arrow()])
        found = database.connection.sql(
            "SELECT trace_id, live_success, typeof(live_success), seed, undetermined_states "
            "FROM traces ORDER BY 1"
        ).fetchall()
    assert found == [("a", True, "BOOLEAN", 1, None), ("b", None, "BOOLEAN", 5, None)]


HOLDER = """
    import sys, time
    from mango_trace.verdicts import VerdictDatabase
    database = VerdictDatabase(sys.argv[1])
    print("open", flush=True)
    time.sleep(60)
"""


def test_a_reader_or_second_writer_is_told_that_somebody_writes(tmp_path):
    """O-64: one writer, or any number of readers."""
    path = tmp_path / "v.duckdb"
    VerdictDatabase(path).close()
    holder = run_script(HOLDER, path)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        for use in (open_read_only, VerdictDatabase):
            with pytest.raises(DatabaseError, match="another process is writing to it; try again"):
                use(path)
    finally:
        holder.kill()
        holder.communicate()
    VerdictDatabase(path).close()


def test_two_readers_at_once_are_fine(tmp_path):
    path = tmp_path / "v.duckdb"
    with VerdictDatabase(path) as database:
        database.commit([label_rows(1, 2)])
    script = """
        import sys
        from mango_trace.verdicts import open_read_only
        with open_read_only(sys.argv[1]) as connection:
            print(connection.sql("SELECT count(*) FROM labels").fetchall()[0][0])
    """
    with open_read_only(path) as connection:
        other = run_script(script, path)
        assert other.communicate()[0] == "2\n"
        assert connection.sql("SELECT count(*) FROM labels").fetchall() == [(2,)]


COMMITTER = """
    import os, signal, sys
    from mango_trace.verdicts import Rows, VerdictDatabase
    database = VerdictDatabase(sys.argv[1])
    for note in ("first", "second"):
        rows = Rows()
        for trace in range(int(sys.argv[2])):
            rows.add("labels", {"trace_id": f"t{trace}", "who": "w", "position": 0, "note": note})
        database.commit([rows.to_arrow()])
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("count", [1, 500])
def test_what_was_committed_survives_kill_9(tmp_path, count):
    """O-66: delete and insert of the same keys, then SIGKILL, then open again."""
    path = tmp_path / "v.duckdb"
    killed = run_script(COMMITTER, path, count)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    log = Path(f"{path}.wal")
    assert log.exists()  # the case at hand: what was committed is in the log only
    with open_read_only(path) as connection:
        found = connection.sql("SELECT count(*), min(note), max(note) FROM labels").fetchall()
        assert found == [(count, "second", "second")]
    assert log.exists()
    with VerdictDatabase(path) as database:
        assert database.connection.sql("SELECT count(*) FROM labels").fetchall() == [(count,)]
        database.commit([label_rows(1000)])
    with open_read_only(path) as connection:
        assert len(connection.sql("SELECT * FROM labels").fetchall()) == count + 1


def test_no_code_deletes_a_write_ahead_log():
    for package in ("mango_trace", "recorder", "generator"):
        for path in (ROOT / package).rglob("*.py"):
            assert ".wal" not in path.read_text(), path


@pytest.fixture
def filled(tmp_path) -> Path:
    path = tmp_path / "v.duckdb"
    with VerdictDatabase(path) as database:
        database.commit([label_rows(1)])
    (tmp_path / "secret.csv").write_text("password\nhunter2\n")
    return path


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM labels",
        "INSERT INTO meta VALUES ('a', 'b')",
        "DROP TABLE labels",
        "CREATE TABLE mine (x INT)",
        "COPY labels TO '{folder}/out.csv'",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "ATTACH '{folder}/other.duckdb' AS other",
        "SELECT * FROM read_csv('{folder}/secret.csv')",
        "SELECT * FROM '{folder}/secret.csv'",
        "SELECT * FROM read_text('{folder}/secret.csv')",
        "SELECT * FROM glob('{folder}/*')",
        "EXPORT DATABASE '{folder}/export'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
    ],
)
def test_a_read_only_connection_cannot_write_or_reach_other_files(filled, statement):
    before = filled.read_bytes()
    with open_read_only(filled) as connection:
        with pytest.raises(duckdb.Error):
            connection.execute(statement.format(folder=filled.parent)).fetchall()
        assert connection.sql("SELECT count(*) FROM labels").fetchall() == [(1,)]
    assert filled.read_bytes() == before
    assert sorted(path.name for path in filled.parent.iterdir()) == ["secret.csv", "v.duckdb"]


def test_a_file_opens_in_plain_duckdb(filled):
    with duckdb.connect(str(filled), read_only=True) as connection:
        assert connection.sql("SELECT trace_id FROM labels").fetchall() == [("t1",)]


@pytest.mark.parametrize("use", [open_read_only, VerdictDatabase])
@pytest.mark.parametrize("content", [b"hello", b"", b"SQLite format 3\0" + bytes(4096), bytes(20_000)])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(tmp_path, use, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(DatabaseError) as caught:
        use(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == content


@pytest.mark.parametrize("use", [open_read_only, VerdictDatabase])
def test_another_duckdb_file_is_refused_and_left_as_it_was(tmp_path, use):
    path = tmp_path / "mine.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE mine AS SELECT 42 AS answer")
    with pytest.raises(DatabaseError, match="a DuckDB file, but no verdict database"):
        use(path)
    with duckdb.connect(str(path)) as connection:
        assert connection.sql("SHOW TABLES").fetchall() == [("mine",)]


@pytest.mark.parametrize("use", [open_read_only, VerdictDatabase])
def test_a_newer_schema_is_refused(filled, use):
    with duckdb.connect(str(filled)) as connection:
        connection.execute("UPDATE meta SET value = '6' WHERE key = 'schema_version'").fetchall()
    with pytest.raises(NewerFormatError, match="format version 6 is newer than 5"):
        use(filled)


@pytest.mark.parametrize("use", [open_read_only, VerdictDatabase])
def test_an_older_schema_is_refused_and_what_to_do_is_said(filled, use):
    with duckdb.connect(str(filled)) as connection:
        connection.execute("UPDATE meta SET value = '2' WHERE key = 'schema_version'").fetchall()
    with pytest.raises(DatabaseError, match=r"tables of version 2, now 5\); evaluate into a new file"):
        use(filled)


@pytest.mark.parametrize("use", [open_read_only, VerdictDatabase])
def test_a_schema_version_that_is_no_number_is_refused(filled, use):
    with duckdb.connect(str(filled)) as connection:
        connection.execute("UPDATE meta SET value = 'x' WHERE key = 'schema_version'").fetchall()
    with pytest.raises(DatabaseError, match="no verdict database"):
        use(filled)


def test_a_missing_file_or_folder_is_named(tmp_path):
    with pytest.raises(DatabaseError, match="no such verdict database"):
        open_read_only(tmp_path / "none.duckdb")
    with pytest.raises(DatabaseError, match="nowhere"):
        VerdictDatabase(tmp_path / "nowhere" / "v.duckdb")
    with pytest.raises(DatabaseError):
        VerdictDatabase(tmp_path)


def test_killed_while_the_schema_is_made_the_next_one_makes_it(tmp_path):
    """Killed when all tables are there, but not yet the version."""
    path = tmp_path / "v.duckdb"
    script = """
        import os, signal, sys
        from mango_trace.verdicts import database
        real = database.VerdictDatabase._write
        def dying(self, statement, *arguments):
            if statement.startswith("INSERT INTO meta"):
                os.kill(os.getpid(), signal.SIGKILL)
            real(self, statement, *arguments)
        database.VerdictDatabase._write = dying
        database.VerdictDatabase(sys.argv[1])
    """
    killed = run_script(script, path)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    with VerdictDatabase(path) as database:
        database.commit([label_rows(1)])
        assert database.connection.sql("SELECT * FROM meta").fetchall() == [("schema_version", "5")]
    with open_read_only(path) as connection:
        assert connection.sql("SELECT count(*) FROM labels").fetchall() == [(1,)]


@pytest.mark.parametrize("after", [0.0, 0.1, 0.25, 0.4])
def test_killed_at_any_instant_the_file_opens_and_holds_whole_commits(tmp_path, after):
    path = tmp_path / "v.duckdb"
    script = """
        import sys
        from mango_trace.verdicts import Rows, VerdictDatabase
        database = VerdictDatabase(sys.argv[1])
        print("open", flush=True)
        for turn in range(10_000):
            rows = Rows()
            for trace in range(50):
                row = {"trace_id": f"t{trace}", "who": "w", "position": 0, "action_index": turn}
                rows.add("labels", row)
            database.commit([rows.to_arrow()])
    """
    writer = run_script(script, path)
    assert writer.stdout is not None
    writer.stdout.readline()
    time.sleep(after)
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()
    with VerdictDatabase(path) as database:
        found = database.connection.sql(
            "SELECT count(*), count(DISTINCT action_index) FROM labels"
        ).fetchall()
    assert found in ([(0, 0)], [(50, 1)])


def test_judged_counts_no_errors_and_only_its_own_evaluator_and_order(tmp_path):
    rows = Rows()
    for trace, outcome, evaluator in (("a", "passed", "e"), ("b", "error", "e"), ("c", "failed", "f")):
        rows.add("end_state", end_state_row(trace, outcome=outcome, evaluator=evaluator))
    with VerdictDatabase(tmp_path / "v.duckdb") as database:
        database.commit([rows.to_arrow()])
        assert database.judged("e", "report", 10, intervals=True) == {("a", "o")}
        assert database.judged("f", "strict", 10, intervals=False) == {("c", "o")}


def test_samples_become_what_is_said_for_these_traces_and_stay_for_others(tmp_path):
    def there(database):
        return database.connection.sql("FROM samples ORDER BY trace_id, sample").fetchall()

    with VerdictDatabase(tmp_path / "v.duckdb") as database:
        database.replace_samples({"a": {"s": "early", "r": "late"}, "b": {"s": "late"}, "c": {}})
        everything = [("a", "r", "late"), ("a", "s", "early"), ("b", "s", "late")]
        assert there(database) == everything
        for _ in range(2):
            database.replace_samples({"a": {"s": "middle"}, "c": {"s": "success"}})
            assert there(database) == [("a", "s", "middle"), ("b", "s", "late"), ("c", "s", "success")]
        rows = Rows()
        rows.add("samples", {"trace_id": "a", "sample": "s", "stratum": "late"})
        database.commit([rows.to_arrow()])  # a table that was empty when the file was opened
        database.replace_samples({})
        assert there(database)[0] == ("a", "s", "late")
