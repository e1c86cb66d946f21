"""Readers of folders and NPZ files: RoboCasa's extras, states by component, LIBERO's initial states."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import signal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mango_trace.evaluation import evaluate
from mango_trace.store import Dataset
from recorder.importing import import_files, run
from recorder.importing.run import _import_one
from tests.recorder.importing.lift_files import NQ, lift_states, lift_xml

LOW, HIGH = 0.82, 0.85
ORACLE = {
    "instruction": "raise the cube",
    "execution_mode": "sequential",
    "plan": [
        {
            "step": 1,
            "instruction": "raise the cube",
            "execution_mode": "sequential",
            "actions": [
                {
                    "action_id": "raise",
                    "parameters": ["cube"],
                    "monitoring": [
                        {
                            "oracle_id": "raised",
                            "handle_as": {"function": "raised", "arguments": ["cube", "table_top", 0.04]},
                        }
                    ],
                }
            ],
        }
    ],
}


def _outcomes(folder):
    (folder / "oracle.json").write_text(json.dumps(ORACLE))
    assert evaluate([folder / "out"], [folder / "oracle.json"], folder / "v.duckdb").problems == []
    with duckdb.connect(str(folder / "v.duckdb"), read_only=True) as con:
        return con.execute(
            "SELECT t.episode, v.outcome, v.passed_at FROM traces t JOIN verdicts v USING (trace_id)"
            " ORDER BY 1"
        ).fetchall()


def _kitchen(root, heights):
    for number, values in heights.items():
        folder = root / "extras" / f"episode_{number:06d}"
        folder.mkdir(parents=True)
        np.savez_compressed(folder / "states.npz", states=lift_states(values))
        with gzip.open(folder / "model.xml.gz", "wb") as file:
            file.write(lift_xml().encode())
        (folder / "ep_meta.json").write_text(json.dumps({"lang": "Raise the cube"}))
        frames = root / "data" / "chunk-000" / f"episode_{number:06d}.parquet"
        frames.parent.mkdir(parents=True, exist_ok=True)
        actions = [[float(number)] * 12 for _ in values]
        table = pa.table({"action": pa.array(actions), "next.reward": pa.array([0.0] * len(values))})
        pq.write_table(table, frames)
    meta = {"env_args": {"env_name": "PnPCounterToSink", "env_version": "1.5.0"}}
    (root / "extras" / "dataset_meta.json").write_text(json.dumps(meta))
    return root


def test_robocasas_extras(tmp_path):
    root = _kitchen(tmp_path / "lerobot", {0: [LOW, HIGH, HIGH], 2: [LOW, LOW], 10: [LOW, LOW, HIGH]})
    report = import_files([root], tmp_path / "out")
    assert (report.exit_code, report.files[0].imported) == (0, 3)
    assert _outcomes(tmp_path) == [(0, "passed", 1), (2, "undetermined", None), (10, "passed", 2)]
    dataset = Dataset(tmp_path / "out")
    for record in dataset.records:
        metadata = record.metadata
        assert (metadata.benchmark, metadata.task) == ("robocasa", "PnPCounterToSink")
        assert metadata.instruction == "Raise the cube"
        assert metadata.source_label is False  # their rewards are zeros, whatever happened
        assert metadata.versions == {"robosuite": "1.5.0"}
        assert (dataset.load(record).action == metadata.episode).all()


def _killed_by_episode_2(job, **rest):
    """Import an episode, unless it is this one: it kills the process each time; another one does once."""
    marker = rest["out"].parent / "killed"
    if job.key.endswith("_000002") or (job.key.endswith("_000001") and not marker.exists()):
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return _import_one(job, **rest)


def test_an_episode_that_kills_its_process_is_an_error_and_the_others_are_imported(tmp_path, monkeypatch):
    root = _kitchen(tmp_path / "lerobot", {number: [LOW, HIGH, HIGH] for number in range(5)})
    monkeypatch.setattr(run, "_import_one", _killed_by_episode_2)
    report = import_files([root], tmp_path / "out", workers=2)
    assert (report.exit_code, report.files[0].imported) == (3, 4)
    assert list(report.files[0].errors) == ["episode_000002"]
    assert "killed, twice" in report.files[0].errors["episode_000002"]
    assert {record.metadata.episode for record in Dataset(tmp_path / "out").records} == {0, 1, 3, 4}
    monkeypatch.undo()
    assert import_files([root], tmp_path / "out", workers=2).exit_code == 0
    assert {record.metadata.episode for record in Dataset(tmp_path / "out").records} == set(range(5))


def test_robocasas_extras_that_are_broken_are_rows(tmp_path):
    root = _kitchen(tmp_path / "lerobot", {number: [LOW, HIGH, HIGH] for number in range(5)})
    extras = root / "extras"
    (extras / "episode_000001" / "states.npz").write_bytes(b"PK")
    (extras / "episode_000002" / "model.xml.gz").write_bytes(gzip.compress(b"x" * 1000)[:20])
    np.savez(extras / "episode_000003" / "states.npz", states=np.array([{}], dtype=object))
    report = import_files([root], tmp_path / "out")
    assert (report.exit_code, report.files[0].imported) == (3, 2)
    assert set(report.files[0].errors) == {"episode_000001", "episode_000002", "episode_000003"}
    assert "without unpickling" in report.files[0].errors["episode_000003"]
    assert len(Dataset(tmp_path / "out").records) == 5


def test_states_by_component(tmp_path):
    """Positions alone suffice for judging; what they do not suffice for is the fidelity's to say."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for number, heights in ((2, [LOW, HIGH, HIGH]), (10, [LOW, LOW, LOW])):
        states = lift_states(heights)
        arrays = {"time": states[:, 0], "qpos": states[:, 1 : 1 + NQ], "instruction": "raise the cube"}
        if number == 2:
            arrays["qvel"] = states[:, 1 + NQ :]
        np.savez(folder / f"traj_{number}.npz", model=lift_xml(), actions=np.zeros((2, 3)), **arrays)
    report = import_files([folder], tmp_path / "out")
    assert (report.exit_code, report.files[0].imported) == (0, 2)
    assert _outcomes(tmp_path) == [(2, "passed", 1), (10, "failed", None)]
    fidelity = {r.metadata.episode: r.metadata.fidelity for r in Dataset(tmp_path / "out").records}
    assert fidelity == {2: "physics", 10: "positions"}


def test_without_velocities_nothing_is_known_of_rest(tmp_path):
    from mango_trace.predicates.catalogue import CATALOGUE
    from mango_trace.signals import SceneKinematics
    from mango_trace.truth import NAMES

    states = lift_states([LOW, LOW])
    np.savez(tmp_path / "a.npz", model=lift_xml(), time=states[:, 0], qpos=states[:, 1 : 1 + NQ])
    import_files([tmp_path / "a.npz"], tmp_path / "out")
    dataset = Dataset(tmp_path / "out")
    trace = dataset.load(dataset.records[0])
    signals = SceneKinematics(dataset.scene(trace.scene)).signals(trace.signals_input)
    truth = CATALOGUE["at_rest"].evaluate(signals, "cube", 0.02, 0.5)
    assert [NAMES[value] for value in truth] == ["undetermined"] * 2


@pytest.mark.parametrize("lacking", ["time", "qpos", "model"])
def test_components_that_are_needed(tmp_path, lacking):
    states = lift_states([LOW, LOW])
    arrays = {"time": states[:, 0], "qpos": states[:, 1 : 1 + NQ], "model": np.array(lift_xml())}
    np.savez(tmp_path / "a_0.npz", **{name: values for name, values in arrays.items() if name != lacking})
    report = import_files([tmp_path / "a_0.npz"], tmp_path / "out")
    assert lacking in report.files[0].errors["a_0_0"]


@pytest.mark.libero
def test_initial_states(tmp_path):
    """Each is an episode of one state, whose premises can be looked at; no pickle is run."""
    from recorder.adapters.libero import tasks_of

    task = tasks_of("libero_10")[3]
    states = task.init_states()
    file = tmp_path / "libero_10" / f"{task.name}.pruned_init"
    file.parent.mkdir()
    file.write_bytes(pickle.dumps(states, protocol=2))
    report = import_files([file], tmp_path / "out")
    assert (report.exit_code, report.files[0].imported) == (0, len(states))
    dataset = Dataset(tmp_path / "out")
    for record in dataset.records:
        trace = dataset.load(record)
        assert record.n_states == 1
        nq = trace.states["qpos"].shape[1]
        assert np.array_equal(trace.states["qpos"][0], states[record.metadata.init_state_id, 1 : 1 + nq])
    assert {record.metadata.task_index for record in dataset.records} == {3}
    assert evaluate([tmp_path / "out"], [], tmp_path / "v.duckdb").exit_code == 0
