"""The vectorised LIBERO predicates equal the benchmark's rules, written state by state."""

from __future__ import annotations

from functools import cache

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mango_trace.scene.model import Region
from tests.cases.world import World, ball, box, build, cabinet, free, site, thing

HALF = (0.05, 0.03, 0.04)
CALLS = (
    ("in", "can", "floating"),
    ("in", "can", "contain"),
    ("on", "can", "floating"),
    ("on", "can", "contain"),
    ("on", "can", "tray"),
    ("on", "tray", "can"),
    ("up", "can"),
)


@cache
def _world() -> World:
    plate = '<geom name="tray_g0" type="box" size="0.06 0.06 0.01"/>'
    return build(
        free("tray", plate + site("contain", HALF, (0, 0, 0.02))),
        free("frame", site("floating", HALF)),
        ball("can", 0.02),
        objects=[thing("tray"), thing("frame"), thing("can")],
        regions=[Region("contain", "contain", HALF, "tray"), Region("floating", "floating", HALF)],
    )


def _libero(model, data, predicate, item, other=None):
    """LIBERO's rule at one state, in its own order of operations."""
    position = data.body(item).xpos
    if predicate == "up":
        return position[2] >= 1.0
    names = [{model.geom(int(g)).name.split("_")[0] for g in pair} for pair in data.contact.geom]
    touches = {item, other} in names or (other == "contain" and {item, "tray"} in names)
    if other in ("can", "tray"):
        below = data.body(other).xpos
        return below[2] <= position[2] and touches and np.linalg.norm(below[:2] - position[:2]) < 0.03
    center, matrix, size = data.site(other).xpos, data.site(other).xmat.reshape(3, 3), np.array(HALF)
    if predicate == "in":
        total = np.abs(matrix @ size)
        upper, lower = center + total, center - total
        lower[2] -= 0.01
        return np.all(position > lower) and np.all(position < upper)
    delta = matrix @ (position - center)
    fits = size[2] - 0.005 < delta[2] < size[2] + 0.10 and np.all(np.abs(delta[:2]) < size[:2])
    return fits and (touches or other == "floating")


def _states(seed: int, n: int):
    """Random poses; in two thirds of them the can sits on, or one float beside, some bound."""
    rng = np.random.default_rng(seed)
    world = _world()
    poses = {}
    for name in ("tray", "frame"):
        turn = rng.normal(size=(n, 4))
        turn[: n // 2] = (1, 0, 0, 0)
        poses[name] = np.hstack([rng.uniform(-0.02, 0.02, (n, 3)), turn])
    can = rng.uniform(-0.12, 0.12, (n, 3))
    placed = world.signals(world.states(**poses, can=can))
    for index in range(n):
        kind = rng.integers(6)
        target = placed.scene.regions[rng.integers(2)].name
        center, matrix = placed.position(target)[index], placed.rotation(target)[index]
        tray, axis, sign = poses["tray"][index, :3], rng.integers(3), rng.choice([-1.0, 1.0])
        if kind in (0, 1):  # bounds of in
            half = np.abs(matrix @ np.array(HALF))
            point = center + half * rng.uniform(-1, 1, 3)
            point[axis] = center[axis] + sign * half[axis] - (0.01 if axis == 2 and sign < 0 else 0.0)
        elif kind == 2:  # bounds of on a region
            local = np.array(HALF) * rng.uniform(-1, 1, 3)
            local[2] = HALF[2] + rng.uniform(-0.01, 0.1)
            local[axis] = HALF[2] + rng.choice([-0.005, 0.1]) if axis == 2 else sign * HALF[axis]
            point = center + np.linalg.solve(matrix, local)
        elif kind == 3:  # bounds of on an object
            point = tray + rng.choice([(0.03, 0, 0.0), (0, -0.03, 0.01), (0.018, 0.024, 0.0), (0.01, 0, 0)])
        elif kind == 4:
            point = np.array([0, 0, 1.0])
        else:
            point = can[index]
        step = rng.integers(-1, 2)
        can[index] = point if step == 0 else np.nextafter(point, np.where(step < 0, -np.inf, np.inf))
    return world.states(**poses, can=can)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_vectorised_equals_scalar(seed):
    world, states = _world(), _states(seed, 60)
    data = mujoco.MjData(world.model)
    expected = {call: [] for call in CALLS}
    for qpos in states["qpos"]:
        data.qpos[:] = qpos
        mujoco.mj_forward(world.model, data)
        for call, values in expected.items():
            values.append("true" if _libero(world.model, data, *call) else "false")
    for call, values in expected.items():
        assert world.ask(states, *call) == values, call


def test_both_truth_values_occur():
    """The states of the law above reach both sides of every rule."""
    answers = {call: set() for call in CALLS}
    for seed in range(8):
        states = _states(seed, 60)
        for call, found in answers.items():
            found.update(_world().ask(states, *call))
    assert answers == {call: {"true", "false"} for call in CALLS}


def _beside(bound: float) -> list[float]:
    return [np.nextafter(bound, -np.inf), bound, np.nextafter(bound, np.inf)]


@pytest.mark.parametrize(
    ("predicate", "axis", "bound", "expected"),
    [
        ("in", 0, 0.05, "TFF"),
        ("in", 0, -0.05, "FFT"),
        ("in", 2, 0.04, "TFF"),
        ("in", 2, -0.04 - 0.01, "FFT"),
        ("on", 0, 0.05, "TFF"),
        ("on", 1, -0.03, "FFT"),
        ("on", 2, 0.04 - 0.005, "FFT"),
        ("on", 2, 0.04 + 0.10, "TFF"),
    ],
)
def test_bounds_of_regions_are_open(predicate, axis, bound, expected):
    points = np.tile([0.0, 0.0, 0.05 if predicate == "on" else 0.0], (3, 1))
    points[:, axis] = _beside(bound)
    states = _world().states(can=points, frame=[(0, 0, 0)] * 3, tray=[(9, 9, 9)] * 3)
    found = "".join(value[0].upper() for value in _world().ask(states, predicate, "can", "floating"))
    assert found == expected


def test_bounds_of_objects_and_joints():
    world = _world()
    points = [(x, 0, 0) for x in _beside(0.03)] + [(0, 0, z) for z in _beside(0.0)]
    states = world.states(can=points, tray=[(0, 0, 0)] * 6, frame=[(9, 9, 9)] * 6)
    assert world.ask(states, "on", "can", "tray") == ["true", "false", "false", "false", "true", "true"]
    heights = world.states(can=[(0, 0, z) for z in _beside(1.0)])
    assert world.ask(heights, "up", "can") == ["false", "true", "true"]
    xml, item, regions = cabinet()
    drawers = build(xml, objects=[item], regions=regions)
    top = drawers.states(cabinet_top_joint=[*_beside(-0.14), *_beside(0.0)])
    assert drawers.ask(top, "open", "cabinet_top_region") == ["true", *["false"] * 5]
    assert drawers.ask(top, "close", "cabinet_top_region") == [*["false"] * 5, "true"]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_inside_and_resting_on_do_not_change_when_the_scene_is_turned(seed):
    """inside: any rigid motion of everything; resting_on: turns about the vertical."""
    rng = np.random.default_rng(seed)
    half = (0.05, 0.03, 0.04)
    floor = '<geom name="crate_g0" type="box" size="0.05 0.03 0.005" pos="0 0 -0.045"/>'
    world = build(
        free("crate", floor + site("contain", half)),
        box("can", 0.01),
        objects=[thing("crate"), thing("can")],
        regions=[Region("contain", "contain", half, "crate")],
    )
    n = 40
    crate = np.hstack([rng.uniform(-1, 1, (n, 3)), np.tile([1.0, 0, 0, 0], (n, 1))])
    local = rng.uniform(-0.08, 0.08, (n, 3))
    local[n // 2 :] = rng.uniform((-0.03, -0.02, -0.0302), (0.03, 0.02, -0.0301), (n - n // 2, 3))
    local[0] = 0.2
    can = np.hstack([crate[:, :3] + local, crate[:, 3:]])
    for predicate, vertical in (("inside", False), ("resting_on", True)):
        axis = np.array([0.0, 0.0, 1.0]) if vertical else rng.normal(size=3)
        turn = np.empty(4)
        mujoco.mju_axisAngle2Quat(turn, axis / np.linalg.norm(axis), rng.uniform(-3, 3))
        shift = rng.uniform(-1, 1, 3)
        before = world.ask(world.states(crate=crate, can=can), predicate, "can", "contain")
        after = world.ask(
            world.states(crate=_move(crate, turn, shift), can=_move(can, turn, shift)),
            predicate,
            "can",
            "contain",
        )
        assert after == before
        assert {"true", "false"} <= set(before)


def _move(poses, turn, shift):
    moved = np.empty_like(poses)
    for index, pose in enumerate(poses):
        mujoco.mju_rotVecQuat(moved[index, :3], pose[:3], turn)
        mujoco.mju_mulQuat(moved[index, 3:], turn, pose[3:])
    moved[:, :3] += shift
    return moved
