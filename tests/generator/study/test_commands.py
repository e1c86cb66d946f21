"""The command line of the study."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from generator.study.__main__ import study
from mango_trace.shipped import shipped
from tests.generator.study.by_rules import PROFILE
from tests.remote import free_port

ROOT = Path(__file__).parents[3]
SAMPLE = shipped("datasets") / "libero-10-sample"


def run(*arguments: object, exit_code: int = 0):
    done = CliRunner().invoke(study, [str(argument) for argument in arguments])
    assert done.exit_code == exit_code, done.output
    return done


@pytest.mark.parametrize("question", ["rq1", "rq3"])
def test_a_report_is_printed_and_kept_and_a_second_call_repeats_no_run(question, tmp_path):
    out = tmp_path / "study"
    first = run(question, "--runs", 2, "--out", out, "--format", "json")
    rows = json.loads(first.stdout)
    names = [row["configuration"] for row in rows]
    assert names[0] == "mango (rules)"
    assert len(set(names)) == {"rq1": 2, "rq3": 4}[question]
    values = {(row["configuration"], row["measure"]): row["mean"] for row in rows}
    assert all(values[name, measure] == 1.0 for name in names for measure in ("validity", "executability"))
    assert all(values[name, "similarity"] >= 0.95 for name in names)
    assert "rules answer the same every time" in first.stderr
    files = {path: path.read_bytes() for path in out.rglob("run.json")}
    assert len(files) == 2 * len(set(names))
    again = run(question, "--runs", 2, "--out", out, "--format", "json")
    assert again.stdout == first.stdout
    assert {path: path.read_bytes() for path in out.rglob("run.json")} == files
    assert list(json.loads((out / "reports.json").read_text())["reports"]) == [question]


def test_searches_are_printed_and_kept_under_a_name(tmp_path):
    done = run("rq4", SAMPLE, "--runs", 2, "--out", tmp_path, "--name", "few", "--format", "json")
    values = {row["measure"]: row["mean"] for row in json.loads(done.stdout)}
    assert values["instructions"] == 10
    assert 2 <= values["instructions_min"] < 10
    assert values["similarity"] >= 0.95
    report = json.loads((tmp_path / "reports.json").read_text())["reports"]["few"]
    assert report["about"]["tasks"] == "libero-10-sample"
    assert str(tmp_path) not in json.dumps(report)


def test_a_model_that_cannot_be_asked_is_a_problem_and_other_runs_are_reported(tmp_path):
    profile = tmp_path / "gone.toml"
    profile.write_text(PROFILE.format(url=f"http://127.0.0.1:{free_port()}"))
    done = run(
        "rq4", SAMPLE, "--config", "rules", "--config", profile, "--runs", 1, "--out", tmp_path,
        "--format", "json", exit_code=3,
    )  # fmt: skip
    counts = {(row["configuration"], row["measure"]): row["n"] for row in json.loads(done.stdout)}
    assert (counts["rules (wordllama)", "trr"], counts["gone (wordllama)", "trr"]) == (1, 0)
    assert "no connection" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (["rq1", "--config", "delphi"], 2, "no profile 'delphi'"),
        (["rq1", "--config", "gemini"], 2, "GEMINI_API_KEY"),
        (["rq1", "libero_11"], 2, "libero_11"),
        (["rq1", "--runs", "0"], 2, "--runs"),
        (["rq1", "--on", "nowhere"], 3, "dataset.json"),
        (["rq4", "--threshold", "0"], 2, "--threshold"),
    ],
)
def test_what_is_wrong_is_said(arguments, exit_code, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    assert message in run(*arguments, exit_code=exit_code).stderr


@pytest.mark.parametrize("package", ["scipy", "rapidfuzz"])
def test_a_package_that_is_missing_is_named_with_its_extra(package, tmp_path):
    """In a process of its own: here the package is loaded already."""
    program = (
        f"import sys; sys.modules[{package!r}] = None; from generator.study.__main__ import study; "
        "study(['rq1', '--out', 'study'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert f"{package} is not installed; the extra mango-trace[study] brings it" in done.stderr


def test_every_command_shows_an_example():
    for command in ("rq1", "rq3", "rq4", "table"):
        assert "python -m generator.study" in run(command, "--help").output
