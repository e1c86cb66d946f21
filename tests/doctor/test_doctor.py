"""What makes comparisons wrong is found in datasets, each kind by itself; sound runs have no findings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.comparing import Question, compare_policies
from mango_trace.doctor import ADVICE, Finding, Report, examine
from mango_trace.evaluation import evaluate
from mango_trace.queries import run_query, run_sql
from mango_trace.store import DatasetWriter, Trace
from tests.synthetic import CLOSED, columns, make_package, make_trace, write_oracles

PACKAGE = make_package()


def own(seed: int = 0, kind: int = 0, **metadata) -> Trace:
    """A run without an injected fault; equal seeds start alike."""
    return make_trace(PACKAGE, 40, 4 * seed + kind, **{"fault": None, "labels": ()} | metadata)


def write(root: Path, traces: Iterable[Trace], package=PACKAGE) -> Path:
    with DatasetWriter(root) as writer:
        writer.add_scene(package)
        for trace in traces:
            writer.add(trace)
    return root


def kinds(report: Report) -> list[str]:
    return [finding.kind for finding in report.findings]


def only(report: Report, kind: str) -> Finding:
    (finding,) = [one for one in report.findings if one.kind == kind]
    return finding


def look(tmp_path: Path, traces: Iterable[Trace], **options) -> Report:
    return examine([write(tmp_path / "runs", traces)], **{"min_runs": 1} | options)


def test_sound_runs_have_no_findings(tmp_path) -> None:
    report = look(tmp_path, (own(i) for i in range(5)))
    assert (report.findings, report.problems, report.exit_code, report.n_traces) == ([], [], 0, 5)


def same_start(n: int, **ids) -> list[Trace]:
    """Runs with bit-identical first states that go on differently."""
    traces = []
    for i in range(n):
        trace = own(0, episode=i, init_state_id=ids.get("init_state_id", i))
        qpos = trace.states["qpos"].copy()
        qpos[1:, columns(PACKAGE, "robot0_x")] += 1e-3 * i
        traces.append(replace(trace, states={**trace.states, "qpos": qpos}))
    return traces


def test_ids_that_are_one_state(tmp_path) -> None:  # O-18
    report = look(tmp_path, same_start(5))
    assert kinds(report) == ["repeated_start", "same_state_other_id"]
    assert only(report, "same_state_other_id").what == "init state ids 0, 1, 2, 3, 4 are one state"
    repeated = only(report, "repeated_start")
    assert (repeated.count, repeated.of) == (4, 5)
    assert repeated.what == "5 episodes, 1 distinct initial state: the effective n is smaller"
    assert report.exit_code == 1


def test_one_state_fifty_times(tmp_path) -> None:  # O-19
    report = look(tmp_path, same_start(50, init_state_id=0))
    assert kinds(report) == ["repeated_start"]
    assert only(report, "repeated_start").what.startswith("50 episodes, 1 distinct initial state:")
    evaluate([tmp_path / "runs"], [], tmp_path / "v.duckdb")  # the database says the same
    (row,) = run_query(tmp_path / "v.duckdb", "starts").records()
    assert (row["episodes"], row["distinct_initial_states"]) == (50, 1)


def test_several_seeds_may_start_alike(tmp_path) -> None:
    traces = [
        own(0),
        *(replace(one, metadata=one.metadata.model_copy(update={"seed": 1})) for one in [own(0)]),
    ]
    report = look(tmp_path, traces)
    assert kinds(report) == ["identical_runs"]  # but not go alike
    assert only(report, "identical_runs").count == 1


def test_an_id_that_is_another_state_elsewhere(tmp_path) -> None:
    report = look(tmp_path, [own(0, init_state_id=3, policy="a"), own(1, init_state_id=3, policy="b")])
    finding = only(report, "same_id_other_state")
    assert (finding.policy, finding.count) == (None, 2)
    assert finding.what == "init state ids 3 are other states in other runs"


def test_fixtures_elsewhere(tmp_path) -> None:
    first = own(0, policy="a")
    moved = {"body_pos": {"cabinet_1": [-0.2, 0.36, 0.0]}}
    second = replace(first, metadata=first.metadata.model_copy(update={"policy": "b", "overrides": moved}))
    assert kinds(look(tmp_path, [first, second])) == ["same_start_other_placement"]


def test_a_task_that_begins_solved(tmp_path) -> None:
    trace = own(0)
    qpos = trace.states["qpos"].copy()
    qpos[:] = qpos[-1]
    solved = replace(trace, states={**trace.states, "qpos": qpos})
    report = look(tmp_path, [solved, own(1)])
    assert kinds(report) == ["success_at_start", "premise_violated"]
    assert (only(report, "success_at_start").count, only(report, "success_at_start").of) == (1, 2)
    assert "open(cabinet_1_drawer_region)" in only(report, "premise_violated").what


def test_a_premise_that_fails_once_settled(tmp_path) -> None:  # O-16
    trace = own(0)
    qpos = trace.states["qpos"].copy()
    qpos[:, columns(PACKAGE, "cabinet_1_drawer_joint")] = CLOSED
    report = look(tmp_path, [replace(trace, states={**trace.states, "qpos": qpos}), own(1)])
    finding = only(report, "premise_violated")
    assert finding.what == "init premise violated: open(cabinet_1_drawer_region)"
    evaluate([tmp_path / "runs"], [], tmp_path / "v.duckdb")  # the same code, the same answer
    rows = run_sql(tmp_path / "v.duckdb", "SELECT premise_violations FROM traces ORDER BY episode").rows
    assert rows == ((["open(cabinet_1_drawer_region)"],), ([],))


def test_a_horizon_below_the_longest_demonstration(tmp_path) -> None:  # O-20
    scene = replace(PACKAGE.scene, longest_demonstration=505)
    package = replace(PACKAGE, scene=scene)
    traces = [make_trace(package, 40, seed, fault=None, labels=(), horizon=300) for seed in (0, 1, 2)]
    report = examine([write(tmp_path / "runs", traces, package)], min_runs=1)
    finding = only(report, "cut_short")
    assert (finding.count, finding.of) == (2, 3)  # the one that succeeds was not cut short
    assert finding.what == "truncated=True, cap=300 < 505, the longest demonstration"


def test_what_nobody_knows_of_imported_runs_is_no_finding(tmp_path) -> None:
    """A horizon of 0 is no cap, and a run whose success nobody measured or claims did not fail."""
    package = replace(PACKAGE, scene=replace(PACKAGE.scene, longest_demonstration=505))

    def run(seed: int, horizon: int, label: bool | None, checked: bool = False) -> Trace:
        kept = {"fault": None, "labels": (), "horizon": horizon, "source_label": label, "ended": "truncated"}
        trace = make_trace(package, 40, 4 * seed, **kept)
        return trace if checked else replace(trace, success=np.full_like(trace.success, 255))

    imported = [run(0, 0, False), run(1, 0, None), run(2, 300, None), run(3, 300, True)]
    recorded = run(4, 300, False, checked=True)  # its check, which it passed, says more than the claim
    report = examine([write(tmp_path / "runs", [*imported, recorded], package)], min_runs=1)
    assert kinds(report) == ["no_live_check"]
    claimed = examine([write(tmp_path / "claimed", [run(5, 300, False)], package)], min_runs=1)
    assert only(claimed, "cut_short").count == 1


def test_conditions_that_are_mixed(tmp_path) -> None:  # O-54
    old = own(0, policy="a", horizon=100, versions={"mujoco": "3.3.7"})
    new = own(1, policy="b", horizon=200, versions={"mujoco": "3.9.0", "robosuite": "1.4.0"})
    other = replace(PACKAGE, scene=replace(PACKAGE.scene, control_hz=10.0, robot="hand0"))
    write(tmp_path / "a", [old, own(2, policy="a", horizon=100, versions={"mujoco": "3.3.7"})])
    write(tmp_path / "b", [replace(new, scene=other.digest)], other)
    report = examine([tmp_path / "a", tmp_path / "b"], min_runs=1)
    assert kinds(report) == [
        "mixed_horizons",
        "mixed_versions",
        "mixed_versions",
        "mixed_robots",
        "mixed_control",
        "mixed_scenes",
    ]
    versions = {one.what for one in report.findings if one.kind == "mixed_versions"}
    assert versions == {"mujoco 3.3.7 (2), mujoco 3.9.0 (1)", "robosuite unknown (2), robosuite 1.4.0 (1)"}
    assert only(report, "mixed_horizons").what == "cut off after 100 steps (2), cut off after 200 steps (1)"
    assert only(report, "mixed_robots").count == 1


def test_too_few_runs_and_a_missing_task(tmp_path) -> None:
    other = make_package(task="another_task")
    write(tmp_path / "a", (own(i, policy="a") for i in range(3)))
    write(tmp_path / "b", (own(i, policy="b") for i in range(5)))
    write(tmp_path / "c", [make_trace(other, 40, 4, fault=None, labels=(), policy="b")], other)
    report = examine([tmp_path / "a", tmp_path / "b", tmp_path / "c"], min_runs=4)
    few = [(one.task, one.policy, one.count) for one in report.findings if one.kind == "few_runs"]
    assert few == [("another_task", "b@0", 1), (PACKAGE.scene.task, "a@0", 3)]
    missing = only(report, "missing_task")
    assert (missing.task, missing.policy, missing.of) == ("another_task", "a@0", 1)


def test_faults_rewards_and_checks(tmp_path) -> None:
    unchecked = own(0)
    unchecked = replace(unchecked, success=np.full_like(unchecked.success, 255))
    unpaid = own(1)
    unpaid = replace(unpaid, reward=np.zeros_like(unpaid.reward))  # O-22: it did succeed
    unrewarded = replace(own(2), reward=np.full(39, np.nan))
    report = look(tmp_path, [unchecked, unpaid, unrewarded, own(3), make_trace(PACKAGE, 40, 17)])
    assert kinds(report) == ["injected_fault", "no_rewards", "no_live_check"]
    assert only(report, "injected_fault").what == "beside@1 (1)"
    assert only(report, "no_rewards").count == 2
    assert only(report, "no_live_check").count == 1


def test_a_failed_run_without_reward_is_as_it_should_be(tmp_path) -> None:
    assert kinds(look(tmp_path, [own(0, kind=2)])) == []


def test_recordings_that_broke(tmp_path) -> None:
    broken = own(0, ended="error", error="server died")
    trace = own(1)
    qpos = trace.states["qpos"].copy()
    qpos[20:] = np.nan
    report = look(tmp_path, [broken, replace(trace, states={**trace.states, "qpos": qpos}), own(2)])
    assert kinds(report) == ["recording_error", "invalid_states"]
    assert "server died" in only(report, "recording_error").what
    assert "state 20 is not finite" in only(report, "invalid_states").what
    assert report.exit_code == 1


def test_what_cannot_be_read_is_a_finding_and_the_rest_goes_on(tmp_path) -> None:
    root = write(tmp_path / "runs", (own(i) for i in range(3)))
    (chunk,) = root.glob("segments/*/states.zarr/*/state/time/c/0/0")
    chunk.write_bytes(chunk.read_bytes()[:40])
    write(tmp_path / "more", [own(i) for i in (7, 7)])
    report = examine([root, tmp_path / "more"], min_runs=1)
    finding = only(report, "unreadable")
    assert (finding.count, finding.of, report.n_traces, report.exit_code) == (3, 4, 4, 3)
    assert "state/time cannot be read" in finding.what


def test_datasets_are_looked_at_together_and_in_any_order(tmp_path) -> None:
    a = write(tmp_path / "a", [own(0, policy="a"), own(1, policy="a")])
    b = write(tmp_path / "b", [own(0, policy="b"), own(0, policy="a")])  # one of them is in both
    one, other = examine([a, b], min_runs=2), examine([b, a], min_runs=2)
    assert (one.n_traces, other.n_traces) == (3, 3)
    assert one.findings == other.findings
    assert kinds(one) == ["few_runs"]


def test_the_command(tmp_path) -> None:
    sound = write(tmp_path / "sound", (own(i) for i in range(3)))
    call = ["doctor", str(sound), "--min-runs"]
    fine = CliRunner().invoke(cli, [*call, "3"])
    assert fine.exit_code == 0
    heading, line = fine.stdout.splitlines()
    assert heading.split() == ["kind", "suite", "task", "policy", "count", "of", "what", "advice"]
    assert set(line) == {"-", " "}
    few = CliRunner().invoke(cli, [*call, "4", "--format", "json"])
    (row,) = json.loads(few.stdout)
    assert (few.exit_code, row["kind"], row["policy"], row["count"]) == (1, "few_runs", "placed@0", 3)
    assert row["advice"] == ADVICE["few_runs"]
    assert "3 traces, 1 findings" in few.stderr
    assert CliRunner().invoke(cli, ["doctor", str(tmp_path / "nothing")]).exit_code == 3


def test_recorded_runs_are_compared(tmp_path) -> None:
    """From datasets to the answer: b leaves the drawer open where a closes it, and c starts elsewhere."""
    write(tmp_path / "a", (own(i, policy="a", horizon=60) for i in range(8)))
    write(tmp_path / "b", (_left_open(own(i, policy="b", horizon=60, ended="truncated")) for i in range(8)))
    starts = ({"episode": 4 * i, "init_state_id": 4 * i} for i in range(8))
    write(tmp_path / "c", (own(i, 2, policy="c", horizon=60, **start) for i, start in enumerate(starts)))
    roots, database = [tmp_path / name for name in "abc"], tmp_path / "v.duckdb"
    evaluate(roots, [write_oracles(tmp_path / "oracles")], database)
    found = compare_policies(database, Question("a", "b"))
    total = found.total
    assert (total.verdict, total.n_pairs, total.only_a, total.p) == ("A better", 8, 8, 2 / 2**8)
    assert [(one.action, one.share_a, one.share_b) for one in found.first_failed] == [
        ("close", None, 1.0),
        ("close(cabinet_1_drawer_region)", None, 1.0),
    ]
    refused = compare_policies(database, Question("a", "c"))
    assert [one.kind for one in refused.obstacles] == ["initial_state"]
    assert "initial state differs in 8 of 8 pairs" in str(refused.obstacles[0])


def _left_open(trace: Trace) -> Trace:
    qpos = trace.states["qpos"].copy()
    drawer = columns(PACKAGE, "cabinet_1_drawer_joint")
    qpos[:, drawer] = qpos[0, drawer]
    return replace(trace, states={**trace.states, "qpos": qpos}, success=np.zeros_like(trace.success))
