"""The rollouts that come along are sound and small, and the fast and the plain way judge them right."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.evaluation import Options, evaluate
from mango_trace.shipped import shipped
from mango_trace.signals import SceneKinematics
from mango_trace.store import Dataset, size_on_disk, verify_dataset
from mango_trace.store.sampling import POSITIONS, stratum_of
from tests.evaluation.tables import tables_of, without_intervals

SAMPLE = Path(__file__).parents[2] / "datasets" / "libero-10-sample"


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    database = tmp_path_factory.mktemp("sample") / "verdicts.duckdb"
    summary = evaluate([SAMPLE], [shipped("oracles")], database, workers=2)
    assert summary.exit_code == 0, summary
    return database


def asked(database: Path, query: str) -> list[dict[str, object]]:
    done = CliRunner().invoke(cli, ["query", query, "--db", str(database), "--format", "json"])
    assert done.exit_code == 0, done.output
    rows: list[dict[str, object]] = json.loads(done.stdout)
    return rows


def test_it_is_sound_and_small_and_has_a_success_and_three_failures_of_every_task():
    dataset = Dataset(SAMPLE)
    assert [check for check in verify_dataset(dataset) if check.problem] == []
    assert dataset.problems == []
    assert size_on_disk(SAMPLE) < 10e6
    strata = Counter((record.metadata.task_index, stratum_of(record)) for record in dataset.records)
    for task in range(10):
        assert strata[task, "success"] == 1
        assert sum(strata[task, where] for where in POSITIONS) == 3
        assert strata[task, "early"] > 0
        assert strata[task, "middle"] > 0


def test_verdicts_and_first_failed_actions_are_right(verdicts):
    *tasks, total = asked(verdicts, "rq2")
    assert len(tasks) == 10
    for row in tasks:
        # A shaken book passes through its compartment and falls beside: the benchmark calls that a success.
        benchmark_errs = int("pick_up_the_book" in str(row["task"]))
        assert (row["tp"], row["tn"], row["fp"], row["fn"]) == (3, 1 - benchmark_errs, benchmark_errs, 0)
        assert (row["loc_n"], row["exact"]) == (3, 3)
    assert (total["undetermined"], total["errors"], total["not_evaluated"]) == (0, 0, 0)
    (only,) = asked(verdicts, "disagreements")
    assert (only["ours"], only["benchmark_success_once"], only["benchmark_success_at_end"]) == (
        "failed",
        "passed",
        "failed",
    )
    assert (only["cause"], only["cause_class"]) == ("held in passing", "benchmark too lax")


def test_the_plain_way_says_the_same(verdicts, tmp_path, monkeypatch):
    plain = partial(SceneKinematics, prefilter=False)
    monkeypatch.setattr("mango_trace.evaluation.shard.SceneKinematics", plain)
    evaluate([SAMPLE], [shipped("oracles")], tmp_path / "plain.duckdb")
    assert tables_of(tmp_path / "plain.duckdb") == tables_of(verdicts)


def test_verdicts_alone_are_the_same(verdicts, tmp_path):
    alone = tmp_path / "alone.duckdb"
    evaluate([SAMPLE], [shipped("oracles")], alone, options=Options(intervals=False))
    assert without_intervals(tables_of(alone)) == without_intervals(tables_of(verdicts))
    (only,) = asked(alone, "disagreements")
    assert only["cause"] == "truth intervals are not stored"
