"""Boxes compared over arrays touch just when MuJoCo says so."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from mango_trace.signals.boxes import comparable, overlap, separation
from mango_trace.signals.poses import Pose

FINDS_ALL = mujoco.mj_version() >= 3_012_000
"""Older versions miss contacts of boxes that overlap deeply; an overlap then decides nothing."""

TWO_BODIES = """
<mujoco>
  <worldbody>
    <body name="a"><freejoint/>{}</body>
    <body name="b"><freejoint/>{}</body>
  </worldbody>
</mujoco>
"""


class Placed:
    """Poses of two free bodies, as MuJoCo computes them."""

    def __init__(self, model: mujoco.MjModel, qpos: np.ndarray) -> None:
        data = mujoco.MjData(model)
        self.touching = np.zeros(len(qpos), dtype=bool)
        self.poses = {b: Pose(np.empty((3, len(qpos))), np.empty((3, 3, len(qpos)))) for b in (1, 2)}
        for row, values in enumerate(qpos):
            data.qpos[:] = values
            mujoco.mj_kinematics(model, data)
            mujoco.mj_collision(model, data)
            self.touching[row] = data.ncon > 0
            for body, pose in self.poses.items():
                pose.position[:, row] = data.xpos[body]
                pose.rotation[:, :, row] = data.xmat[body].reshape(3, 3)

    def body(self, index: int) -> Pose:
        return self.poses[index]


def boxes(rng, count, spread):
    """Text of some boxes at random places of one body."""
    text = ""
    for _ in range(count):
        size, pos = 10 ** rng.uniform(-2.7, -0.9, 3), rng.uniform(-spread, spread, 3)
        quat = [(1, 0, 0, 0), rng.normal(size=4)][int(rng.integers(2))]
        numbers = {"size": size, "pos": pos, "quat": quat}
        words = " ".join(f'{k}="{" ".join(repr(float(x)) for x in v)}"' for k, v in numbers.items())
        text += f'<geom type="box" {words}/>'
    return text


def placements(rng, n, reach):
    """Random poses of two bodies; in a third of them the axes are nearly or exactly parallel."""
    quat = rng.normal(size=(n, 2, 4))
    third = n // 3
    quat[:third] = (1, 0, 0, 0) + rng.normal(size=(third, 2, 4)) * 10 ** rng.uniform(-9, -1, (third, 1, 1))
    quat[: third // 4] = (1, 0, 0, 0)
    away = rng.normal(size=(n, 3))
    away *= reach * rng.uniform(0.05, 1, (n, 1)) / np.linalg.norm(away, axis=1, keepdims=True)
    return np.hstack([np.zeros((n, 3)), quat[:, 0], away, quat[:, 1]])


@pytest.mark.parametrize("n", [5000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", range(10))
def test_two_boxes_overlap_just_when_mujoco_reports_a_contact(seed, n):
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(TWO_BODIES.format(boxes(rng, 1, 0), boxes(rng, 1, 0)))
    sizes = model.geom_size
    placed = Placed(model, placements(rng, n, np.linalg.norm(sizes, axis=1).sum()))
    surely, is_open = overlap(model, np.array([0]), np.array([1]), placed, np.arange(n))
    assert placed.touching.any()
    assert not placed.touching.all()
    decided = ~is_open
    assert not FINDS_ALL or decided.mean() > 0.999
    np.testing.assert_array_equal(surely[decided], placed.touching[decided])


@pytest.mark.parametrize(("one", "other"), [(1, 20), (20, 1), (2, 30), (7, 7)])
def test_groups_of_boxes_overlap_just_when_mujoco_reports_a_contact(one, other):
    rng = np.random.default_rng(one * 100 + other)
    model = mujoco.MjModel.from_xml_string(TWO_BODIES.format(boxes(rng, one, 0.2), boxes(rng, other, 0.2)))
    n = 1500
    placed = Placed(model, placements(rng, n, 0.8))
    geoms = np.arange(one), np.arange(one, one + other)
    states = np.sort(rng.permutation(n)[: n // 2])
    surely, is_open = overlap(model, *geoms, placed, states)
    assert 0.01 < placed.touching.mean() < 0.95
    assert not FINDS_ALL or is_open.mean() < 0.01
    np.testing.assert_array_equal(surely[~is_open], placed.touching[states][~is_open])


def test_touching_faces_are_left_open():
    """Within rounding of touching MuJoCo is asked."""
    eye, half = np.eye(3)[:, :, None], np.full((3, 1), 0.1)
    gaps = [separation(np.array([[0.2 + gap], [0], [0]]), eye, half, half)[0] for gap in (-0.01, 0, 0.01)]
    np.testing.assert_allclose(gaps, [-0.01, 0, 0.01], atol=1e-15)
    model = mujoco.MjModel.from_xml_string(TWO_BODIES.format(*['<geom type="box" size="0.1 0.1 0.1"/>'] * 2))
    qpos = np.zeros((3, 14))
    qpos[:, (3, 10)] = 1
    qpos[:, 7] = (0.2 - 1e-6, 0.2, 0.2 + 1e-6)
    surely, is_open = overlap(model, np.array([0]), np.array([1]), Placed(model, qpos), np.arange(3))
    assert surely.tolist() == [FINDS_ALL, False, False]
    assert is_open.tolist() == [not FINDS_ALL, True, False]


BOX = '<geom type="box" size="0.1 0.1 0.1" {}/>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TWO_BODIES.format(BOX.format(""), BOX.format("")), True),
        (TWO_BODIES.format(BOX.format('margin="0.01"'), BOX.format("")), False),
        (TWO_BODIES.format(BOX.format(""), BOX.format('gap="0.01"')), False),
        (TWO_BODIES.format(BOX.format('contype="2" conaffinity="2"'), BOX.format("")), False),
        (
            TWO_BODIES.format(BOX.format(""), BOX.format("")).replace(
                "</mujoco>", '<contact><exclude body1="a" body2="b"/></contact></mujoco>'
            ),
            False,
        ),
        (
            TWO_BODIES.format(BOX.format('name="g"'), BOX.format('name="h"')).replace(
                "</mujoco>", '<contact><pair geom1="g" geom2="h"/></contact></mujoco>'
            ),
            False,
        ),
        (
            TWO_BODIES.format(BOX.format(""), BOX.format("")).replace(
                "<worldbody>", '<option><flag contact="disable"/></option><worldbody>'
            ),
            False,
        ),
        (
            "<mujoco><worldbody><body><freejoint/>{0}<body><joint/>{0}</body></body></worldbody></mujoco>"
            .format(BOX.format("")),
            False,
        ),
        (
            "<mujoco><worldbody><body><freejoint/>{0}<body>{0}</body></body></worldbody></mujoco>"
            .format(BOX.format("")),
            False,
        ),
        (
            "<mujoco><worldbody>{0}<body>{0}</body></worldbody></mujoco>".format(BOX.format("")),
            False,
        ),
        (
            "<mujoco><worldbody>{0}<body><freejoint/>{0}</body></worldbody></mujoco>".format(BOX.format("")),
            True,
        ),
        (
            "<mujoco><worldbody><body mocap='true'>{0}</body><body><freejoint/>{0}</body></worldbody>"
            "</mujoco>".format(BOX.format("")),
            False,
        ),
    ],
    ids=[
        *("plain", "margin", "gap", "bits", "exclude", "pair", "disabled"),
        *("parent", "welded", "static", "world", "mocap"),
    ],
)  # fmt: skip
def test_boxes_are_compared_only_where_nothing_but_geometry_decides(text, expected):
    model = mujoco.MjModel.from_xml_string(text)
    assert comparable(model, np.array([0]), np.array([1])) is expected
    if expected:  # and they do collide where they overlap
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        assert data.ncon
