"""``mango-trace generate lint``: one row a finding, and what cannot be read stops nothing."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from generator.linting import Linted, lint_targets
from generator.targets import Target, resolve
from mango_trace.cli.main import cli
from mango_trace.shipped import shipped
from mango_trace.store import DatasetWriter
from mango_trace.workers import KILLED
from tests.synthetic import make_dataset, make_package, make_trace

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "datasets" / "libero-10-sample"
REFERENCE = shipped("oracles") / "libero"


def run(*arguments: object, exit_code: int) -> Result:
    done = CliRunner().invoke(cli, ["generate", "lint", *map(str, arguments)])
    assert done.exit_code == exit_code, done.output
    return done


def rows(*arguments: object, exit_code: int) -> list[dict[str, object]]:
    return json.loads(run(*arguments, "--format", "json", exit_code=exit_code).stdout)


def test_the_sample_has_the_findings_that_the_document_explains():
    found = run(SAMPLE, "--format", "md", exit_code=1).stdout.splitlines()[2:]
    document = (ROOT / "docs" / "lint.md").read_text().splitlines()
    assert sorted(found) == sorted(line for line in document if line.startswith("| libero_10 "))
    assert len(found) == 2


def test_what_goes_further_is_counted_and_listed_on_demand():
    done = run(SAMPLE, "--format", "json", exit_code=1)
    assert "49 monitor_without_condition (the oracle goes further than the goal)" in done.stderr
    assert "10 tasks, 2 disagreements, 0 tasks could not be looked at" in done.stderr
    assert len(rows(SAMPLE, "--kind", "all", exit_code=1)) == 54
    assert len(rows(SAMPLE, "--kind", "needed_order", exit_code=0)) == 2
    both = rows(SAMPLE, "--kind", "needed_order", "--kind", "fixed_place", exit_code=1)
    assert {row["kind"] for row in both} == {"needed_order", "fixed_place"}
    assert "no kind of finding 'order'" in run(SAMPLE, "--kind", "order", exit_code=2).output


def test_rows_do_not_depend_on_workers_or_on_who_wrote_the_same_oracle():
    alone = run(SAMPLE, "--kind", "all", "--format", "csv", exit_code=1).stdout
    together = run(SAMPLE, "--kind", "all", "--format", "csv", "--workers", 3, exit_code=1).stdout
    given = run(SAMPLE, "--kind", "all", "--format", "csv", "--oracles", REFERENCE, exit_code=1).stdout
    assert alone == together == given
    assert len(list(csv.DictReader(io.StringIO(alone)))) == 54


def test_an_oracle_of_others_that_leaves_something_out(tmp_path):
    folder = tmp_path / "oracles"
    shutil.copytree(REFERENCE, folder)
    path = next((folder / "libero_10").glob("KITCHEN_SCENE4*.json"))
    document = json.loads(path.read_text())
    document["plan"].pop()
    path.write_text(json.dumps(document))
    before = rows(SAMPLE, exit_code=1)
    added = [row for row in rows(SAMPLE, "--oracles", folder, exit_code=1) if row not in before]
    assert [(row["kind"], row["what"]) for row in added] == [
        ("clause_without_monitor", "'close the bottom drawer' is not monitored"),
        ("condition_without_monitor", "close(white_cabinet_1_bottom_region) is not monitored"),
    ]


def test_what_cannot_be_looked_at_is_a_row_and_the_rest_goes_on(tmp_path):
    package = make_package()
    root = make_dataset(tmp_path, 1, package=package)
    with DatasetWriter(root) as writer:
        writer.add(make_trace(package, seed=1, task="circus", instruction="juggle the apple"))
    found = rows(root, SAMPLE, exit_code=3)
    [error] = [row for row in found if row["kind"] == "error"]
    assert error["task"] == "circus"
    assert "not understood at word 1, 'juggle'" in str(error["what"])
    assert len([row for row in found if row["suite"] == "libero_10" and row["kind"] != "error"]) >= 2


def test_oracles_that_are_missing_broken_or_do_not_fit(tmp_path):
    folder = tmp_path / "oracles"
    shutil.copytree(REFERENCE, folder)
    first, second, third = sorted((folder / "libero_10").glob("*.json"))[:3]
    first.unlink()
    second.write_text("{")
    third.write_text(third.read_text().replace("heating_region", "cooling_region"))
    done = run(SAMPLE, "--oracles", folder, "--format", "json", exit_code=3)
    whats = {row["task"]: row["what"] for row in json.loads(done.stdout) if row["kind"] == "error"}
    assert whats[first.stem] == whats[second.stem] == "no oracle has its name or instruction"
    assert "did you mean 'microwave_1_heating_region'" in whats[third.stem]
    assert str(second) in done.stderr
    assert "10 tasks, 2 disagreements, 3 tasks could not be looked at" in done.stderr
    assert "no such file or folder" in run(SAMPLE, "--oracles", tmp_path / "none", exit_code=3).stderr


def test_every_task_has_a_row_even_if_a_process_dies():
    targets = resolve([str(SAMPLE)])[:2]
    dying = Target("dies", "", targets[0].instruction, None, _die)
    found = list(lint_targets([dying, *targets], workers=1 + 1))
    assert found[0] == Linted("dies", "", error=f"the process that looked at it {KILLED}")
    assert [one.task for one in found] == ["dies", *(target.name for target in targets)]


def _die():
    import os

    os._exit(1)


@pytest.mark.parametrize("arguments", [("nowhere",), (SAMPLE, "--workers", "0")])
def test_wrong_use(arguments):
    run(*arguments, exit_code=2)
