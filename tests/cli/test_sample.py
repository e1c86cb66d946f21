"""Drawing samples from the command line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.store import Dataset
from mango_trace.store.samples import SAMPLES, read_samples
from tests.synthetic import make_dataset


def run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def root(tmp_path):
    """Two runs fail without a label, two with one that says no state, and four succeed."""
    root = make_dataset(tmp_path, 8)
    unlabelled = [r.trace_id for r in Dataset(root).records if not r.live_success and not r.metadata.labels]
    run("annotate", root, unlabelled[0], "--first-failed", "pick_up(apple_1)", "--state", "30")
    return root


def test_a_row_for_each_run_and_what_is_missing_beside_it(root):
    done = run("sample", root, "--format", "json")
    assert done.exit_code == 0
    rows = json.loads(done.stdout)
    assert [row["stratum"] for row in rows] == ["late", *["success"] * 4]
    assert (rows[0]["position"], rows[0]["first_failed"]) == (0.75, "pick_up(apple_1)")
    assert "pool: 8 runs, 4 failed (3 of them without a labelled state), 4 succeeded" in done.stderr
    assert "drawn: 5 runs, 5 are missing" in done.stderr
    assert "early 0 of 2; middle 0 of 2; late 1 of 2" in done.stderr
    assert "8 of 8 runs, 4 of 4 failed runs" in done.stderr
    assert not (root / SAMPLES).exists()


def test_marked_runs_are_listed_by_name_and_marking_again_changes_nothing(root):
    first = run("sample", root, "--mark", "--name", "mine", "--successes", "2", "--format", "csv")
    kept = (root / SAMPLES).read_bytes()
    again = run("sample", root, "--mark", "--name", "mine", "--successes", "2", "--format", "csv")
    assert first.stdout == again.stdout
    assert ("sample mine: kept" in first.stderr, "was there already" in again.stderr) == (True, True)
    assert (root / SAMPLES).read_bytes() == kept
    rows = json.loads(run("ls", root, "--sample", "mine", "--format", "json").stdout)
    assert sorted(row["samples"] for row in rows) == [["mine/late"], ["mine/success"], ["mine/success"]]
    assert len(json.loads(run("ls", root, "--format", "json").stdout)) == 8
    missing = run("ls", root, "--sample", "yours")
    assert (missing.exit_code, "there are: mine" in missing.stderr) == (2, True)


def test_a_simple_sample_has_cochrans_size(root):
    done = run("sample", root, "--simple", "--margin", "0.4", "--name", "few", "--mark", "--format", "json")
    assert len(json.loads(done.stdout)) == len(read_samples(root)["few"]) == 4
    assert "drawn: 4 runs\n" in done.stderr


@pytest.mark.parametrize(
    "options", [["--margin", "0"], ["--confidence", "1"], ["--per-class", "-1"], ["--mark", "--name", "a b"]]
)
def test_what_makes_no_sense_is_wrong_use_and_keeps_nothing(root, options):
    assert run("sample", root, *options).exit_code == 2
    assert not (root / SAMPLES).exists()


def test_a_broken_file_of_samples_is_named_and_left_as_it_is(root):
    (root / SAMPLES).write_text("{\n")
    for options in ([], ["--mark"]):
        done = run("sample", root, *options)
        assert (done.exit_code, "samples.jsonl, line 1" in done.stderr) == (3, True)
    assert (root / SAMPLES).read_text() == "{\n"
