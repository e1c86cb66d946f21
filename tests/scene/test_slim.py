"""The slim model has the full model's kinematics, contacts and masses."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from mango_trace.errors import SceneError
from mango_trace.scene.overrides import apply_overrides
from mango_trace.scene.slim import slim_model
from mango_trace.signals import SceneKinematics
from mango_trace.signals.base import GeomGroup, Part
from tests.scene.libero_scenes import DEFAULT_TASKS, libero_scene

TASKS = [
    pytest.param(index, marks=[pytest.mark.libero, *([] if index in DEFAULT_TASKS else [pytest.mark.slow])])
    for index in range(10)
]
_OCTAHEDRON = "0.1 0 0 -0.1 0 0 0 0.07 0 0 -0.07 0 0 0 0.05 0 0 -0.05"
NESTED = f"""
<mujoco>
  <compiler angle="radian"/>
  <default>
    <mesh inertia="shell"/>
    <default class="visual"><geom contype="0" conaffinity="0" group="1" rgba="1 0 0 1" mass="0.3"/></default>
  </default>
  <visual><global offwidth="64"/></visual>
  <asset>
    <texture name="t" type="2d" builtin="flat" width="4" height="4"/>
    <material name="m" texture="t"/>
    <mesh name="rock" vertex="{_OCTAHEDRON}"/>
    <mesh name="looks" vertex="{_OCTAHEDRON}" scale="2 2 2"/>
  </asset>
  <worldbody>
    <light pos="0 0 3"/>
    <camera name="front" pos="1 0 1"/>
    <geom name="floor" type="plane" size="2 2 .1" material="m"/>
    <body name="outer" pos="0.123456789012345 0 0.3">
      <freejoint/>
      <geom name="outer_rock" type="mesh" mesh="rock" material="m"/>
      <geom class="visual" type="mesh" mesh="looks" pos="0 0 0.1"/>
      <site name="s" pos="0 0 0.1" material="m"/>
      <body name="inner" pos="0 0 0.2" quat="1 0.2 0.1 0">
        <joint name="hinge" axis="0 1 0"/>
        <geom class="visual" type="box" size="0.03 0.02 0.01"/>
        <geom name="inner_box" type="box" size="0.02 0.02 0.04" pos="0.01 0 0"/>
        <body name="leaf" pos="0.1 0 0">
          <joint name="slide" type="slide"/>
          <geom class="visual" size="0.02"/>
          <geom name="leaf_cap" type="capsule" size="0.01 0.03" euler="0.3 0.1 0"/>
        </body>
      </body>
      <body name="sign" pos="0 0.3 0"><geom class="visual" size="0.02"/></body>
    </body>
    <body name="other" pos="0 0 0.1"><freejoint/><geom name="other_rock" type="mesh" mesh="rock"/></body>
  </worldbody>
  <sensor><framepos objtype="site" objname="s"/></sensor>
  <keyframe><key time="1"/></keyframe>
</mujoco>
"""


def contact_set(model: mujoco.MjModel, data: mujoco.MjData):
    """Contacts as a sorted list of names, distances, normals and whether they act."""
    rows = [
        (*sorted(model.geom(int(g)).name for g in pair), distance, *frame[:3], exclude)
        for pair, distance, frame, exclude in zip(
            data.contact.geom, data.contact.dist, data.contact.frame, data.contact.exclude, strict=True
        )
    ]
    return sorted(rows)


def assert_same_physics(slim: mujoco.MjModel, full: mujoco.MjModel, states: np.ndarray) -> int:
    """Positions and contacts are bit-identical; returns the number of contacts."""
    one, two, contacts = mujoco.MjData(slim), mujoco.MjData(full), 0
    for qpos in states:
        for model, data in ((slim, one), (full, two)):
            data.qpos[:] = qpos
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_collision(model, data)
        for field in ("xpos", "xmat", "site_xpos", "site_xmat"):
            np.testing.assert_array_equal(getattr(one, field), getattr(two, field))
        assert contact_set(slim, one) == contact_set(full, two)
        contacts += one.ncon
    return contacts


def test_shell_inertia_and_nested_bodies():
    """Dropped geoms carried mass, and a default says how a mesh weighs: masses and positions stay."""
    full = mujoco.MjModel.from_xml_string(NESTED)
    slim_text = slim_model(NESTED, full)
    slim = slim_text.compile()
    assert slim.ngeom == 5
    assert (slim.nlight, slim.ncam, slim.ntex, slim.nmat, slim.nsensor, slim.nkey) == (0,) * 6
    assert slim.nmesh == 1
    for field in ("body_mass", "body_ipos", "body_inertia", "body_pos", "body_quat"):
        np.testing.assert_array_equal(getattr(slim, field), getattr(full, field), err_msg=field)
    np.testing.assert_allclose(slim.body_iquat, full.body_iquat, atol=1e-15)
    rng = np.random.default_rng(0)
    states = np.tile(full.qpos0, (200, 1))
    states += rng.normal(scale=0.1, size=states.shape)
    assert assert_same_physics(slim, full, states) > 50


def test_a_geom_of_an_explicit_pair_stays():
    """Contact bits of zero do not make a geom visual when a pair names it."""
    xml = (
        "<mujoco><worldbody>"
        '<body name="a"><freejoint/><geom name="a0" size="0.1" contype="0" conaffinity="0"/></body>'
        '<body name="b"><geom name="b0" size="0.1" contype="0" conaffinity="0"/></body>'
        '</worldbody><contact><pair geom1="a0" geom2="b0"/></contact></mujoco>'
    )
    full = mujoco.MjModel.from_xml_string(xml)
    slim = slim_model(xml, full).compile()
    assert slim.ngeom == 2
    assert assert_same_physics(slim, full, full.qpos0[None] + [[0.05, 0, 0, 0, 0, 0, 0]]) == 1


def test_all_missing_files_are_listed_at_once(tmp_path: Path):
    """Not one at a time."""
    xml = (
        '<mujoco><asset><mesh name="a" file="one.stl"/><mesh name="b" file="deep/two.stl"/>'
        '<mesh name="c" file="unused.stl"/></asset><worldbody>'
        '<geom type="mesh" mesh="a"/><geom type="mesh" mesh="b"/></worldbody></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><geom size="1"/><geom size="1"/></worldbody></mujoco>'
    )
    with pytest.raises(SceneError, match=r"are missing: deep/two\.stl, one\.stl$"):
        slim_model(xml, model, tmp_path)


def test_a_text_of_another_model_is_refused():
    full = mujoco.MjModel.from_xml_string(NESTED)
    for changed in (
        NESTED.replace('name="floor"', 'name="ground"'),
        NESTED.replace('<geom class="visual" size="0.02"/>', "", 1),
        NESTED.replace("</worldbody>", '<geom name="more" size="1"/></worldbody>'),
    ):
        with pytest.raises(SceneError, match="geom"):
            slim_model(changed, full)


@pytest.mark.parametrize("index", TASKS)
def test_slim_libero_scene_equals_the_full_one(index):
    """Over random states with contacts; and a scene stays under 4 MB."""
    scene = libero_scene(index)
    slim = scene.package.compile()
    apply_overrides(slim, scene.overrides)
    assert sum(map(len, scene.package.files.values())) < 4 << 20
    assert assert_same_physics(slim, scene.full, scene.random_states(60, seed=index)["qpos"]) > 1000
    np.testing.assert_array_equal(slim.body_mass, scene.full.body_mass)


@pytest.mark.parametrize("index", TASKS)
def test_geoms_by_body_are_those_that_libero_counts(index):
    """An object's colliding geoms, less the uncounted ones, are the benchmark's contact geoms."""
    scene = libero_scene(index)
    kinematics = SceneKinematics(scene.package)
    model = kinematics.model
    for item in scene.package.scene.objects:
        counted = {model.geom(int(g)).name for g in kinematics.geoms(GeomGroup(item.name, Part.COUNTED))}
        assert counted == scene.contact_geoms[item.name], item.name
        every = {model.geom(int(g)).name for g in kinematics.geoms(GeomGroup(item.name))}
        assert every - counted == set(item.uncounted_geoms)
