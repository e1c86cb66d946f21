"""Poses over arrays are those of MuJoCo's kinematics."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from mango_trace.signals import SceneKinematics, TraceStates
from mango_trace.signals import poses as poses_module
from mango_trace.signals.poses import POSE_FIELDS, BatchPoses, computable
from tests.scene.libero_scenes import DEFAULT_TASKS, libero_scene
from tests.synthetic import make_package, make_trace

MACHINE = """
<mujoco>
  <worldbody>
    <site name="post" pos="0.1 0.2 0.3" euler="10 20 30"/>
    <body name="still" pos="0.3 0 1" euler="0 40 0">
      <body name="inner" pos="0 0.1 0" euler="5 0 7"><geom size="0.1"/><site name="mark" pos="1 2 3"/></body>
    </body>
    <body name="guided" mocap="true" pos="1 1 1"><geom size="0.1"/></body>
    <body name="turning" pos="0 1 0" euler="20 0 0">
      <joint type="hinge" axis="0 0 1" pos="0.1 0.2 0.3" ref="12"/>
      <joint type="slide" axis="1 1 0" ref="0.4"/>
      <joint type="hinge" axis="-1 0 0"/>
      <geom size="0.1"/>
      <body name="swinging" pos="0.2 0 0" euler="0 0 50">
        <joint type="hinge" axis="0.3 -0.4 0.5" pos="0.1 0 0"/>
        <geom size="0.1"/>
        <body name="rolling" pos="0 0 0.4">
          <joint type="ball" pos="0 0.1 0"/>
          <geom size="0.1"/>
          <site name="tip" pos="0.1 0.2 -0.3" euler="70 10 0"/>
        </body>
      </body>
    </body>
    <body name="flying"><freejoint/><geom size="0.1"/><site name="nose" pos="0.1 0 0"/></body>
  </worldbody>
</mujoco>
"""


def fields_of(model):
    return {name: np.array(getattr(model, name)) for name in POSE_FIELDS}


def assert_as_mujoco(model, poses, states, mocap=None, tolerance=1e-12):
    """Every body and site in every state; broadcast where it never moves."""
    data = mujoco.MjData(model)
    for state in range(len(states)):
        data.qpos[:] = states[state]
        if mocap is not None:
            data.mocap_pos[:], data.mocap_quat[:] = mocap[0][state], mocap[1][state]
        mujoco.mj_kinematics(model, data)
        for count, found, position, matrix in (
            (model.nbody, poses.body, data.xpos, data.xmat),
            (model.nsite, poses.site, data.site_xpos, data.site_xmat),
        ):
            for index in range(count):
                pose = found(index)
                row, turn = (state if len(values) > 1 else 0 for values in (pose.position, pose.rotation))
                np.testing.assert_allclose(pose.position[row], position[index], atol=tolerance)
                np.testing.assert_allclose(pose.rotation[turn], matrix[index].reshape(3, 3), atol=tolerance)


def test_every_kind_of_joint():
    model = mujoco.MjModel.from_xml_string(MACHINE)
    rng = np.random.default_rng(0)
    states = rng.normal(size=(30, model.nq))
    mocap = rng.normal(size=(30, 1, 3)), rng.normal(size=(30, 1, 4))
    columns = mocap[0].reshape(30, -1), mocap[1].reshape(30, -1)
    poses = BatchPoses(model, states, columns, [fields_of(model)], np.zeros(30, dtype=np.intp))
    assert_as_mujoco(model, poses, states, mocap)


def test_a_free_body_is_where_the_recording_says_to_the_last_bit():
    model = mujoco.MjModel.from_xml_string(MACHINE)
    states = np.random.default_rng(1).normal(size=(20, model.nq))
    poses = BatchPoses(model, states, None, [fields_of(model)], np.zeros(20, dtype=np.intp))
    np.testing.assert_array_equal(poses.body(model.body("flying").id).position, states[:, -7:-4])


def test_what_never_moves_is_one_state_for_all():
    model = mujoco.MjModel.from_xml_string(MACHINE)
    states = np.zeros((9, model.nq))
    poses = BatchPoses(model, states, None, [fields_of(model)], np.zeros(9, dtype=np.intp))
    for pose in (poses.body(model.body("inner").id), poses.site(model.site("mark").id), poses.site(0)):
        assert pose.position.shape == (1, 3)
        assert pose.rotation.shape == (1, 3, 3)


def test_every_state_has_the_model_of_its_own_trace():
    models = [mujoco.MjModel.from_xml_string(MACHINE) for _ in range(2)]
    models[1].body("turning").pos = (5, 6, 7)
    models[1].site("tip").pos = (1, 1, 1)
    states = np.random.default_rng(2).normal(size=(10, models[0].nq))
    version = np.array([0, 1, 1, 0, 0, 1, 0, 1, 1, 1])
    poses = BatchPoses(models[0], states, None, [fields_of(m) for m in models], version)
    tip, body = models[0].site("tip").id, models[0].body("inner").id
    data = [mujoco.MjData(model) for model in models]
    for state, number in enumerate(version):
        data[number].qpos[:] = states[state]
        mujoco.mj_kinematics(models[number], data[number])
        np.testing.assert_allclose(poses.site(tip).position[state], data[number].site_xpos[tip], atol=1e-12)
    assert poses.body(body).position.shape == (1, 3)


@pytest.mark.parametrize("field", ["body_quat", "site_quat", "jnt_axis"])
def test_lengths_other_than_one_are_left_to_mujoco(field):
    model = mujoco.MjModel.from_xml_string(MACHINE)
    fields = fields_of(model)
    assert computable(fields)
    fields[field][-1] *= 1.001
    assert not computable(fields)


def test_an_override_with_a_quaternion_of_another_length_gives_what_mujoco_gives():
    package = make_package()
    trace = make_trace(package, 12)
    overrides = {"body_quat": {"cabinet_1": [2.0, 0.0, 0.0, 1.0]}}
    fast, plain = (
        SceneKinematics(package, prefilter=on).signals(trace.signals_input, overrides=overrides)
        for on in (True, False)
    )
    for name in [item.name for item in (*package.scene.objects, *package.scene.regions)]:
        np.testing.assert_array_equal(fast.position(name), plain.position(name))
        np.testing.assert_array_equal(fast.rotation(name), plain.rotation(name))


@pytest.mark.libero
@pytest.mark.parametrize("index", DEFAULT_TASKS)
def test_every_body_and_site_of_libero(index):
    scene = libero_scene(index)
    kinematics = SceneKinematics(scene.package)
    kinematics.use(scene.overrides)
    model = kinematics.model
    states = scene.random_states(40, seed=3)["qpos"]
    poses = BatchPoses(model, states, None, [fields_of(model)], np.zeros(40, dtype=np.intp))
    assert_as_mujoco(model, poses, states)


def test_traces_in_a_batch_are_what_they_are_alone():
    """Poses, contacts and settled states, with other overrides for each trace."""
    package = make_package()
    kinematics = SceneKinematics(package)
    shifts = (0.0, 0.02, 0.0, -0.03)
    traces = [
        TraceStates(
            make_trace(package, 20 + seed, seed).signals_input,
            {"body_pos": {"cabinet_1": [0.1 + shift, 0.0, 0.05]}} if shift else {},
            settled=seed,
        )
        for seed, shift in enumerate(shifts)
    ]
    batch = kinematics.batch(traces)
    names = [item.name for item in (*package.scene.objects, *package.scene.regions, *package.scene.hands)]
    for index, trace in enumerate(traces):
        part = slice(batch.starts[index], batch.starts[index + 1])
        alone = SceneKinematics(package).batch([trace])
        np.testing.assert_array_equal(batch.settled[part] - part.start, alone.settled)
        assert batch.validity[index].problems == alone.validity[0].problems
        for name in names:
            np.testing.assert_array_equal(batch.position(name)[part], alone.position(name))
            np.testing.assert_array_equal(batch.rotation(name)[part], alone.rotation(name))


def test_traces_with_other_shapes_do_not_go_into_one_batch():
    package = make_package()
    states = make_trace(package, 5).signals_input
    larger = {"geom_size": {"apple_1_g0": [0.04, 0.04, 0.04]}}
    with pytest.raises(ValueError, match="shapes of geoms"):
        SceneKinematics(package).batch([TraceStates(states), TraceStates(states, larger)])


def test_the_loops_give_what_their_plain_functions_give(monkeypatch):
    """To the last bit, also for every kind of joint and for mocap bodies."""
    model = mujoco.MjModel.from_xml_string(MACHINE)
    rng = np.random.default_rng(5)
    n = 20
    qpos = rng.normal(size=(n, model.nq))
    mocap = rng.normal(size=(n, 3 * model.nmocap)), rng.normal(size=(n, 4 * model.nmocap))
    fields = [{name: np.array(getattr(model, name)) for name in POSE_FIELDS}]

    def all_poses() -> list[bytes]:
        poses = BatchPoses(model, qpos, mocap, fields, np.zeros(n, np.intp))
        found = [
            *(poses.body(body) for body in range(model.nbody)),
            *(poses.site(site) for site in range(model.nsite)),
        ]
        return [values.tobytes() for pose in found for values in (pose.position, pose.rotation)]

    compiled = all_poses()
    for name in ("_end_of_chain", "_matrices"):
        monkeypatch.setattr(poses_module, name, getattr(poses_module, name).__wrapped__)
    assert compiled == all_poses()
