"""Annotating from the command line."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.store import Dataset
from tests.synthetic import make_dataset, write_oracles


def run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def root(tmp_path):
    return make_dataset(tmp_path, 6)


def test_labels_reach_the_verdicts_without_judging_again(tmp_path, root):
    database = tmp_path / "v.duckdb"
    oracles = write_oracles(tmp_path / "oracles")
    assert run("evaluate", root, "--oracles", oracles, "--db", database).exit_code == 0
    traces = [record.trace_id for record in Dataset(root).records]
    for who, actions in (
        ("ada", ["none", "pick_up(apple_1)", "pick_up(apple_1)", "none"]),
        ("bo", ["none", "pick_up(apple_1)", "none", "pick_up(apple_1)"]),
    ):
        for trace, action in zip(traces, actions, strict=False):
            done = run("annotate", root, trace[:12], "--first-failed", action, "--who", who)
            assert done.exit_code == 0, done.stderr
    again = run("evaluate", root, "--oracles", oracles, "--db", database)
    assert "0 traces judged" in again.stdout
    rows = json.loads(run("query", "labellers", "--db", database, "--format", "json").stdout)
    [pair] = [row for row in rows if (row["first"], row["second"]) == ("ada", "bo")]
    assert (pair["n"], pair["n_equal"], pair["agreement"], pair["by_chance"]) == (4, 2, 0.5, 0.5)
    assert pair["kappa"] == 0.0


def test_export_and_import_are_the_same(tmp_path, root):
    trace = Dataset(root).records[0].trace_id
    run("annotate", root, trace, "--first-failed", "pick_up(apple_1)", "--class", "never_grasped")
    exported = run("labels", "export", root).stdout
    assert exported.splitlines()[1].startswith(f"{trace},")
    (tmp_path / "labels.csv").write_text(exported)
    other = make_dataset(tmp_path / "other", 6)
    done = run("labels", "import", other, tmp_path / "labels.csv")
    assert (done.exit_code, done.stdout) == (
        0,
        f"{other}: 1 labels added, 0 were there already, 0 do not fit\n",
    )
    assert run("labels", "export", other).stdout == exported
    assert (
        "0 labels added, 1 were there already"
        in run("labels", "import", other, tmp_path / "labels.csv").stdout
    )
    listed = json.loads(run("labels", "list", other, "--format", "json").stdout)
    assert [row["failure_class"] for row in listed if row["who"] != "injected"] == ["never_grasped"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--first-failed", "pick_up"], "is no action"),
        (["--first-failed", "pick_up(aple_1)"], "no thing in the scene of trace .*; did you mean 'apple_1'"),
        (["--first-failed", "none", "--class", "misplacd"], "did you mean 'misplaced'"),
        (["--first-failed", "none", "--state", "100000"], "the trace has no state 100000; its last one is"),
    ],
)  # fmt: skip
def test_typos_are_wrong_use_and_add_nothing(root, options, message):
    trace = Dataset(root).records[0].trace_id
    done = run("annotate", root, trace, *options)
    assert done.exit_code == 2
    assert re.search(message, done.stderr)
    assert len(run("labels", "export", root).stdout.splitlines()) == 1


def test_a_line_that_fits_no_trace_is_named_and_the_others_are_added(tmp_path, root):
    trace = Dataset(root).records[0].trace_id
    (tmp_path / "l.csv").write_text(f"trace_id,who,first_failed\nnope,ada,none\n{trace},ada,none\n")
    done = run("labels", "import", root, tmp_path / "l.csv")
    assert done.exit_code == 3
    assert "no trace 'nope'" in done.stderr
    assert "1 labels added, 0 were there already, 1 do not fit" in done.stdout


def test_classes_are_those_of_the_taxonomy():
    rows = json.loads(run("labels", "classes", "--format", "json").stdout)
    assert {row["family"] for row in rows} == {
        "manipulation", "motion", "planning", "outcome", "infrastructure",
    }  # fmt: skip
    assert len({row["class"] for row in rows}) == len(rows) == 22


def test_a_person_cannot_speak_as_an_injected_fault_nor_class_what_did_not_fail(tmp_path, root):
    trace = Dataset(root).records[0].trace_id
    forged = run("annotate", root, trace, "--first-failed", "pick_up(apple_1)", "--who", "injected")
    assert (forged.exit_code, "name of injected faults" in forged.stderr) == (2, True)
    classed = run("annotate", root, trace, "--first-failed", "none", "--class", "jitter")
    assert (classed.exit_code, "no failure class" in classed.stderr) == (2, True)
    (tmp_path / "labels.csv").write_text(
        f"trace_id,who,first_failed\n{trace},injected,pick_up(apple_1)\n{trace},ada,none\n"
    )
    imported = run("labels", "import", root, tmp_path / "labels.csv")
    assert imported.exit_code == 3
    assert "1 labels added, 0 were there already, 1 do not fit" in imported.stdout


def test_a_refuted_label_is_shown_as_one_and_no_labeller_agrees_with_it(tmp_path):
    sample = shutil.copytree(Path(__file__).parents[2] / "datasets" / "libero-10-sample", tmp_path / "sample")
    injected = [record for record in Dataset(sample).records if record.metadata.labels]
    refuted = [record for record in injected if record.metadata.labels[0].verified is False]
    assert (len(injected), len(refuted)) == (32, 2)
    for record in refuted:
        assert (
            run("annotate", sample, record.trace_id, "--first-failed", "none", "--who", "zoe").exit_code == 0
        )
    listed = json.loads(run("labels", "list", sample, "--format", "json").stdout)
    assert {row["trace_id"] for row in listed if row["verified"] is False} == {r.trace_id for r in refuted}
    database = tmp_path / "v.duckdb"
    assert run("evaluate", sample, "--db", database).exit_code == 0
    shown = run("show", refuted[0].trace_id, "--db", database).stdout.splitlines()
    assert [
        line.endswith("(refuted by the states: does not count)") for line in shown if "label by" in line
    ] == [
        True,
        False,
    ]
    assert json.loads(run("query", "labellers", "--db", database, "--format", "json").stdout) == []
    counted = next(record for record in injected if record not in refuted)
    assert run("annotate", sample, counted.trace_id, "--first-failed", "none", "--who", "zoe").exit_code == 0
    assert run("evaluate", sample, "--db", database).exit_code == 0
    [pair] = json.loads(run("query", "labellers", "--db", database, "--format", "json").stdout)
    assert (pair["first"], pair["second"], pair["n"], pair["n_equal"]) == ("injected", "zoe", 1, 0)
