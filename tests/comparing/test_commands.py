"""The commands compare and power: exit codes, formats, what is printed where."""

from __future__ import annotations

import csv
import io
import json

import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from tests.comparing.test_compare import run


@pytest.fixture
def database(book):
    """Policy a is better than b on task_a, equal on task_b; c has run task_a alone."""
    run(book, "a", "p" * 10)
    run(book, "b", "f" * 9 + "p")
    run(book, "c", "p" * 10)
    for policy in "ab":
        run(book, policy, "pfpf", task="task_b")
    return str(book.close())


def call(*arguments: str):
    return CliRunner().invoke(cli, list(arguments))


def test_exit_codes_and_gate(database) -> None:
    found = call("compare", "a", "b", "--db", database)
    assert (found.exit_code, "A a@1, B b@1, success by verdict: A better" in found.stdout) == (0, True)
    worse = call("compare", "a", "b", "--db", database, "--gate")
    assert (worse.exit_code, "gate: B is worse than A by 0.6429 over all tasks" in worse.stderr) == (1, True)
    assert call("compare", "b", "a", "--db", database, "--gate").exit_code == 0
    refused = call("compare", "a", "c", "--db", database, "--gate")
    assert refused.exit_code == 3
    assert "error: not comparable: libero_10 task_b: policy B has no rollouts" in refused.stderr
    assert call("compare", "a", "c", "--db", database, "--task", "task_a", "--gate").exit_code == 0
    assert call("compare", "a", "a@1", "--db", database).exit_code == 2
    assert call("compare", "a", "z", "--db", database).exit_code == 2
    assert call("compare", "a", "b", "--db", database, "--margin", "0.1").exit_code == 2
    assert call("compare", "a", "b", "--db", database, "--unpaired", "--any-seed").exit_code == 2


def test_a_margin_asks_for_proof(database) -> None:
    equal = ("compare", "a", "c", "--db", database, "--task", "task_a", "--gate", "--margin")
    assert call(*equal, "0.5").exit_code == 0
    found = call(*equal, "0.05")
    assert found.exit_code == 1
    assert "not below the margin 0.05" in found.stderr


def test_the_gate_looks_at_every_task_where_asked(book) -> None:
    run(book, "a", "p" * 8)
    run(book, "b", "f" * 8)
    run(book, "a", "f" * 8, task="task_b")
    run(book, "b", "p" * 8, task="task_b")
    path = str(book.close())
    assert call("compare", "a", "b", "--db", path, "--gate").exit_code == 0
    found = call("compare", "a", "b", "--db", path, "--gate", "--by", "task")
    assert (found.exit_code, "gate: B is worse than A by 1.0000 task_a" in found.stderr) == (1, True)


def test_json_has_everything(database) -> None:
    found = json.loads(call("compare", "a", "b", "--db", database, "--by", "task", "--format", "json").stdout)
    assert (found["policy_a"], found["policy_b"], found["verdict"]) == ("a@1", "b@1", "A better")
    assert [row["task"] for row in found["comparison"]] == ["task_a", "task_b", "MEAN OF TASKS", "TOTAL"]
    first = found["comparison"][0]
    assert (first["n_pairs"], first["only_a"], first["only_b"]) == (10, 9, 0)
    assert (first["p"], first["p_holm"]) == pytest.approx((2 / 2**9, 4 / 2**9))
    assert (first["rate_a"], first["rate_b"], first["difference"]) == pytest.approx((1.0, 0.1, 0.9))
    assert [row["rollouts"] for row in found["coverage"]] == [14, 14, 10, 10, 4, 4]
    assert found["obstacles"] == []
    refused = json.loads(call("compare", "a", "c", "--db", database, "--format", "json").stdout)
    assert [one["differs"] for one in refused["obstacles"]] == ["task"]
    assert "success" not in first


def test_csv_is_one_table(database) -> None:
    table = call("compare", "a", "b", "--db", database, "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["task"] for row in rows] == ["task_a", "TOTAL"]
    assert (rows[1]["meaning"], rows[1]["verdict"]) == ("verdict", "A better")
    failures = call("compare", "a", "b", "--db", database, "--format", "csv", "--only", "failures").stdout
    assert next(csv.reader(io.StringIO(failures)))[:3] == ["suite", "task", "action"]


def test_a_policy_cannot_steer_the_terminal(book) -> None:
    run(book, "a", "p")
    run(book, "b", "p", policy_version="\x1b[31m1")
    assert "\x1b" not in call("compare", "a", "b", "--db", str(book.close())).stdout


def test_power_prints_plans() -> None:
    found = json.loads(call("power", "--rate-a", "0.8", "--rate-b", "0.7", "--format", "json").stdout)
    assert [(one["design"], one["rollouts"]) for one in found] == [
        ("unpaired", 294),
        ("paired", 78),
        ("paired", 313),
    ]
    assert call("power", "--rate-a", "0.8", "--rollouts", "50").exit_code == 0
    assert call("power", "--rate-a", "0.8").exit_code == 2
    assert call("power", "--rate-a", "1.2", "--rate-b", "0.5").exit_code == 2
