"""Every query file: its header is right, it runs on nothing, it can be found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mango_trace.errors import BadInputError, UnknownNameError, UsageError
from mango_trace.queries import find_query, parse_query, query_names, run_query, run_sql
from mango_trace.shipped import shipped
from mango_trace.verdicts import derived

HEADER = "-- Title\n-- answers: It\n-- parameter k BIGINT 3 -- how many\n-- column n -- number\n"


@pytest.mark.parametrize("name", query_names())
def test_documented_columns_are_the_columns(name: str, book) -> None:
    book.judged("t1", "passed", "failed")
    book.judged("t2", "failed", "passed")
    database = book.close()
    documented = [column.name for column in find_query(name).columns]
    assert documented == list(run_query(database, name).columns)
    assert documented == run_query(database, name).arrow.column_names


@pytest.mark.parametrize("name", query_names())
def test_runs_on_an_empty_database_with_null_rates(name: str, empty: Path) -> None:
    for record in run_query(empty, name).records():
        rates = ("rate", "accuracy", "precision", "recall", "f1", "low", "high")
        assert all(record[key] is None for key in rates if key in record)


@pytest.mark.parametrize("name", query_names())
def test_every_parameter_is_used_and_every_column_explained(name: str) -> None:
    query = find_query(name)
    body = "\n".join(line for line in query.sql.splitlines() if not line.startswith("--"))
    assert all(f"${parameter.name}" in body for parameter in query.parameters)
    assert all(column.doc for column in query.columns)
    assert not query.title.endswith(".")


def test_there_is_no_bare_success() -> None:
    for name in query_names():
        assert "success" not in [column.name for column in find_query(name).columns]


def test_header_with_a_continued_line() -> None:
    query = parse_query("q", HEADER + "-- column m -- more\n--   of it\nSELECT 1 AS n, 2 AS m")
    assert [column.doc for column in query.columns] == ["number", "more of it"]
    assert query.bind({}) == {"k": 3}
    assert query.bind({"k": "5"}) == {"k": 5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1", "needs a title"),
        (HEADER + "-- colum m -- typo\nSELECT 1", "'colum m -- typo'"),
        (HEADER.replace("BIGINT", "INT"), "no type 'INT'; did you mean 'BIGINT'"),
        (HEADER.replace(" 3 ", " x "), "bad default x"),
    ],
)
def test_a_wrong_header_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        parse_query("q", text)


@pytest.mark.parametrize(
    ("kind", "default", "good", "value", "bad"),
    [
        ("BIGINT", "1", "-7", -7, "1.5"),
        ("BIGINT", "1", "7", 7, str(2**63)),
        ("DOUBLE", "1.0", "0.5", 0.5, "nan"),
        ("BOOLEAN", "false", "TRUE", True, "maybe"),
    ],
)
def test_values_are_read_by_type(kind, default, good, value, bad) -> None:
    query = parse_query("q", HEADER.replace("BIGINT 3", f"{kind} {default}"))
    assert query.bind({"k": good}) == {"k": value}
    with pytest.raises(UsageError, match="parameter k"):
        query.bind({"k": bad})


def test_unknown_names_say_what_exists(book) -> None:
    book.judged("t1", "passed", "passed")
    database = book.close()
    with pytest.raises(UnknownNameError, match="did you mean 'agreement'"):
        run_query(database, "agrement")
    with pytest.raises(UnknownNameError, match="did you mean 'oracle'"):
        run_query(database, "agreement", {"oracel": "x"})
    with pytest.raises(UnknownNameError, match=r"aaaaaaaaaaaa \(task_a\)"):
        run_query(database, "agreement", {"oracle": "fff"})
    with pytest.raises(UnknownNameError, match="1/test"):
        run_query(database, "agreement", {"evaluator": "9"})
    with pytest.raises(UnknownNameError, match="report, strict"):
        run_query(database, "agreement", {"order_mode": "loose"})
    with pytest.raises(UsageError, match="-1 is no number of rows; 0 = all"):
        run_query(database, "traces", {"limit": -1})
    with pytest.raises(UnknownNameError, match="pi@1"):
        run_query(database, "policies", {"a": "zz"})


def test_shipped_folders() -> None:
    assert (shipped("queries") / "_shared.sql").is_file()
    assert shipped("oracles").is_dir()
    with pytest.raises(UnknownNameError, match="queries"):
        shipped("query")


@pytest.mark.parametrize("name", query_names())
def test_no_query_hides_a_derived_table(name: str) -> None:
    named = re.findall(r"(\w+) AS (?:MATERIALIZED )?\(", find_query(name).sql)
    assert not set(named) & set(derived.DERIVED)


def test_names_of_macros_have_no_case(book) -> None:
    book.judged("t1", "passed", "passed")
    database = book.close()
    assert run_sql(database, "SELECT RATIO(1, 2) AS r, * FROM Goal_Kinds('')").rows[0][0] == 0.5
