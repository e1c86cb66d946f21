"""Figures in the documents are those that were measured."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from recorder.bench.__main__ import RESULTS, bench
from recorder.bench.measurements import Measurement, Results, changes, read_results, worse

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("document", ["README.md", "docs/performance.md"])
def test_tables_are_written_from_the_committed_figures(document, tmp_path):
    copy = tmp_path / "document.md"
    shutil.copy(ROOT / document, copy)
    done = CliRunner().invoke(bench, ["table", str(ROOT / RESULTS), str(copy)])
    assert done.exit_code == 0, done.output
    assert copy.read_text() == (ROOT / document).read_text()
    assert copy.read_text().count("| --- | ---: | --- |") > 0


def results(**ratios: float | None) -> Results:
    rows = [
        Measurement(group="g", what=what, value=1.0, unit="s", compared_with="of it", ratio=ratio,
                    better="smaller" if what.startswith("size") else "larger")
        for what, ratio in ratios.items()
    ]  # fmt: skip
    return Results(machine="", versions={}, rows=tuple(rows))


def test_ratios_that_fell_are_told_from_noise():
    before = results(speed=10.0, size=0.5, gone=1.0, plain=None)
    now = results(speed=9.0, size=0.7, new=1.0, plain=None)
    found = {row["what"]: row["change"] for row in changes(before, now)}
    assert found == {"speed": "as before", "size": "WORSE", "new": "new", "gone": "not measured"}
    assert worse(changes(before, now)) == 1
    assert worse(changes(before, results(speed=20.0, size=0.3))) == 0


def test_the_committed_figures_can_be_read():
    groups = {row.group for row in read_results(ROOT / RESULTS).rows}
    assert groups == {"judging", "start", "scaling", "queries", "recording", "storage", "encodings"}
