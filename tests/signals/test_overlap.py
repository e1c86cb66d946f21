"""What is certain about two shapes is what MuJoCo says."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from mango_trace.signals import overlap as overlap_module
from mango_trace.signals.overlap import APART, FINDS_ALL, OPEN, TOUCHING, bounds_meet, overlap
from mango_trace.signals.poses import Pose
from mango_trace.signals.shapes import comparable, shapes_of

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
        self._model = model
        self.touching = np.zeros(len(qpos), dtype=bool)
        self.poses = tuple(Pose(np.empty((len(qpos), 3)), np.empty((len(qpos), 3, 3))) for _ in range(2))
        for row, values in enumerate(qpos):
            data.qpos[:] = values
            mujoco.mj_kinematics(model, data)
            mujoco.mj_collision(model, data)
            self.touching[row] = data.ncon > 0
            for body, pose in enumerate(self.poses, start=1):
                pose.position[row] = data.xpos[body]
                pose.rotation[row] = data.xmat[body].reshape(3, 3)

    def outcome(self, asked: np.ndarray | None = None) -> np.ndarray:
        """What is certain about the two bodies; in no state a contact where bounds do not meet."""
        shapes = [shapes_of(self._model, np.flatnonzero(self._model.geom_bodyid == body)) for body in (1, 2)]
        asked = np.ones(len(self.touching), dtype=bool) if asked is None else asked
        assert not (self.touching & asked & ~bounds_meet(*shapes, self.poses, asked)).any()
        found = np.full(len(asked), APART, dtype=np.int8)
        overlap(*shapes, self.poses, asked, found, self._model.opt.ccd_tolerance)
        return found

    def check(self, asked: np.ndarray | None = None) -> np.ndarray:
        """See that what is certain is right, and return the outcomes."""
        found = self.outcome(asked)
        right = self.touching if asked is None else self.touching & asked
        decided = found != OPEN
        np.testing.assert_array_equal(found[decided] == TOUCHING, right[decided])
        return found


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
    placed = Placed(model, placements(rng, n, np.linalg.norm(model.geom_size, axis=1).sum()))
    assert placed.touching.any()
    assert not placed.touching.all()
    found = placed.check()
    assert not FINDS_ALL or (found != OPEN).mean() > 0.999


@pytest.mark.parametrize(("one", "other"), [(1, 20), (20, 1), (2, 30), (7, 7)])
def test_groups_of_boxes_overlap_just_when_mujoco_reports_a_contact(one, other):
    rng = np.random.default_rng(one * 100 + other)
    model = mujoco.MjModel.from_xml_string(TWO_BODIES.format(boxes(rng, one, 0.2), boxes(rng, other, 0.2)))
    n = 1500
    placed = Placed(model, placements(rng, n, 0.8))
    assert 0.01 < placed.touching.mean() < 0.95
    found = placed.check(rng.random(n) < 0.5)
    assert not FINDS_ALL or (found == OPEN).mean() < 0.01


@pytest.mark.parametrize("seed", range(4))
def test_how_little_boxes_overlap_does_not_matter(seed):
    """Gaps and overlaps from 1e-9 to 1e-6 m: resting things overlap by no more."""
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(TWO_BODIES.format(boxes(rng, 1, 0), boxes(rng, 1, 0)))
    n = 400
    qpos = placements(rng, n, 1.0)
    direction = qpos[:, 7:10].copy()
    near, far = np.zeros(n), np.full(n, 10.0)
    for _ in range(60):  # along each direction, where the boxes begin to touch
        middle = (near + far) / 2
        qpos[:, 7:10] = direction * middle[:, None]
        touching = Placed(model, qpos).touching
        near, far = np.where(touching, middle, near), np.where(touching, far, middle)
    away = 10 ** rng.uniform(-9, -6, n) * rng.choice((-1, 1), n)
    qpos[:, 7:10] = direction * near[:, None]
    qpos[:, 7:10] += direction / np.linalg.norm(direction, axis=1, keepdims=True) * away[:, None]
    placed = Placed(model, qpos)
    np.testing.assert_array_equal(placed.touching, away < 0)
    found = placed.check()
    assert not FINDS_ALL or (found == OPEN).mean() < 0.2  # a gap along a direction is wider than the gap


def test_touching_faces_are_left_open():
    """Within rounding of touching MuJoCo is asked."""
    model = mujoco.MjModel.from_xml_string(TWO_BODIES.format(*['<geom type="box" size="0.1 0.1 0.1"/>'] * 2))
    qpos = np.zeros((3, 14))
    qpos[:, (3, 10)] = 1
    qpos[:, 7] = (0.2 - 1e-9, 0.2, 0.2 + 1e-9)
    found = Placed(model, qpos).outcome()
    assert found.tolist() == [TOUCHING if FINDS_ALL else OPEN, OPEN, APART]


ROUND = {
    "sphere": '<geom type="sphere" size="0.06"/>',
    "capsule": '<geom type="capsule" size="0.03 0.08" euler="20 40 0" pos="0.02 0 0"/>',
    "cylinder": '<geom type="cylinder" size="0.05 0.07" euler="0 30 10"/>',
    "ellipsoid": '<geom type="ellipsoid" size="0.03 0.05 0.09"/>',
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("shape", [*ROUND, "mesh"])
def test_other_shapes_are_called_apart_only_where_mujoco_finds_nothing(shape, first):
    rng = np.random.default_rng(len(shape))
    points = " ".join(repr(float(x)) for x in rng.normal(scale=(0.03, 0.05, 0.07), size=(40, 3)).ravel())
    geom = ROUND.get(shape, '<geom type="mesh" mesh="stone" pos="0.01 0 0" euler="10 0 30"/>')
    geoms = [geom, boxes(rng, 6, 0.1)]
    text = TWO_BODIES.format(*(geoms if first else reversed(geoms)))
    stone = f'<asset><mesh name="stone" vertex="{points}"/></asset>'
    model = mujoco.MjModel.from_xml_string(text.replace("<worldbody>", stone + "<worldbody>"))
    placed = Placed(model, placements(rng, 3000, 0.5))
    assert 0.05 < placed.touching.mean() < 0.95
    found = placed.check()
    assert (found != TOUCHING).all()
    near = bounds_meet(
        *(shapes_of(model, np.flatnonzero(model.geom_bodyid == body)) for body in (1, 2)),
        placed.poses,
        np.ones(3000, dtype=bool),
    )
    told = (found == APART) & near & ~placed.touching
    assert told.sum() > (0.9 if shape == "mesh" else 0.5) * (near & ~placed.touching).sum()


@pytest.mark.parametrize(("n_vertices", "kept"), [(8, 4), (9, 5), (30, 6), (30, 20)])
def test_a_hull_of_fewer_corners_is_no_reason_to_call_a_mesh_apart(n_vertices, kept):
    """MuJoCo may take all vertices of a mesh where it keeps the hull of some."""
    rng = np.random.default_rng(n_vertices + kept)
    points = " ".join(repr(float(x)) for x in rng.normal(scale=0.05, size=(n_vertices, 3)).ravel())
    stone = f'<asset><mesh name="stone" maxhullvert="{kept}" vertex="{points}"/></asset><worldbody>'
    text = TWO_BODIES.format('<geom type="mesh" mesh="stone"/>', boxes(rng, 3, 0.05))
    model = mujoco.MjModel.from_xml_string(text.replace("<worldbody>", stone))
    placed = Placed(model, placements(rng, 3000, 0.4))
    assert 0.05 < placed.touching.mean() < 0.95
    placed.check()


def test_a_coarse_tolerance_of_the_scene_is_heeded():
    rng = np.random.default_rng(5)
    text = TWO_BODIES.format(ROUND["cylinder"], boxes(rng, 1, 0)).replace(
        "<worldbody>", '<option ccd_tolerance="1e-3"/><worldbody>'
    )
    model = mujoco.MjModel.from_xml_string(text)
    placed = Placed(model, placements(rng, 6000, 0.3))
    assert placed.touching.sum() > 300
    placed.check()


def test_a_height_field_is_left_to_mujoco():
    hills = '<hfield name="hills" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 1 0"/>'
    text = TWO_BODIES.format('<geom type="hfield" hfield="hills"/>', BOX.format(""))
    text = text.replace("<worldbody>", f"<asset>{hills}</asset><worldbody>")
    model = mujoco.MjModel.from_xml_string(text.replace("<freejoint/>", "", 1))
    qpos = np.tile([0.0, 0, 9, 1, 0, 0, 0], (2, 1))
    assert Placed(model, qpos).outcome().tolist() == [OPEN] * 2


def test_a_plane_is_left_to_mujoco():
    text = TWO_BODIES.replace("<freejoint/>", "", 1)
    cube = '<geom type="box" size="0.1 0.1 0.1"/>'
    model = mujoco.MjModel.from_xml_string(text.format('<geom type="plane" size="1 1 1"/>', cube))
    qpos = np.tile([0.0, 0, 9, 1, 0, 0, 0], (3, 1))
    assert Placed(model, qpos).outcome().tolist() == [OPEN] * 3


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


def test_the_loop_gives_what_its_plain_function_gives(monkeypatch):
    rng = np.random.default_rng(11)
    model = mujoco.MjModel.from_xml_string(TWO_BODIES.format(boxes(rng, 3, 0.1), boxes(rng, 4, 0.1)))
    placed = Placed(model, placements(rng, 60, 0.3))
    compiled = placed.outcome()
    monkeypatch.setattr(overlap_module, "_compare", overlap_module._compare.__wrapped__)
    np.testing.assert_array_equal(compiled, placed.outcome())
    assert {APART, TOUCHING} <= {*compiled.tolist()} or not FINDS_ALL
