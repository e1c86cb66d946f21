"""The recorder on real LIBERO rollouts."""

from __future__ import annotations

import dataclasses

import duckdb
import numpy as np
import pytest

from mango_trace.evaluation import evaluate
from mango_trace.shipped import shipped
from mango_trace.store import Dataset, verify_dataset
from tests.conftest import SUITE, TASK

pytestmark = pytest.mark.libero


def _run(root, fault):
    dataset = Dataset(root)
    record = next(r for r in dataset.records if r.metadata.fault == fault)
    return dataset.load(record), record


def test_every_state_precedes_its_action_and_one_more_follows(drawer_runs):
    trace, record = _run(drawer_runs, None)
    assert trace.n_states == len(trace.action) + 1 == record.n_steps + 1
    assert np.allclose(np.diff(trace.time), 0.05)
    for name in ("qpos", "qvel", "qacc_warmstart", "ctrl", "qfrc_applied", "xfrc_applied"):
        assert len(trace.states[name]) == trace.n_states
    assert trace.metadata.versions["mujoco"]
    assert trace.metadata.overrides["body_pos"].keys() == {"white_cabinet_1_main", "wine_rack_1_main"}


def test_restoring_any_state_and_stepping_the_actions_repeats_the_rest_bit_for_bit(drawer_runs):
    from recorder.adapters.libero import LiberoAdapter, make_env, tasks_of
    from recorder.adapters.libero_restore import restore_state
    from recorder.capture import StateReader

    trace, _ = _run(drawer_runs, None)
    adapter = LiberoAdapter()
    env = make_env(tasks_of(SUITE)[TASK], 10_000)
    try:
        for index in (0, 10, 75, 140):
            restore_state(env, trace, index, adapter)
            for state in range(index, min(index + 40, trace.n_states - 1)):
                env.step(trace.action[state])
                model, data = adapter.physics(env)
                reader = StateReader(model)
                row = np.empty(reader.width)
                reader.read(data, row)
                for name, values in reader.split(row[None]).items():
                    assert np.array_equal(values[0], trace.states[name][state + 1]), (index, state, name)
    finally:
        env.close()


def test_an_inexact_trace_cannot_be_continued(drawer_runs):
    from mango_trace.errors import UsageError
    from recorder.adapters.libero import LiberoAdapter
    from recorder.adapters.libero_restore import restore_state

    trace, _ = _run(drawer_runs, None)
    physics = trace.metadata.model_copy(update={"fidelity": "physics"})
    with pytest.raises(UsageError, match="integration"):
        restore_state(None, dataclasses.replace(trace, metadata=physics), 0, LiberoAdapter())


def test_recording_again_elsewhere_gives_the_same_traces(drawer_runs, tmp_path):
    from recorder.campaign import record_all
    from recorder.specs import EpisodeSpec

    spec = EpisodeSpec(SUITE, TASK, "scripted", 0, 0, 0, 520, 20, None)
    list(record_all(tmp_path / "again", [spec], workers=1))
    again = {record.trace_id for record in Dataset(tmp_path / "again").records}
    assert again < {record.trace_id for record in Dataset(drawer_runs).records}


def test_replaying_the_actions_gives_the_states_again(drawer_runs, tmp_path):
    from click.testing import CliRunner

    from recorder.cli import record

    result = CliRunner().invoke(
        record,
        [
            *(SUITE, "--task", str(TASK), "--policy", "replay"),
            *("--source", str(drawer_runs), "--out", str(tmp_path / "replayed")),
        ],
    )
    assert result.exit_code == 0, result.output
    for fault in (None, "closes_before_placing@1"):
        original, source = _run(drawer_runs, fault)
        dataset = Dataset(tmp_path / "replayed")
        (found,) = (r for r in dataset.records if r.metadata.replayed == source.trace_id)
        replayed = dataset.load(found)
        assert np.array_equal(replayed.states["qpos"], original.states["qpos"])
        assert np.array_equal(replayed.action, original.action)
    # The runs are equally long: only their source tells them apart when the replay is resumed.
    resumed = CliRunner().invoke(
        record,
        [
            *(SUITE, "--task", str(TASK), "--policy", "replay"),
            *("--source", str(drawer_runs), "--out", str(tmp_path / "replayed")),
        ],
    )
    assert "0 episodes recorded" in resumed.output
    assert "2 were there already" in resumed.output


def test_an_episode_that_is_there_is_not_recorded_again(drawer_runs):
    from recorder.specs import EpisodeSpec, missing

    spec = EpisodeSpec(SUITE, TASK, "scripted", 0, 0, 0, 520, 20, None)
    records = Dataset(drawer_runs).records
    assert missing([spec], records) == []
    assert missing([dataclasses.replace(spec, episode=1)], records) != []


def test_the_wrapper_changes_nothing_and_finds_everything_out(tmp_path):
    """The loop that LIBERO users have, with three lines more."""
    from recorder import Recorder
    from recorder.adapters.libero import DUMMY_ACTION, make_env, tasks_of

    task = tasks_of(SUITE)[TASK]
    actions = [np.array(DUMMY_ACTION)] * 5 + [np.array([0.3, 0, -0.2, 0, 0, 0.1, -1.0])] * 7

    def loop(env):
        rewards = []
        for episode in range(2):
            env.seed(7)
            env.reset()
            env.set_init_state(task.init_states()[episode + 4])
            for action in actions:
                _, reward, done, _ = env.step(action)
                rewards.append((reward, done, env.sim.data.qpos.copy()))
        return rewards

    bare = make_env(task, 1000)
    plain = loop(bare)
    bare.close()
    with Recorder(tmp_path / "runs", policy="mine", policy_version="3") as recorder:
        env = recorder.wrap(make_env(task, 1000))
        recorded = loop(env)
        env.close()
        again = recorder.wrap(make_env(task, 1000))
        again.reset()
        again.step(np.zeros(7))
        again.close()
    # LIBERO's own reset is not repeatable for this task, so only the first episode can be compared.
    for (reward, done, qpos), (reward_2, done_2, qpos_2) in zip(plain[:12], recorded[:12], strict=True):
        assert (reward, done) == (reward_2, done_2)
        assert np.array_equal(qpos, qpos_2)

    records = Dataset(tmp_path / "runs").records
    assert [r.metadata.init_state_id for r in records] == [4, 5, None]
    assert [r.metadata.episode for r in records] == [0, 1, 2]
    assert [r.metadata.warmup_steps for r in records] == [5, 5, 0]
    assert {r.metadata.task_index for r in records} == {TASK}
    assert {(r.metadata.policy, r.metadata.policy_version) for r in records} == {("mine", "3")}
    assert all(check.problem is None for check in verify_dataset(Dataset(tmp_path / "runs")))


def test_a_policy_that_breaks_is_an_error_and_no_failure(tmp_path):
    from recorder import Recorder
    from recorder.adapters.libero import make_env, tasks_of

    env = make_env(tasks_of(SUITE)[TASK], 1000)

    def loop():
        with Recorder(tmp_path / "r") as recorder:
            recorded = recorder.wrap(env)
            recorded.reset()
            recorded.step(np.zeros(7))
            raise RuntimeError("lost the server")

    with pytest.raises(RuntimeError, match="lost the server"):
        loop()
    env.close()
    (record,) = Dataset(tmp_path / "r").records
    assert (record.metadata.ended, record.metadata.error) == ("error", "RuntimeError: lost the server")
    evaluate([tmp_path / "r"], [], tmp_path / "v.duckdb")
    con = duckdb.connect(str(tmp_path / "v.duckdb"))
    assert con.sql("SELECT outcome FROM end_state").fetchall() == [("error",)]
    con.close()


def test_success_passes_and_a_fault_is_found_where_it_was_put(drawer_runs, tmp_path):
    summary = evaluate([drawer_runs], [shipped("oracles")], tmp_path / "v.duckdb")
    assert summary.exit_code == 0
    con = duckdb.connect(str(tmp_path / "v.duckdb"))
    rows = con.sql(
        "SELECT t.fault, v.outcome, e.outcome, t.live_success, v.first_failed_action, l.action_id, "
        "l.parameters FROM traces t JOIN verdicts v USING (trace_id) JOIN end_state e USING (trace_id) "
        "LEFT JOIN labels l USING (trace_id) ORDER BY t.fault NULLS FIRST"
    ).fetchall()
    con.close()
    place = "place_in(akita_black_bowl_1, white_cabinet_1_bottom_region)"
    assert rows[0] == (None, "passed", "passed", True, None, None, None)
    assert rows[1][:5] == ("closes_before_placing@1", "failed", "failed", False, place)
    assert f"{rows[1][5]}({', '.join(rows[1][6])})" == place
