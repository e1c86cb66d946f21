"""Rows as text, and the two commands."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from decimal import Decimal

import pytest
from click.testing import CliRunner

from mango_trace.cli.output import render
from mango_trace.cli.query import query, sql
from mango_trace.errors import UnknownNameError, UsageError

ROWS = [
    {"task": 'pick, "place"\nnow', "n": 10, "rate": 0.123456789, "on": True, "calls": ["a", "b"]},
    {"task": None, "n": None, "rate": float("nan"), "on": False, "calls": []},
]


def test_table_is_aligned_and_whole() -> None:
    long = "x" * 300
    lines = render([*ROWS, {**ROWS[1], "task": long}], "table").splitlines()
    assert long in lines[-1]
    assert lines[0].split() == ["task", "n", "rate", "on", "calls"]
    assert set(lines[1]) == {"-", " "}
    assert lines[2].split()[-5:] == ["10", "0.1235", "true", "a,", "b"]
    assert lines[3].split() == ["-", "-", "-", "false", "-"]
    right = lines[0].index("rate") + len("rate")
    assert lines[2][:right].endswith("0.1235")
    assert lines[3][:right].endswith("-")


def test_a_name_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in render([{"a": "\x1b[31mred"}], "table")


def test_json_reads_back() -> None:
    rows = [*ROWS, {**ROWS[0], "rate": datetime(2026, 1, 2, 3), "n": Decimal("1.5")}]
    found = json.loads(render(rows, "json"))
    assert found[0] == ROWS[0]
    assert found[1]["rate"] is None
    assert (found[2]["rate"], found[2]["n"]) == ("2026-01-02T03:00:00", 1.5)


def test_csv_reads_back() -> None:
    header, first, second = csv.reader(io.StringIO(render(ROWS, "csv")))
    assert header == list(ROWS[0])
    assert first[0] == ROWS[0]["task"]
    assert float(first[2]) == ROWS[0]["rate"]
    assert json.loads(first[4]) == ["a", "b"]
    assert second == ["", "", "", "false", "[]"]


def test_markdown_has_a_row_a_line_whatever_is_in_it() -> None:
    assert (
        render([{"a": "x|y\nz", "b": ["p", "q"]}], "md") == "| a | b |\n| --- | --- |\n| x\\|y z | p, q |\n"
    )


def test_no_rows_keep_the_heading() -> None:
    assert render([], "md", ["a", "b"]) == "| a | b |\n| --- | --- |\n"
    assert render([], "table", ["a", "b"]) == "a  b\n-  -\n"
    assert render([], "csv", ["a", "b"]) == "a,b\n"
    assert render([], "json", ["a", "b"]) == "[]\n"
    assert render([], "table") == ""


def test_unknown_format() -> None:
    with pytest.raises(UnknownNameError, match="table"):
        render([], "yaml")


def test_query_command(book) -> None:
    book.judged("t", "failed", "failed")
    path = str(book.close())
    result = CliRunner().invoke(query, ["agreement", "--db", path, "--format", "json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)[-1]["tp"] == 1
    result = CliRunner().invoke(query, ["funnel", "--db", path, "--param", "policy=pi"])
    assert (result.exit_code, result.stderr) == (0, "no rows\n")
    result = CliRunner().invoke(sql, ["SELECT 1 AS n", "--db", path, "--format", "csv"])
    assert result.stdout == "n\n1\n"


def test_query_command_lists_and_describes() -> None:
    assert "agreement" in CliRunner().invoke(query, ["--list"]).stdout
    described = CliRunner().invoke(query, ["policies", "--describe"]).stdout
    assert "not separated" in described
    assert "Parameters" in described
    assert "mcnemar_p" in described


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--list"),
        (["agreement"], "--db"),
        (["agrement"], "did you mean 'agreement'"),
        (["agreement", "--db", "x", "--param", "oracle"], "KEY=VALUE"),
        (["agreement", "--db", "x", "--param", "oracle=a", "--param", "oracle=b"], "twice"),
    ],
)
def test_query_command_is_used_wrongly(arguments: list[str], message: str) -> None:
    error = CliRunner().invoke(query, arguments).exception
    assert isinstance(error, UsageError)
    assert message in str(error)
