"""Proving oracles from the command line."""

from __future__ import annotations

import csv
import io
import json

import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from tests.synthetic import make_dataset, oracle_document, write_oracles


def run(*arguments):
    return CliRunner().invoke(cli, ["prove", *(str(argument) for argument in arguments)])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prove")
    make_dataset(folder, 4, name="runs")
    write_oracles(folder / "sound")
    weak = oracle_document()
    del weak["plan"][1]
    write_oracles(folder / "weak", weak)
    return folder


def test_a_proven_oracle_is_a_row_and_exit_code_0(place):
    done = run(place / "sound", "--on", place / "runs")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[2].split()[:5] == ["put_the_apple_in_the_basket", "proven", "4", "2", "2"]
    assert "1 of 1 oracles are proven" in done.stderr


def test_a_refuted_one_is_exit_code_1_with_its_evidence(place):
    done = run(place / "weak", "--on", place / "runs", "--format", "json")
    assert done.exit_code == 1
    (row,) = json.loads(done.stdout)
    assert row["outcome"] == "refuted"
    assert row["score"] < 1
    assert row["cut_short"] < 1
    assert row["cut_short_n"] == row["mutants"]["cut_short"] == 4
    finding = next(one for one in row["findings"] if one["check"] == "cut_short")
    assert (finding["verdict"], len(finding["trace"])) == ("passed", 24)
    assert "refuted: catches" in done.stderr
    assert f"cut_short: trace {finding['trace']}: ends before state" in done.stderr


def test_limits_and_formats(place):
    loose = run(place / "weak", "--on", place / "runs", "--min-score", "0.01", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(loose.stdout))
    assert (loose.exit_code, row["outcome"]) == (0, "proven")
    few = run(place / "sound", "--on", place / "runs", "--min-successes", "3")
    assert few.exit_code == 1
    assert "not provable: 2 successful traces, 3 needed" in few.stderr
    for option in (["--min-score", "0"], ["--min-successes", "0"]):
        assert run(place / "sound", "--on", place / "runs", *option).exit_code == 2


def test_bad_input_is_exit_code_3(place):
    missing = run(place / "nowhere.json", "--on", place / "runs")
    assert (missing.exit_code, "no such file" in missing.stderr) == (3, True)
    no_dataset = run(place / "sound", "--on", place / "sound")
    assert (no_dataset.exit_code, "dataset.json" in no_dataset.stderr) == (3, True)
