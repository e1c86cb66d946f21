"""robosuite's files: the human demonstrations in its wheel, one of version 1.5, and its own environment."""

from __future__ import annotations

from pathlib import Path

import duckdb
import h5py
import numpy as np
import pytest

from mango_trace.evaluation import evaluate
from mango_trace.store import Dataset
from recorder.importing import import_files

pytestmark = pytest.mark.libero

VERSION_1_5 = Path(__file__).parent / "data" / "robosuite-1.5.1-lift.hdf5"


def demonstrations():
    import robosuite

    return Path(robosuite.__file__).parent / "models" / "assets" / "demonstrations"


def _judge(folder, *files):
    report = import_files(files, folder / "out")
    summary = evaluate([folder / "out"], [], folder / "v.duckdb")
    assert summary.problems == []
    with duckdb.connect(str(folder / "v.duckdb"), read_only=True) as con:
        rows = con.execute(
            "SELECT t.task, t.episode, e.outcome, e.first_success, t.n_states, t.fidelity, t.problems"
            " FROM traces t LEFT JOIN end_state e USING (trace_id) ORDER BY ALL"
        ).fetchall()
    return report, rows


def test_human_demonstrations_of_lift_end_in_success(tmp_path):
    file = demonstrations() / "lift" / "demo.hdf5"
    report, rows = _judge(tmp_path, file)
    assert report.files[0].imported == 3
    assert [row[:5] for row in rows] == [
        ("Lift", 1, "passed", 471, 483),
        ("Lift", 2, "passed", 499, 511),
        ("Lift", 3, "passed", 381, 393),
    ]
    with h5py.File(file) as opened:  # cube height in the file itself, above table and margin
        for _, number, _, first, *_ in rows:
            height = opened[f"data/demo_{number}/states"][:, 1 + 9 + 2]
            assert first == int(np.argmax(height > 0.8 + 0.04))


def test_two_arms_have_two_hands_and_no_goal_that_is_known(tmp_path):
    report, rows = _judge(tmp_path, demonstrations() / "handover" / "panda_panda" / "demo.hdf5")
    assert report.files[0].imported == 7
    assert [row[:3] for row in rows] == [("TwoArmHandover", number, None) for number in range(7)]
    dataset = Dataset(tmp_path / "out")
    for record in dataset.records:  # hammers differ in shape, so that no scene is shared
        scene = dataset.scene(record.scene).scene
        assert [hand.name for hand in scene.hands] == ["robot0_hand", "robot1_hand"]
        assert [item.name for item in scene.objects] == ["hammer"]
    assert len({record.scene for record in dataset.records}) == 7


def test_a_file_of_version_1_0_with_its_model_beside_it(tmp_path):
    """Numbers that were written as Python lists are a logged migration."""
    report, rows = _judge(tmp_path, demonstrations() / "wipe" / "panda" / "demo.hdf5")
    assert report.files[0].imported == 1
    assert rows[0][:3] == ("Wipe", 1, None)
    assert "model migrated: wrote pos of 100 <site> without brackets" in rows[0][-1]


def test_version_1_5(tmp_path):
    """Recorded by 1.5.1: its own check was first true after step 33 of the first run, never else."""
    report, rows = _judge(tmp_path, VERSION_1_5)
    assert report.exit_code == 0
    assert [row[:4] for row in rows] == [("Lift", 1, "passed", 34), ("Lift", 2, "undetermined", None)]
    assert {row[5] for row in rows} == {"positions"}  # its mocap bodies are in no flattened state
    (scene,) = Dataset(tmp_path / "out").scene(Dataset(tmp_path / "out").records[0].scene).scene.hands
    assert scene.name == "robot0_right_hand"
    assert Dataset(tmp_path / "out").records[0].metadata.versions == {"robosuite": "1.5.1"}


def _lift_env():
    import libero.libero.envs  # noqa: F401  mends robosuite 1.4.0, which does not know newer MuJoCo
    import robosuite

    return robosuite.make(
        "Lift",
        robots="Panda",
        controller_configs=robosuite.load_controller_config(default_controller="OSC_POSE"),
        has_renderer=False,
        has_offscreen_renderer=False,
        use_camera_obs=False,
        ignore_done=True,
        control_freq=20,
    )


def _lift(env, obs, steps):
    """Go to the cube, grip it, lift it."""
    gripped = 0
    for _ in range(steps):
        offset = obs["cube_pos"] - obs["robot0_eef_pos"]
        action = np.zeros(7)
        if gripped > 10:
            action[2], action[6] = 0.6, 1
        elif gripped or np.linalg.norm(offset) < 0.01:
            action[6], gripped = 1, gripped + 1
        else:
            action[:3], action[6] = np.clip(20 * offset, -1, 1), -1
            if np.linalg.norm(offset[:2]) > 0.01:
                action[2] = np.clip(20 * (offset[2] + 0.08), -1, 1)
        obs, *_ = env.step(action)


def test_a_recorded_run_agrees_with_robosuites_own_check(tmp_path):
    """Its check after set state and forward, at every state, bit for bit."""
    from recorder import Recorder

    env = _lift_env()
    with Recorder(tmp_path / "out", policy="scripted") as recorder:
        wrapped = recorder.wrap(env)
        _lift(wrapped, wrapped.reset(), 120)
        wrapped.finish_episode()
    (record,) = Dataset(tmp_path / "out").records
    trace = Dataset(tmp_path / "out").load(record)
    expected = []
    for state in range(trace.n_states):
        flat = np.concatenate([trace.states[name][state] for name in ("time", "qpos", "qvel")])
        env.sim.set_state_from_flattened(flat)
        env.sim.forward()
        expected.append(bool(env._check_success()))
    table_top = env.sim.model.site_name2id("table_top")
    assert env.sim.data.site_xpos[table_top][2] == env.model.mujoco_arena.table_offset[2]
    env.close()
    assert any(expected)
    assert not all(expected)
    assert evaluate([tmp_path / "out"], [], tmp_path / "v.duckdb").exit_code == 0
    with duckdb.connect(str(tmp_path / "v.duckdb"), read_only=True) as con:
        rows = con.execute("SELECT first_state, last_state, truth FROM intervals ORDER BY 1").fetchall()
        (outcome,) = con.execute("SELECT outcome FROM end_state").fetchone()
    found = [truth == "true" for first, last, truth in rows for _ in range(first, last + 1)]
    assert found == expected
    assert outcome == "passed"
    assert record.live_success is True


def test_the_same_run_in_a_file_and_recorded(tmp_path):
    """robosuite's own layout of a recorded run gives the same verdict at every shared state."""
    from recorder import Recorder

    env = _lift_env()
    with Recorder(tmp_path / "native") as recorder:
        wrapped = recorder.wrap(env)
        obs = wrapped.reset()
        xml = env.model.get_xml()
        _lift(wrapped, obs, 100)
        wrapped.finish_episode()
    env.close()
    dataset = Dataset(tmp_path / "native")
    trace = dataset.load(dataset.records[0])
    with h5py.File(tmp_path / "run.hdf5", "w") as file:
        data = file.create_group("data")
        data.attrs["env"] = "Lift"
        demo = data.create_group("demo_1")
        demo.attrs["model_file"] = xml
        flat = np.concatenate([trace.states[name] for name in ("time", "qpos", "qvel")], axis=1)
        demo["states"], demo["actions"] = flat[:-1], trace.action
    import_files([tmp_path / "run.hdf5"], tmp_path / "imported")
    evaluate([tmp_path / "native", tmp_path / "imported"], [], tmp_path / "v.duckdb")
    with duckdb.connect(str(tmp_path / "v.duckdb"), read_only=True) as con:
        rows = con.execute(
            "SELECT t.dataset, i.first_state, i.truth FROM intervals i JOIN traces t USING (trace_id)"
            " WHERE i.truth <> 'undetermined' ORDER BY 2"
        ).fetchall()
    native, imported = ([row[1:] for row in rows if row[0].endswith(end)] for end in ("native", "imported"))
    assert native == imported
    assert len(native) > 1


@pytest.mark.slow
def test_playing_the_actions_again_diverges():
    """Why verdicts come from states: stepping the stored actions soon leaves the stored states."""
    env = _lift_env()
    env.reset()
    with h5py.File(demonstrations() / "lift" / "demo.hdf5") as file:
        demo = file["data/demo_1"]
        states, actions, xml = demo["states"][()], demo["actions"][()], demo.attrs["model_file"]
    env.reset_from_xml_string(env.edit_model_xml(xml))
    env.sim.reset()
    env.sim.set_state_from_flattened(states[0])
    env.sim.forward()
    drift = 0.0
    for state, action in zip(states[1:], actions, strict=False):
        env.step(action)
        drift = max(drift, float(np.abs(env.sim.get_state().flatten()[1:17] - state[1:17]).max()))
    env.close()
    assert drift > 1e-3


def test_o_23_the_actions_do_not_decide(tmp_path):
    """Stored states that end in success, with actions that would end elsewhere: passed, as before."""
    other = tmp_path / "other.hdf5"
    other.write_bytes((demonstrations() / "lift" / "demo.hdf5").read_bytes())
    with h5py.File(other, "a") as file:
        for demo in file["data"].values():
            demo["actions"][...] = 0.2
    _, rows = _judge(tmp_path, other)
    assert [(row[2], row[3]) for row in rows] == [("passed", 471), ("passed", 499), ("passed", 381)]
