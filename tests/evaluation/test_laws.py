"""A verdict is a function of trace, oracle and evaluator: not of batch, order, workers or accident."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.errors import DatabaseError, UsageError
from mango_trace.evaluation import Options, evaluate
from mango_trace.evaluation.oracle_files import load_oracles
from mango_trace.evaluation.shard import Shard, judge_shard
from mango_trace.store import Dataset, DatasetWriter, Trace
from mango_trace.store.samples import SAMPLES, write_sample
from mango_trace.verdicts import open_read_only
from tests.evaluation.tables import tables_of, without_intervals
from tests.synthetic import (
    columns,
    make_dataset,
    make_package,
    make_trace,
    oracle_document,
    rest_states,
    write_oracles,
)

N = 13
PACKAGE = make_package()


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a dataset, an oracle for it and the verdicts of a plain evaluation."""
    folder = tmp_path_factory.mktemp("laws")
    root, oracles = make_dataset(folder, N), write_oracles(folder / "oracles")
    summary = evaluate([root], [oracles], folder / "plain.duckdb")
    assert (summary.judged, summary.skipped, summary.exit_code) == (N, 0, 0)
    return folder


@pytest.fixture(scope="module")
def plain(place) -> dict[str, list[tuple[Any, ...]]]:
    return tables_of(place / "plain.duckdb")


def ask(database: Path, text: str) -> list[tuple[Any, ...]]:
    with open_read_only(database) as connection:
        return connection.sql(text).fetchall()


def written(folder: Path, traces: list[Trace]) -> Path:
    """A dataset with these traces."""
    with DatasetWriter(folder / "dataset") as writer:
        writer.add_scene(PACKAGE)
        for trace in traces:
            writer.add(trace)
    return folder / "dataset"


def with_qpos(trace: Trace, qpos: np.ndarray) -> Trace:
    return dataclasses.replace(trace, states={**trace.states, "qpos": qpos})


def test_the_verdicts_are_those_that_the_traces_were_made_for(place):
    rows = ask(
        place / "plain.duckdb",
        "SELECT DISTINCT episode % 4, v.outcome, v.first_failed, v.reason, v.violations, e.outcome "
        "FROM traces JOIN verdicts v USING (trace_id) JOIN end_state e USING (trace_id) ORDER BY 1",
    )
    assert rows == [
        (0, "passed", None, None, 0, "passed"),
        (1, "failed", 1, "never_true", 1, "failed"),
        (2, "failed", 2, "never_true", 0, "failed"),
        (3, "passed", None, None, 1, "passed"),
    ]
    live = "SELECT count(*) FROM traces JOIN end_state USING (trace_id) WHERE lag_states <> 0"
    assert ask(place / "plain.duckdb", live) == [(0,)]


@pytest.mark.parametrize("shard", [1, 5, 100])
def test_the_size_of_shards_changes_nothing(place, plain, tmp_path, shard):
    evaluate([place / "dataset"], [place / "oracles"], tmp_path / "v.duckdb", shard_traces=shard)
    assert tables_of(tmp_path / "v.duckdb") == plain


def test_the_number_of_workers_changes_nothing(place, plain, tmp_path):
    summary = evaluate(
        [place / "dataset"], [place / "oracles"], tmp_path / "v.duckdb", workers=2, shard_traces=3
    )
    assert summary.judged == N
    assert tables_of(tmp_path / "v.duckdb") == plain


def test_what_comes_of_a_shard_is_the_same_in_another_process(place):
    dataset, oracles = Dataset(place / "dataset"), load_oracles([place / "oracles"])
    shard = Shard(place / "dataset", dataset.records[0].scene, dataset.records, oracles, Options())
    result = judge_shard(pickle.loads(pickle.dumps(shard)))
    assert {"traces", "verdicts", "actions", "intervals"} <= result.tables.keys()
    there = pickle.loads(pickle.dumps(result))
    assert there == result
    assert all(table.schema == result.tables[name].schema for name, table in there.tables.items())


def test_the_order_and_distribution_of_traces_changes_nothing(place, plain, tmp_path):
    seeds = np.random.default_rng(1).permutation(N)
    roots = []
    for index, part in enumerate((seeds[:4], seeds[4:5], seeds[5:])):
        root = tmp_path / str(index)
        with DatasetWriter(root) as writer:
            writer.add_scene(PACKAGE)
            for seed in part:
                writer.add(make_trace(PACKAGE, 40, int(seed)))
        roots.append(root)
    evaluate(roots, [place / "oracles"], tmp_path / "v.duckdb")
    assert tables_of(tmp_path / "v.duckdb") == plain


def test_one_trace_at_a_time_is_all_at_once(place, plain, tmp_path):
    root = tmp_path / "growing"
    for seed in reversed(range(N)):
        with DatasetWriter(root) as writer:
            writer.add_scene(PACKAGE)
            writer.add(make_trace(PACKAGE, 40, seed))
        summary = evaluate([root], [place / "oracles"], tmp_path / "v.duckdb")
        assert (summary.judged, summary.skipped) == (1, N - 1 - seed)
    assert tables_of(tmp_path / "v.duckdb") == plain


def test_running_again_changes_nothing(place, plain, tmp_path):
    database = shutil.copy(place / "plain.duckdb", tmp_path / "v.duckdb")
    summary = evaluate([place / "dataset"], [place / "oracles"], database)
    assert (summary.judged, summary.skipped, summary.exit_code) == (0, N, 0)
    assert tables_of(database) == plain


def test_the_same_dataset_twice_is_judged_as_once(place, plain, tmp_path):
    shutil.copytree(place / "dataset", tmp_path / "copy")
    evaluate([place / "dataset", tmp_path / "copy"], [place / "oracles"], tmp_path / "v.duckdb")
    assert tables_of(tmp_path / "v.duckdb") == plain


def test_an_oracle_that_comes_later_is_judged_on_all_old_traces(place, plain, tmp_path):
    database = tmp_path / "v.duckdb"
    assert evaluate([place / "dataset"], [], database).judged == N
    assert ask(database, "SELECT count(*) FROM verdicts") == [(0,)]
    assert ask(database, "SELECT count(*) FROM end_state") == [(N,)]
    assert evaluate([place / "dataset"], [place / "oracles"], database).judged == N
    assert tables_of(database) == plain


def test_strict_order_stands_beside_the_report_and_differs_where_the_order_was_wrong(place, tmp_path):
    database = shutil.copy(place / "plain.duckdb", tmp_path / "v.duckdb")
    summary = evaluate([place / "dataset"], [place / "oracles"], database, options=Options(order="strict"))
    assert summary.judged == N
    rows = ask(
        database,
        "SELECT DISTINCT episode % 4, order_mode, outcome, reason FROM traces JOIN verdicts "
        "USING (trace_id) WHERE episode % 4 IN (0, 3) ORDER BY 1, 2",
    )
    assert [row[:3] for row in rows] == [
        (0, "report", "passed"),
        (0, "strict", "passed"),
        (3, "report", "passed"),
        (3, "strict", "failed"),
    ]


def test_samples_follow_the_datasets_without_judging_again(place, tmp_path):
    root = Path(shutil.copytree(place / "dataset", tmp_path / "dataset"))
    database = tmp_path / "v.duckdb"
    first, second = (record.trace_id for record in Dataset(root).records[:2])
    expected: list[tuple[Any, ...]] = []
    for members, judged in (
        ({}, N),
        ({first: "early", second: "success"}, 0),
        ({first: "early", second: "success"}, 0),
        ({second: "late", "gone": "early"}, 0),
    ):
        write_sample(root, "paper", members)
        summary = evaluate([root], [place / "oracles"], database)
        assert (summary.judged, summary.exit_code) == (judged, 0)
        expected = sorted((trace, "paper", each) for trace, each in members.items() if trace != "gone")
        assert tables_of(database)["samples"] == expected
    # Another dataset says nothing about these traces, and neither does a file that cannot be read.
    other = written(tmp_path / "other", [make_trace(PACKAGE, 40, 40)])
    evaluate([other], [place / "oracles"], database)
    assert tables_of(database)["samples"] == expected
    (root / SAMPLES).write_text("{")
    assert evaluate([root], [place / "oracles"], database).exit_code == 3
    assert tables_of(database)["samples"] == expected


def test_a_trace_in_two_datasets_is_in_the_samples_of_both_and_the_first_one_decides(place, tmp_path):
    roots = [Path(shutil.copytree(place / "dataset", tmp_path / name)) for name in "ab"]
    trace = Dataset(roots[0]).records[0].trace_id
    write_sample(roots[0], "s", {trace: "early"})
    write_sample(roots[1], "s", {trace: "late"})
    write_sample(roots[1], "t", {trace: "late"})
    evaluate(roots, [place / "oracles"], tmp_path / "v.duckdb")
    assert tables_of(tmp_path / "v.duckdb")["samples"] == [(trace, "s", "early"), (trace, "t", "late")]


# Bad input: the rest is evaluated, the exit code says so.


def test_a_corrupt_trace_is_a_row_with_its_error_and_the_rest_is_judged(place, plain, tmp_path):
    """O-58"""
    root = tmp_path / "dataset"
    for seeds in (range(3), range(3, 6)):
        with DatasetWriter(root) as writer:
            writer.add_scene(PACKAGE)
            for seed in seeds:
                writer.add(make_trace(PACKAGE, 40, seed))
    segment = root / "segments" / Dataset(root).records[0].segment
    chunk = next(segment.rglob("qpos/c/0/0"))
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[: len(whole) // 2])
    database = tmp_path / "v.duckdb"
    summary = evaluate([root], [place / "oracles"], database)
    assert (summary.judged, len(summary.trace_errors), summary.exit_code) == (3, 3, 3)
    assert all("state/qpos/c/0/0" in reason for reason in summary.trace_errors.values())
    rows = ask(
        database,
        "SELECT episode, status, status_error LIKE '%state/qpos/c/0/0%', v.outcome, e.outcome "
        "FROM traces JOIN verdicts v USING (trace_id) JOIN end_state e USING (trace_id) ORDER BY 1",
    )
    broken = [(episode, "error", True, "error", "error") for episode in range(3)]
    assert rows[:3] == broken
    assert [row[:2] for row in rows[3:]] == [(3, "ok"), (4, "ok"), (5, "ok")]
    sound = {r.trace_id for r in Dataset(root).records if r.metadata.episode >= 3}
    found = tables_of(database)
    for table in ("traces", "verdicts", "actions", "intervals", "end_state", "labels"):
        expected = [row for row in plain[table] if row[0] in sound]
        assert [row for row in found[table] if row[0] in sound] == expected
    # Mended, it is judged without being asked for.
    chunk.write_bytes(whole)
    again = evaluate([root], [place / "oracles"], database)
    assert (again.judged, again.skipped, again.exit_code) == (3, 3, 0)
    assert ask(database, "SELECT DISTINCT status, status_error FROM traces") == [("ok", None)]


def test_a_missing_scene_spoils_its_traces_and_no_others(place, tmp_path):
    root = tmp_path / "dataset"
    other = make_package(task="another")
    with DatasetWriter(root) as writer:
        for package in (PACKAGE, other):
            writer.add_scene(package)
            writer.add(make_trace(package, 40, 0))
    shutil.rmtree(root / "scenes" / other.digest)
    summary = evaluate([root], [place / "oracles"], tmp_path / "v.duckdb")
    assert (summary.judged, len(summary.trace_errors), summary.exit_code) == (1, 1, 3)
    rows = ask(tmp_path / "v.duckdb", "SELECT task, status FROM traces ORDER BY status")
    assert rows == [("another", "error"), (PACKAGE.scene.task, "ok")]


def test_states_that_are_not_finite_are_undetermined_and_never_guessed(place, tmp_path):
    sound = make_trace(PACKAGE, 40, 0)
    early, late = sound.states["qpos"].copy(), sound.states["qpos"].copy()
    early[5, 0] = np.nan  # before anything happened: the outcome is the same
    late[30:, columns(PACKAGE, "apple_1_joint")] = np.inf  # nobody knows what happened then
    root = written(tmp_path, [with_qpos(sound, early), with_qpos(sound, late)])
    summary = evaluate([root], [place / "oracles"], tmp_path / "v.duckdb")
    assert summary.exit_code == 0
    rows = ask(
        tmp_path / "v.duckdb",
        "SELECT undetermined_states, problems, v.outcome, e.outcome, e.at_end "
        "FROM traces JOIN verdicts v USING (trace_id) JOIN end_state e USING (trace_id) ORDER BY 1",
    )
    assert rows == [
        (1, ["state 5 is not finite (1 such states)"], "passed", "passed", "passed"),
        (10, ["state 30 is not finite (10 such states)"], "undetermined", "undetermined", "undetermined"),
    ]
    truths = ask(
        tmp_path / "v.duckdb",
        "SELECT DISTINCT first_state, last_state FROM intervals WHERE truth = 'undetermined' ORDER BY 1",
    )
    assert truths == [(5, 5), (30, 39)]


def test_a_reset_inside_a_trace_is_named_and_nothing_after_it_counts(place, tmp_path):
    trace = make_trace(PACKAGE, 40, 0)
    time = trace.states["time"].copy()
    time[34:] -= time[34]
    root = written(tmp_path, [dataclasses.replace(trace, states={**trace.states, "time": time})])
    evaluate([root], [place / "oracles"], tmp_path / "v.duckdb")
    rows = ask(
        tmp_path / "v.duckdb",
        "SELECT undetermined_states, problems[1], v.outcome, e.outcome, v.completed "
        "FROM traces JOIN verdicts v USING (trace_id) JOIN end_state e USING (trace_id)",
    )
    assert [(row[0], *row[2:]) for row in rows] == [(6, "undetermined", "undetermined", 2)]
    assert rows[0][1].startswith("simulation reset at state 34: time goes from 1.65 s to 0 s")


def test_the_number_of_states_may_be_one(place, tmp_path):
    root = written(tmp_path, [make_trace(PACKAGE, 1, 0), make_trace(PACKAGE, 2, 1)])
    summary = evaluate([root], [place / "oracles"], tmp_path / "v.duckdb")
    assert (summary.judged, summary.exit_code) == (2, 0)


def test_a_recording_that_broke_is_an_error_and_no_failed_policy(place, tmp_path):
    trace = make_trace(PACKAGE, 40, 1, ended="error", error="MujocoException: boom")
    summary = evaluate([written(tmp_path, [trace])], [place / "oracles"], tmp_path / "v.duckdb")
    assert summary.exit_code == 0
    rows = ask(
        tmp_path / "v.duckdb",
        "SELECT status, ended, v.outcome, v.error, e.outcome FROM traces "
        "JOIN verdicts v USING (trace_id) JOIN end_state e USING (trace_id)",
    )
    message = "recording ended in an error: MujocoException: boom"
    assert rows == [("ok", "error", "error", message, "error")]
    evidence = (
        "SELECT first_failed, reason, stopped_at, e.at_end FROM verdicts JOIN end_state e USING (trace_id)"
    )
    assert ask(tmp_path / "v.duckdb", evidence) == [(None, None, None, "undetermined")]
    assert ask(tmp_path / "v.duckdb", "SELECT count(*) FROM actions") == [(0,)]


def test_eq_active_and_other_components_do_not_disturb(place, tmp_path):
    """O-56: a component that the model has not, or that no predicate reads, is carried along."""
    trace = make_trace(PACKAGE, 40, 0)
    states = {**trace.states, "eq_active": np.ones((40, 2)), "userdata": np.zeros((40, 3))}
    root = written(tmp_path, [dataclasses.replace(trace, states=states)])
    evaluate([root], [place / "oracles"], tmp_path / "v.duckdb")
    assert ask(tmp_path / "v.duckdb", "SELECT outcome FROM verdicts") == [("passed",)]


def test_states_of_another_width_than_the_model_are_an_error_of_that_trace(place, tmp_path):
    trace = make_trace(PACKAGE, 40, 0)
    narrow = with_qpos(trace, trace.states["qpos"][:, :-1].copy())
    root = written(tmp_path, [narrow, make_trace(PACKAGE, 40, 2)])
    summary = evaluate([root], [place / "oracles"], tmp_path / "v.duckdb")
    assert (summary.judged, len(summary.trace_errors), summary.exit_code) == (1, 1, 3)
    assert "qpos" in next(iter(summary.trace_errors.values()))


@pytest.mark.parametrize(
    "overrides",
    [{"body_pos": {"cabinet_9": [0.0, 0.0, 0.0]}}, {"wings": {"a": [1.0]}}, {"body_pos": {"table": [0.0]}}],
)
def test_overrides_that_do_not_fit_are_errors_of_their_traces_only(place, tmp_path, overrides):
    traces = [make_trace(PACKAGE, 40, seed, overrides=overrides) for seed in (0, 4)]
    root = written(tmp_path, [*traces, make_trace(PACKAGE, 40, 2)])
    summary = evaluate([root], [place / "oracles"], tmp_path / "v.duckdb")
    assert (summary.judged, len(summary.trace_errors), summary.exit_code) == (1, 2, 3)


def typo() -> dict[str, Any]:
    document = copy.deepcopy(oracle_document())
    monitor = document["plan"][0]["actions"][1]["monitoring"][0]
    monitor["handle_as"]["arguments"][1] = "basket_1_contain_regoin"
    return document


def test_a_typo_in_an_oracle_is_named_with_its_path_and_gives_no_verdict(place, tmp_path):
    """O-05, O-61's kind: an unknown name is an error, never a constant False."""
    oracles = write_oracles(tmp_path / "oracles", typo())
    result = CliRunner().invoke(
        cli,
        ["evaluate", str(place / "dataset"), "--oracles", str(oracles), "--db", str(tmp_path / "v.duckdb")],
    )
    assert result.exit_code == 3
    assert "plan.0.actions.1.monitoring.0.handle_as.arguments.1" in result.stderr
    assert "did you mean 'basket_1_contain_region'?" in result.stderr
    assert f"{N} traces judged" in result.stdout
    assert ask(tmp_path / "v.duckdb", "SELECT count(*) FROM verdicts") == [(0,)]
    assert ask(tmp_path / "v.duckdb", "SELECT count(*) FROM end_state") == [(N,)]
    problems = ask(tmp_path / "v.duckdb", "SELECT message FROM problems")
    assert len(problems) == 1
    assert "basket_1_contain_regoin" in problems[0][0]


@pytest.mark.parametrize("text", ["", "{", "not json", "[1, 2]", '{"plan": 3}', "\xff"])
def test_an_oracle_file_that_is_none_is_named_and_the_rest_goes_on(place, plain, tmp_path, text):
    oracles = Path(shutil.copytree(place / "oracles", tmp_path / "oracles"))
    (oracles / "broken.json").write_bytes(text.encode("latin-1"))
    summary = evaluate([place / "dataset"], [oracles], tmp_path / "v.duckdb")
    assert (summary.judged, summary.exit_code) == (N, 3)
    assert any("broken.json" in message for _, message in summary.problems)
    assert tables_of(tmp_path / "v.duckdb") == plain


def test_missing_paths_and_empty_folders_are_named_and_the_rest_goes_on(place, plain, tmp_path):
    for name in ("empty", "bare"):
        (tmp_path / name).mkdir()
    summary = evaluate(
        [place / "dataset", tmp_path / "nowhere", tmp_path / "bare"],
        [place / "oracles", tmp_path / "none.json", tmp_path / "empty"],
        tmp_path / "v.duckdb",
    )
    assert summary.exit_code == 3
    messages = "\n".join(message for _, message in summary.problems)
    assert f"{tmp_path / 'nowhere'}: not a dataset" in messages
    assert f"{tmp_path / 'none.json'}: no such file or folder" in messages
    assert f"{tmp_path / 'empty'}: no .json file in this folder" in messages
    assert f"{tmp_path / 'bare'}: not a dataset" in messages
    assert tables_of(tmp_path / "v.duckdb") == plain


def test_an_oracle_for_an_unknown_task_judges_nothing(place, tmp_path):
    document = {**oracle_document(), "instruction": "do something else"}
    oracles = write_oracles(tmp_path / "oracles", document, name="something_else")
    summary = evaluate([place / "dataset"], [oracles], tmp_path / "v.duckdb")
    assert summary.judged == N
    assert ask(tmp_path / "v.duckdb", "SELECT count(*) FROM verdicts") == [(0,)]


def test_a_goal_that_names_what_the_scene_has_not_is_a_problem_and_not_a_failure(tmp_path, place):
    text = "(define (problem p) (:goal (And (In apple_1 basket_2_contain_region))))"
    package = make_package(bddl=text)
    with DatasetWriter(tmp_path / "dataset") as writer:
        writer.add_scene(package)
        writer.add(make_trace(package, 40, 0))
    summary = evaluate([tmp_path / "dataset"], [place / "oracles"], tmp_path / "v.duckdb")
    assert summary.exit_code == 3
    assert "basket_2_contain_region" in str(summary.problems)
    assert ask(tmp_path / "v.duckdb", "SELECT count(*) FROM end_state") == [(0,)]
    assert ask(tmp_path / "v.duckdb", "SELECT outcome FROM verdicts") == [("passed",)]


def test_a_truncated_index_is_named_and_other_segments_are_judged(place, tmp_path):
    root = make_dataset(tmp_path, 3)
    bad = next(root.rglob("episodes.parquet"))
    with DatasetWriter(root) as writer:
        writer.add(make_trace(PACKAGE, 40, 3))
    bad.write_bytes(bad.read_bytes()[:-10])
    summary = evaluate([root], [place / "oracles"], tmp_path / "v.duckdb")
    assert (summary.judged, summary.exit_code) == (1, 3)
    assert str(bad) in str(summary.problems)


def test_an_oracle_that_is_nearly_for_a_task_is_pointed_out(place, tmp_path):
    """A slip in the instruction, or a file that was named alone; not what else is in a folder."""
    documents = {path: json.loads(path.read_text()) for path in (place / "oracles").rglob("*.json")}
    [(path, oracle)] = [(path, text) for path, text in documents.items() if "plan" in text]
    folder = tmp_path / "slip"
    shutil.copytree(place / "oracles", folder)
    (folder / path.relative_to(place / "oracles")).unlink()
    slip = folder / "slip.json"
    instruction = oracle["instruction"]
    slip.write_text(json.dumps({**oracle, "instruction": instruction[:-2] + instruction[-1]}))
    summary = evaluate([place / "dataset"], [folder], tmp_path / "a.duckdb")
    assert summary.exit_code == 3
    assert f"did you mean {instruction.casefold()!r}" in dict(summary.problems)[str(slip)]
    slip.write_text(json.dumps({**oracle, "instruction": "water the plants"}))
    assert evaluate([place / "dataset"], [folder], tmp_path / "b.duckdb").exit_code == 0
    alone = evaluate([place / "dataset"], [slip, place / "oracles"], tmp_path / "c.duckdb")
    assert "judges no trace: none has the instruction 'water the plants'" in dict(alone.problems)[str(slip)]


def test_without_any_dataset_no_database_is_made(place, tmp_path):
    summary = evaluate([tmp_path / "nowhere"], [place / "oracles"], tmp_path / "v.duckdb")
    assert summary.exit_code == 3
    assert not (tmp_path / "v.duckdb").exists()


def test_an_empty_dataset_is_no_error(place, tmp_path):
    DatasetWriter(tmp_path / "dataset").close()
    summary = evaluate([tmp_path / "dataset"], [place / "oracles"], tmp_path / "v.duckdb")
    assert (summary.judged, summary.skipped, summary.exit_code) == (0, 0, 0)


@pytest.mark.parametrize("bad", [{"workers": 0}, {"shard_traces": 0}, {"options": Options(hold=0)}])
def test_numbers_out_of_range_are_wrong_use(place, tmp_path, bad):
    with pytest.raises(UsageError):
        evaluate([place / "dataset"], [], tmp_path / "v.duckdb", **bad)


def test_a_database_that_is_none_is_refused_before_anything_is_judged(place, tmp_path):
    (tmp_path / "v.duckdb").write_text("hello")
    with pytest.raises(DatabaseError):
        evaluate([place / "dataset"], [], tmp_path / "v.duckdb")


def test_equal_states_of_all_traces_are_noticed_in_the_rows(place, tmp_path):
    """O-18: five episodes that claim different starts from bit-identical first states."""
    states = rest_states(PACKAGE, 10)
    traces = [dataclasses.replace(make_trace(PACKAGE, 10, seed), states=states) for seed in range(5)]
    evaluate([written(tmp_path, traces)], [], tmp_path / "v.duckdb")
    rows = ask(tmp_path / "v.duckdb", "SELECT count(*), count(DISTINCT initial_state) FROM traces")
    assert rows == [(5, 1)]


def test_another_hold_is_judged_again_and_replaces_the_verdicts(place, tmp_path):
    database = tmp_path / "v.duckdb"
    for hold in (10, 3):
        summary = evaluate([place / "dataset"], [place / "oracles"], database, options=Options(hold=hold))
        assert (summary.judged, summary.skipped) == (N, 0)
        assert ask(database, "SELECT DISTINCT hold FROM verdicts") == [(hold,)]


def monitor(function: str, *arguments: str, **more: object) -> dict[str, Any]:
    return {"oracle_id": function, "handle_as": {"function": function, "arguments": list(arguments)}, **more}


@pytest.mark.parametrize("oracle", ["sequential", "any_order", "never", "negated"])
def test_verdicts_alone_are_the_same_verdicts(place, tmp_path, oracle):
    """What is left out of a conjunction never decides it; an invariant and a negation see all states."""
    document = oracle_document()
    if oracle == "any_order":
        document["execution_mode"] = "any_order"
    if oracle == "never":
        document["never"] = [monitor("grasped", "brick_1"), monitor("released", "brick_1", negate=True)]
    if oracle == "negated":
        action = document["plan"][0]["actions"][0]
        action["monitoring"].append(monitor("grasped", "brick_1", negate=True))
    path = tmp_path / "oracle.json"
    path.write_text(json.dumps(document))
    for name, intervals in (("whole", True), ("alone", False)):
        options = Options(intervals=intervals)
        summary = evaluate([place / "dataset"], [path], tmp_path / f"{name}.duckdb", options=options)
        assert (summary.judged, summary.exit_code) == (N, 0), summary
    alone, whole = (tables_of(tmp_path / f"{name}.duckdb") for name in ("alone", "whole"))
    assert alone["intervals"] == []
    assert without_intervals(alone) == without_intervals(whole)


@pytest.mark.parametrize("changed", [{"hold": 3}, {"order": "strict"}])
def test_truth_intervals_that_are_stored_stay_known(place, tmp_path, plain, changed):
    """Judged again without them, with other options, a trace still has them: no third time."""
    database = tmp_path / "v.duckdb"
    arguments = [place / "dataset"], [place / "oracles"], database
    evaluate(*arguments)
    assert evaluate(*arguments, options=Options(**changed, intervals=False)).judged == N
    assert tables_of(database)["intervals"] == plain["intervals"]
    assert ask(database, "SELECT DISTINCT intervals FROM end_state") == [(True,)]
    assert ask(database, "SELECT DISTINCT intervals FROM verdicts") == [(True,)]
    assert evaluate(*arguments, options=Options(**changed)).judged == 0


def test_truth_intervals_are_added_when_they_are_asked_for(place, tmp_path, plain):
    def run(*, intervals: bool) -> tuple[int, int]:
        options = Options(intervals=intervals)
        arguments = [place / "dataset"], [place / "oracles"], tmp_path / "v.duckdb"
        summary = evaluate(*arguments, options=options)
        return summary.judged, summary.skipped

    assert run(intervals=False) == (N, 0)
    assert run(intervals=False) == (0, N)
    assert run(intervals=True) == (N, 0)
    assert tables_of(tmp_path / "v.duckdb") == plain
    assert run(intervals=False) == (0, N)
    assert tables_of(tmp_path / "v.duckdb") == plain
    with pytest.raises(UsageError, match="truth intervals"):
        evaluate([], [], tmp_path / "v.duckdb", options=Options(rules=True, intervals=False))
