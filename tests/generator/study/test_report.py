"""Rows of a study, and the tables that documents have of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from generator.study.__main__ import study
from generator.study.report import (
    Reports,
    keep_report,
    markdown,
    read_reports,
    report_of,
    rows_of,
)
from mango_trace.errors import SpecificationError, UnknownNameError

ROOT = Path(__file__).parents[3]
SAMPLES = {
    "mango": {"similarity": [1.0, 1.0, 1.0], "seconds": [1.0, 2.0, 3.5], "usd": [None, None, None]},
    "baseline": {"similarity": [0.5, 0.5, 0.5], "seconds": [0.1, None, 0.2], "usd": [0.0, 0.0, 0.0]},
}
MEASURES = ("similarity", "seconds", "usd")


def rows():
    return rows_of(SAMPLES, MEASURES)


def test_rows_have_what_is_known_and_compare_with_the_first():
    by_key = {(row.configuration, row.measure): row for row in rows()}
    first = by_key["mango", "similarity"]
    assert (first.n, first.mean, first.sd, first.test, first.a12) == (3, 1.0, 0.0, "", None)
    other = by_key["baseline", "similarity"]
    assert (other.mean, other.test, other.a12, other.magnitude) == (0.5, "kruskal", 1.0, "large")
    assert other.p == pytest.approx(0.0253473)
    assert by_key["baseline", "seconds"].n == 2
    assert by_key["baseline", "seconds"].test == "undetermined"
    assert by_key["mango", "usd"].mean is None
    assert by_key["baseline", "usd"].a12 is None


def test_writing_then_reading_is_the_identity(tmp_path):
    path, report = tmp_path / "reports.json", report_of("rq1", {"config": "rules"}, rows())
    keep_report(path, "rq1", report)
    keep_report(path, "rq3", report)
    assert read_reports(path).reports == {"rq1": report, "rq3": report}
    assert read_reports(tmp_path / "nothing.json") == Reports()
    path.write_text('{"version": 1, "reports": {"rq1": {}}}')
    with pytest.raises(SpecificationError, match=r"reports\.rq1\.question"):
        read_reports(path)


def test_tables():
    reports = Reports(reports={"rq1": report_of("rq1", {}, rows())})
    assert markdown(reports, "rq1.measures") == (
        "| measure | mango | baseline |\n"
        "| --- | ---: | ---: |\n"
        "| similarity | 1 ± 0 (3) | 0.5 ± 0 (3) |\n"
        "| seconds | 2.17 ± 1.26 (3) | 0.15 ± 0.0707 (2) |\n"
        "| usd | - | 0 ± 0 (3) |\n"
    )
    assert markdown(reports, "rq1.comparisons").splitlines()[2:] == [
        "| similarity | baseline | kruskal | 0.0253 | 1 | large |",
        "| seconds | baseline | undetermined | - | 1 | large |",
        "| usd | baseline | undetermined | - | - | - |",
    ]
    for name in ("rq3.measures", "rq1.colours", "rq1"):
        with pytest.raises(UnknownNameError):
            markdown(reports, name)


def test_tables_of_the_document_are_written_from_the_committed_figures(tmp_path):
    copy = tmp_path / "study.md"
    shutil.copy(ROOT / "docs" / "study.md", copy)
    done = CliRunner().invoke(study, ["table", str(ROOT / "docs" / "study.json"), str(copy)])
    assert done.exit_code == 0, done.output
    assert copy.read_text() == (ROOT / "docs" / "study.md").read_text()
    reports = read_reports(ROOT / "docs" / "study.json").reports
    assert set(reports) >= {"rq1", "rq3", "rq4"}
    assert all(f"<!-- table {name}.measures -->" in copy.read_text() for name in reports)


def test_committed_figures_reach_what_was_aimed_at():
    (similarity,) = [
        row
        for row in read_reports(ROOT / "docs" / "study.json").reports["rq1"].rows
        if row.configuration == "mango (rules)" and row.measure == "similarity"
    ]
    assert similarity.mean >= 0.95
