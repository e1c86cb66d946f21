"""What is joined once is kept while it is right, and dropped by whatever may change it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from mango_trace.queries import run_query, run_sql
from mango_trace.verdicts import VerdictDatabase, derived, open_read_only
from tests.book import EVALUATOR, Book
from tests.random_book import RandomBook


def has_kept(path: Path) -> bool:
    with open_read_only(path) as connection:
        return derived.has_kept(connection)


@pytest.fixture
def judged(book: Book) -> Path:
    book.judged("t1", "passed", "failed")
    return book.close()


def test_an_evaluation_that_ends_keeps_them(judged: Path) -> None:
    assert has_kept(judged)
    with open_read_only(judged) as connection:
        tables = f"SELECT table_name FROM duckdb_tables() WHERE schema_name = '{derived.schema()}'"
        found = connection.sql(tables)
        assert sorted(row[0] for row in found.fetchall()) == sorted(derived.DERIVED)


def test_every_file_is_a_table() -> None:
    files = {path.stem for path in Path(derived.__file__).parent.glob("*.sql")}
    assert files == {*derived.DERIVED, "_macros", "joined", "numbered"}


def test_rows_that_change_drop_them(judged: Path, tmp_path: Path) -> None:
    more = Book(tmp_path / "more.duckdb")
    more.judged("t2", "passed", "passed")
    with VerdictDatabase(judged) as database:
        database.commit([more.rows.to_arrow()])
    assert not has_kept(judged)
    assert [row["n"] for row in run_query(judged, "agreement").records()] == [2, 2]
    with VerdictDatabase(judged) as database:
        database.finish_run(database.start_run(EVALUATOR, "3.3.7", "report"), 2, 0)
    assert has_kept(judged)
    assert [row["n"] for row in run_query(judged, "agreement").records()] == [2, 2]


def test_a_sample_that_changes_drops_them(judged: Path) -> None:
    with VerdictDatabase(judged) as database:
        database.replace_samples({"t1": {"paper": "early"}})
    assert not has_kept(judged)
    assert run_query(judged, "agreement", {"sample": "paper"}).records()[0]["n"] == 1


def test_an_evaluator_that_is_new_drops_them(judged: Path) -> None:
    with VerdictDatabase(judged) as database:
        database.start_run("2/new", "3.3.7", "report")
    assert not has_kept(judged)
    assert run_query(judged, "agreement", {"evaluator": "2/new"}).records()[0]["not_evaluated"] == 1


def test_what_changes_nothing_leaves_them(judged: Path) -> None:
    with VerdictDatabase(judged) as database:
        database.start_run(EVALUATOR, "3.3.7", "report")
        database.commit([])
        database.replace_samples({})
        database.note_problem(1, "subject", "message")
    assert has_kept(judged)


def test_a_commit_that_fails_leaves_them_as_the_rows(judged: Path, tmp_path: Path) -> None:
    broken = Book(tmp_path / "more.duckdb")
    broken.trace("t2", task=None)
    with VerdictDatabase(judged) as database:
        with pytest.raises(duckdb.ConstraintException):
            database.commit([broken.rows.to_arrow()])
        assert derived.has_kept(database.connection)
        whole = Book(tmp_path / "whole.duckdb")
        whole.judged("t3", "passed", "passed")
        database.commit([whole.rows.to_arrow()])
    assert not has_kept(judged)
    assert [row["n"] for row in run_query(judged, "agreement").records()] == [2, 2]


def test_those_of_another_version_are_not_read(judged: Path) -> None:
    with duckdb.connect(str(judged)) as connection:
        derived.drop(connection)
        connection.execute("CREATE SCHEMA derived_0").fetchall()
        connection.execute("CREATE TABLE derived_0.kinds (kind INTEGER)").fetchall()
    assert run_query(judged, "agreement").records()[0]["n"] == 1
    with VerdictDatabase(judged) as database:
        database.finish_run(1, 1, 0)
        schemas = database.connection.sql("SELECT schema_name FROM duckdb_schemas()").fetchall()
    assert has_kept(judged)
    assert ("derived_0",) not in schemas


def test_a_reader_makes_no_more_than_is_asked(judged: Path) -> None:
    with duckdb.connect(str(judged)) as connection:
        derived.drop(connection)
    asked = "SELECT table_name FROM duckdb_tables() WHERE temporary"
    assert run_sql(judged, asked).rows == ()
    assert run_sql(judged, f"{asked} -- sampled").rows == ()
    made = run_sql(judged, f"{asked} AND (SELECT count(*) FROM sampled) = 0 ORDER BY 1")
    assert made.rows == (("listed",), ("sampled",))


def test_a_reader_makes_them_for_itself_alone(judged: Path) -> None:
    with duckdb.connect(str(judged)) as connection:
        derived.drop(connection)
    before = judged.read_bytes()
    assert run_sql(judged, "SELECT n FROM kinds").rows == ((1,),)
    assert judged.read_bytes() == before


@pytest.mark.parametrize("seed", [1, 2])
def test_a_reader_makes_what_is_kept(tmp_path: Path, seed: int) -> None:
    path = RandomBook(tmp_path / "v.duckdb", seed).close()
    with open_read_only(path) as connection:
        derived.add_macros(connection)
        derived.make(connection, " ".join(derived.DERIVED))
        for name in derived.DERIVED:
            kept = connection.sql(f"FROM {derived.schema()}.{name} ORDER BY ALL").fetchall()
            assert kept == connection.sql(f"FROM temp.{name} ORDER BY ALL").fetchall(), name


def test_kinds_are_those_of_the_outcomes(tmp_path: Path) -> None:
    path = RandomBook(tmp_path / "v.duckdb", seed=2).close()
    counted = "SELECT kind, count(*) AS n FROM outcomes GROUP BY kind ORDER BY kind"
    assert run_sql(path, counted).rows == run_sql(path, "SELECT kind, n FROM kinds ORDER BY kind").rows
    different = run_sql(path, "SELECT DISTINCT * EXCLUDE (kind, n) FROM kinds").rows
    assert len(different) == len(run_sql(path, "FROM kinds").rows)


def test_where_memory_is_scarce_they_are_made_all_the_same(
    judged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with VerdictDatabase(judged) as database:
        database.start_run("2/new", "3.3.7", "report")
        monkeypatch.setattr(derived, "_MORE_BYTES", -(2**20))
        with pytest.raises(duckdb.OutOfMemoryException), derived.sparing_memory(database.connection):
            pass
        database.finish_run(2, 1, 0)
        limit = database.connection.sql("SELECT current_setting('memory_limit')").fetchall()
        assert limit == duckdb.sql("SELECT current_setting('memory_limit')").fetchall()
    assert has_kept(judged)


@pytest.mark.parametrize("lost", [1, 2])
def test_where_memory_ends_while_they_are_made_nothing_else_is_lost(
    judged: Path, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    """DuckDB then aborts the transaction, and takes no statement in it any more."""
    keep, text, name, tries = derived.keep, derived._text, derived.schema(), [0]

    def failing_text(name: str) -> str:
        return "SELECT error('full') AS n FROM traces" if name == "met" and tries[0] <= lost else text(name)

    def failing(connection: duckdb.DuckDBPyConnection) -> None:
        tries[0] += 1
        try:
            keep(connection)
        except duckdb.InvalidInputException as error:
            raise duckdb.OutOfMemoryException(str(error)) from error

    monkeypatch.setattr(derived, "schema", lambda: name)
    monkeypatch.setattr(derived, "_text", failing_text)
    monkeypatch.setattr(derived, "keep", failing)
    with VerdictDatabase(judged) as database:
        run = database.start_run("2/new", "3.3.7", "report")
        before = database.connection.sql("SELECT current_setting('search_path')").fetchall()
        database.finish_run(run, 1, 0)
        assert database.connection.sql("SELECT current_setting('search_path')").fetchall() == before
    assert tries == [2]
    assert has_kept(judged) == (lost == 1)
    monkeypatch.undo()
    assert run_sql(judged, "SELECT count(finished) FROM runs").rows == ((2,),)
    assert run_query(judged, "agreement", {"evaluator": EVALUATOR}).records()[0]["n"] == 1
