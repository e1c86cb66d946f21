"""The command line: help, messages, exit codes and output that pipes."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.store import Dataset
from tests.synthetic import make_dataset, write_oracles

CORE = ("compact", "evaluate", "ls", "predicates", "prove", "query", "sample", "show", "sql", "verify")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_dataset(tmp_path, 4, name="runs")
    write_oracles(tmp_path / "oracles")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.mark.parametrize("command", [*CORE, "record", "parity"])
def test_every_command_explains_itself_with_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Example" in result.output
    assert f"mango-trace {command}" in result.output


def test_a_name_that_does_not_exist_is_wrong_use_and_the_message_lists_what_does(place):
    assert run("evaluat").exit_code == 2
    result = run("predicates", "graspd")
    assert result.exit_code == 2
    assert "did you mean 'grasped'" in result.stderr


@pytest.mark.parametrize("command", ["ls", "verify", "compact"])
def test_what_is_no_dataset_is_bad_input(place, command):
    result = run(command, place / "oracles")
    assert result.exit_code == 3
    assert "dataset.json" in result.stderr
    assert result.stdout == ""


def test_ls_filters_and_pipes(place):
    rows = json.loads(run("ls", "runs", "--format", "json").stdout)
    assert len(rows) == 4
    table = list(csv.DictReader(io.StringIO(run("ls", "runs", "--format", "csv").stdout)))
    assert [row["trace_id"] for row in table] == [row["trace_id"] for row in rows]
    assert json.loads(run("ls", "runs", "--policy", "nobody", "--format", "json").stdout) == []
    by_task = json.loads(run("ls", "runs", "--task", "apple", "--format", "json").stdout)
    assert len(by_task) == 4


def test_verify_names_a_deleted_chunk_and_says_so_by_its_exit_code(place):
    assert run("verify", "runs").exit_code == 0
    for chunk in (place / "runs").glob("segments/*/states.zarr/*/state/qpos/c/0/0"):
        chunk.unlink()
    result = run("verify", "runs")
    assert result.exit_code == 3
    assert "state/qpos" in result.stderr
    assert "0 of 4 traces are sound" in result.stdout


def test_show_tells_the_same_from_verdicts_and_from_the_dataset(place):
    assert run("evaluate", "runs", "--oracles", "oracles", "--db", "v.duckdb").exit_code == 0
    trace = Dataset("runs").records[0].trace_id
    stored = run("show", trace[:10], "--db", "v.duckdb")
    judged = run("show", trace[:10], "--data", "runs", "--oracles", "oracles")
    assert stored.exit_code == judged.exit_code == 0
    assert stored.output == judged.output
    assert "monitor" in stored.output
    assert "#" in stored.output


def test_show_refuses_what_it_cannot_find(place):
    assert run("show", "abc").exit_code == 2
    assert run("show", "zzz", "--data", "runs").exit_code == 3
    run("evaluate", "runs", "--oracles", "oracles", "--db", "v.duckdb")
    result = run("show", "zzz", "--db", "v.duckdb")
    assert result.exit_code == 3
    assert "no trace starts with 'zzz'" in result.stderr


def test_compact_keeps_every_trace(place):
    before = run("ls", "runs", "--format", "csv").stdout
    assert run("compact", "runs").exit_code == 0
    assert run("ls", "runs", "--format", "csv").stdout == before


def test_the_core_starts_without_importing_simulators_or_databases():
    """Help is instant; heavy packages come with the command that needs them."""
    code = (
        "import sys\n"
        "from mango_trace.cli.main import cli\n"
        "try:\n    cli(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'mujoco', 'zarr', 'duckdb', 'pyarrow', 'robosuite', 'libero'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.libero
@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["libero_90", "--task", "3,5"], 2, "scripted has no plan for libero_90 3, 5; it has: libero_10"),
        (["libero_10", "--task", "99"], 2, "no task 99; the suite has tasks 0 to 9"),
    ],
)  # fmt: skip
def test_a_recording_that_cannot_work_is_refused_before_anything_runs(tmp_path, options, code, message):
    result = run("record", *options, "--out", tmp_path / "new")
    assert (result.exit_code, message in result.stderr) == (code, True), result.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.libero
def test_all_tasks_of_a_suite_without_any_plan_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("recorder.policies.scripted.PLANS", {("libero_10", 0): ()})
    result = run("record", "libero_90", "--out", tmp_path / "new")
    assert (result.exit_code, "policy scripted has no plan for libero_90" in result.stderr) == (2, True)
    assert not (tmp_path / "new").exists()


@pytest.mark.libero
def test_a_folder_that_holds_datasets_is_none_and_they_are_named(tmp_path):
    make_dataset(tmp_path / "runs", 1, name="first")
    for command in (["ls"], ["record", "libero_10", "--task", "3", "--out"]):
        result = run(*command, tmp_path / "runs")
        assert result.exit_code == 3
        assert "there are datasets in it: first" in result.stderr
