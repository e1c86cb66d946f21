"""Public reports about MuJoCo itself (section C)."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from mango_trace.evaluation.notes import version_notes
from mango_trace.scene.model import Surface
from mango_trace.signals.base import GeomGroup
from mango_trace.store import DatasetWriter, TraceMetadata
from mango_trace.store.dataset import Dataset
from mango_trace.store.trace import Trace
from recorder.capture import COMPONENTS, StateReader
from tests.cases.world import HAND, HAND_XML, TABLE, World, ball, box, build, thing, tilt

T, F, U = "true", "false", "undetermined"


def _cube_over_plate(margin: float, gap: float) -> World:
    geom = f'margin="{margin}" gap="{gap}"'
    return build(
        box("plate", (0.05, 0.05, 0.01), geom=geom),
        box("cube", 0.02, geom=geom),
        objects=[thing("plate"), thing("cube")],
        option='gravity="0 0 0"',
    )


def _at(world: World, *clearances: float) -> dict[str, np.ndarray]:
    return world.states(
        plate=[(0, 0, 0)] * len(clearances), cube=[(0, 0, 0.03 + clear) for clear in clearances]
    )


def _proximity_record(world: World) -> bool:
    """Whether 25 mm of clearance give contacts that the solver leaves alone."""
    model = world.model
    data = mujoco.MjData(model)
    data.qpos[:] = _at(world, 0.025)["qpos"][0]
    mujoco.mj_forward(model, data)
    return data.ncon == 4 and (data.contact.exclude != 0).all() and (data.contact.efc_address == -1).all()


def test_o_47_positions_come_from_qpos():
    """After a step qpos is new and the simulator's own positions are one step old."""
    world = build(ball("ball", 0.01), objects=[thing("ball")], option='gravity="0 0 0" timestep="0.002"')
    model = world.model
    data = mujoco.MjData(model)
    data.qvel[0] = 1.0
    mujoco.mj_step(model, data)
    assert data.xpos[1, 0] == 0.0
    states = {
        "time": np.array([data.time]),
        "qpos": data.qpos[None].copy(),
        "qvel": data.qvel[None].copy(),
    }
    np.testing.assert_allclose(world.signals(states).position("ball"), [(0.002, 0, 0)], atol=1e-15)


def test_o_48_a_proximity_record_is_no_contact():
    """A contact row that the solver leaves alone: contact, on and grasped are false."""
    worlds = [_cube_over_plate(*pair) for pair in ((0.001, 0.05), (0.05, 0.05))]
    recorded = [world for world in worlds if _proximity_record(world)]
    assert len(recorded) == 1  # which of the two it is depends on the version
    (world,) = recorded
    states = _at(world, 0.025)
    rows = world.signals(states).contacts(GeomGroup("cube"), GeomGroup("plate"), np.ones(1, dtype=bool))
    assert len(rows.state) == 4
    for call in (("contact", "cube", "plate"), ("touching", "cube", "plate"), ("on", "cube", "plate")):
        assert world.ask(states, *call) == [F]
    assert world.ask(states, "resting_on", "cube", "plate") == [F]


def test_o_48_no_grasp_by_a_proximity_record():
    """Pads that are only near an object do not hold it."""
    for margin, gap in ((0.001, 0.05), (0.05, 0.05)):
        near = f'margin="{margin}" gap="{gap}"'
        hand = HAND_XML.replace('mass="0.1"', f'mass="0.1" {near}')
        world = build(ball("cube", 0.02, near), hand, objects=[thing("cube")], hands=[HAND])
        states = world.states(cube=[(0, 0, 0)], left_y=[0.04], right_y=[-0.04])
        signals = world.signals(states)
        rows = signals.contacts(GeomGroup("hand"), GeomGroup("cube"), np.ones(1, dtype=bool))
        if len(rows.state) and not rows.active.any():
            assert world.ask(states, "grasped", "cube") == [F]
            assert world.ask(states, "firmly_grasped", "cube") == [F]
            assert world.ask(states, "released", "cube") == [T]
            return
    pytest.fail("neither pair gives a proximity record")


def test_o_48_control_values():
    """Without gap: 0.5 mm of penetration is contact, 25 mm clear is none."""
    world = _cube_over_plate(0.001, 0.0)
    states = _at(world, -0.0005, 0.025)
    assert world.ask(states, "contact", "cube", "plate") == [T, F]
    assert world.ask(states, "on", "cube", "plate") == [T, F]


def test_o_49_contact_needs_no_forces():
    """What kinematics and collision call active is what the solver acts on after a full forward."""
    rng = np.random.default_rng(1)
    for margin, gap in ((0.0, 0.0), (0.001, 0.0), (0.001, 0.05), (0.05, 0.05)):
        world = _cube_over_plate(margin, gap)
        states = _at(world, *rng.uniform(-0.002, 0.03, 50))
        model = world.model
        data = mujoco.MjData(model)
        expected = []
        for qpos in states["qpos"]:
            data.qpos[:] = qpos
            mujoco.mj_forward(model, data)
            expected.append(T if (data.contact.efc_address >= 0).any() else F)
            force = np.zeros(6)
            for index in np.flatnonzero(data.contact.efc_address >= 0):
                mujoco.mj_contactForce(model, data, int(index), force)
                assert force[0] >= 0
        assert world.ask(states, "contact", "cube", "plate") == expected


def test_o_50_margin_makes_contact_before_touching():
    """contact is what the solver acts on, touching what geometry says; both can be asked."""
    world = _cube_over_plate(0.001, 0.0)
    states = _at(world, 0.0005, -0.0005)
    assert world.ask(states, "contact", "cube", "plate") == [T, T]
    assert world.ask(states, "touching", "cube", "plate") == [F, T]


def test_o_51_the_robot_touching_itself_is_no_contact_with_the_scene():
    """Links of a hand whose base is welded to the world collide; the object stays untouched."""
    world = build(
        TABLE, HAND_XML, ball("cup", 0.02), objects=[thing("cup")], hands=[HAND],
        surfaces=[Surface("table", "table")],
    )  # fmt: skip
    states = world.states(cup=[(0.5, 0.5, 0.0199)], left_y=[0.005], right_y=[-0.005], hand_z=[1.0])
    data = mujoco.MjData(world.model)
    data.qpos[:] = states["qpos"][0]
    mujoco.mj_forward(world.model, data)
    names = {frozenset(world.model.geom(g).name for g in pair) for pair in data.contact.geom}
    assert frozenset({"left_pad", "right_pad"}) in names
    assert world.ask(states, "contact", "hand", "cup") == [F]
    assert world.ask(states, "contact", "hand", "table") == [F]
    assert world.ask(states, "contact", "cup", "table") == [T]
    assert world.ask(states, "released", "cup") == [T]


def _pile() -> mujoco.MjModel:
    cube = '<freejoint/><geom type="box" size="0.02 0.02 0.02"/>'
    boxes = "".join(f'<body pos="{0.003 * i} 0 {0.06 + 0.045 * i}">{cube}</body>' for i in range(5))
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="plane" size="1 1 .1"/>{boxes}</worldbody></mujoco>'
    )


def _run(model: mujoco.MjModel, data: mujoco.MjData, steps: int) -> np.ndarray:
    rows = []
    for _ in range(steps):
        mujoco.mj_step(model, data)
        rows.append(data.qpos.copy())
    return np.array(rows)


def test_o_28_o_52_an_integration_snapshot_restarts_exactly():
    """Restored with all components the future is the same bit for bit; without warm start it is not."""
    model = _pile()
    data = mujoco.MjData(model)
    reader = StateReader(model)
    _run(model, data, 150)
    row = np.empty(reader.width)
    reader.read(data, row)
    snapshot = reader.split(row[None])
    future = _run(model, data, 300)

    other = mujoco.MjData(model)
    other.qpos[:] = 7.0  # whatever was there before
    other.qacc_warmstart[:] = 1.0
    reader.write(other, snapshot, 0)
    np.testing.assert_array_equal(_run(model, other, 300), future)

    physics = StateReader(model, "physics")
    assert "qacc_warmstart" not in COMPONENTS["physics"]
    approximate = mujoco.MjData(model)
    physics.write(approximate, snapshot, 0)
    np.testing.assert_allclose(_run(model, approximate, 5), future[:5], atol=1e-3)


@pytest.mark.parametrize("predicate", ["upright", "near"])
def test_o_55_quaternions_in_qpos_are_normalised(predicate):
    """(2, 0, 0, 0) is the identity; (0, 0, 0, 0), which MuJoCo takes for it, is no valid state."""
    world = build(box("cup", 0.02), box("mug", 0.02), objects=[thing("cup"), thing("mug")])
    long = tuple(3.0 * part for part in tilt(30))
    poses = [(0, 0, 0, 2, 0, 0, 0), (0, 0, 0, 0, 0, 0, 0), (0, 0, 0, *long), (0, 0, 0, *tilt(30))]
    states = world.states(cup=poses, mug=[(0, 0, 0)] * 4)
    rotation = world.signals(states).rotation("cup")
    np.testing.assert_array_equal(rotation[0], np.eye(3))
    np.testing.assert_allclose(rotation[2], rotation[3], atol=1e-15)
    arguments = ("cup", "mug") if predicate == "near" else ("cup",)
    assert world.ask(states, predicate, *arguments) == [T, U, T, T]
    assert "state 1 has a quaternion of length zero" in world.signals(states).validity[0].problems[0]


def test_o_56_equality_constraints_are_part_of_the_state(tmp_path):
    """A weld that is on from state 10 to 19 comes back so from the store, state by state."""
    world = build(
        box("a", 0.02), box("b", 0.02), tail='<equality><weld body1="a" body2="b" active="false"/></equality>'
    )
    model = world.model
    data = mujoco.MjData(model)
    reader = StateReader(model)
    rows = np.empty((30, reader.width))
    for index in range(30):
        data.eq_active[0] = 10 <= index < 20
        reader.read(data, rows[index])
        mujoco.mj_step(model, data)
    trace = Trace(
        scene=world.package.digest,
        states=reader.split(rows),
        action=np.zeros((29, 1)),
        reward=np.zeros(29),
        success=np.zeros(29, dtype=np.uint8),
        metadata=TraceMetadata(benchmark="b", suite="s", task_index=0, task="t", instruction="i", policy="p"),
    )
    with DatasetWriter(tmp_path / "dataset") as writer:
        writer.add_scene(world.package)
        writer.add(trace)
    dataset = Dataset(tmp_path / "dataset")
    loaded = dataset.load(dataset.records[0])
    expected = [float(10 <= index < 20) for index in range(30)]
    assert loaded.states["eq_active"][:, 0].tolist() == expected
    for index in (5, 10, 19, 20):
        reader.write(data, dict(loaded.states), index)
        assert bool(data.eq_active[0]) is (10 <= index < 20)


def test_o_88_margin_and_gap_depend_on_the_version():
    """touching is the same for every meaning of margin and gap; a foreign version is noted."""
    for margin, gap in ((0.001, 0.05), (0.05, 0.05), (0.001, 0.0), (0.0, 0.0)):
        world = _cube_over_plate(margin, gap)
        assert world.ask(_at(world, -0.0005, 0.025, 0.0015), "touching", "cube", "plate") == [T, F, F]
    trace = TraceMetadata(
        benchmark="b",
        suite="s",
        task_index=0,
        task="t",
        instruction="i",
        policy="p",
        versions={"mujoco": "3.3.7"},
    )
    plain, with_margin = _cube_over_plate(0, 0).model, _cube_over_plate(0.001, 0.05).model
    assert version_notes(trace, plain, "4.0.0") == ["recorded with mujoco 3.3.7, evaluated with 4.0.0"]
    first, second = version_notes(trace, with_margin, "4.0.0")
    assert first == "recorded with mujoco 3.3.7, evaluated with 4.0.0"
    assert second.startswith("margin/gap semantics differ (recorded 3.3.7, evaluated 4.0.0)")
    assert version_notes(trace, with_margin, "3.3.7") == []
