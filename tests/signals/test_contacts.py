"""Contacts do not depend on how or when they are asked for."""

from __future__ import annotations

import gc
import itertools
import weakref

import numpy as np
import pytest

from mango_trace.errors import SceneError
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.scene.kinds import ArgumentKind
from mango_trace.signals import SceneKinematics, TraceStates
from mango_trace.signals.base import GeomGroup, Part
from mango_trace.signals.overlap import FINDS_ALL
from tests.cases.world import ball, box, build, thing
from tests.scene.libero_scenes import DEFAULT_TASKS, libero_scene
from tests.synthetic import columns, make_package, rest_states

_SOLID = (ArgumentKind.OBJECT, ArgumentKind.FIXTURE, ArgumentKind.SURFACE, ArgumentKind.HAND)


def groups_of(scene):
    """Every group of geoms that a predicate asks about."""
    names = [name for kind in _SOLID for name in scene.names(kind)]
    groups = [GeomGroup(name) for name in names]
    groups += [GeomGroup(item.name, Part.COUNTED) for item in scene.objects if item.uncounted_geoms]
    return groups + [
        GeomGroup(hand.name, part)
        for hand in scene.hands
        for part in (Part.LEFT_PADS, Part.RIGHT_PADS, Part.BUT_PADS)
    ]


def assert_same_rows(one, two):
    for field in ("state", "distance", "normal", "active"):
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field))


def scattered(package, n, seed):
    """States of the synthetic scene with everything near everything."""
    rng = np.random.default_rng(seed)
    states = rest_states(package, n)
    for name in ("apple_1", "brick_1", "basket_1"):
        cols = columns(package, f"{name}_joint")
        states["qpos"][:, cols.start : cols.start + 3] = rng.uniform(
            (-0.2, -0.2, -0.01), (0.2, 0.2, 0.15), (n, 3)
        )
        states["qpos"][:, cols.start + 3 : cols.stop] = rng.normal(size=(n, 4))
    for axis in "xy":
        states["qpos"][:, columns(package, f"robot0_{axis}")] = rng.uniform(-0.2, 0.2, (n, 1))
    states["qpos"][:, columns(package, "robot0_z")] = rng.uniform(-0.3, -0.1, (n, 1))
    states["time"] = states["time"][:, 0]
    return states


def compare_prefilter(package, states, overrides=None):
    """All groups against all: the same rows with and without bounding spheres; returns their number."""
    n, total = len(states["qpos"]), 0
    where = np.ones(n, dtype=bool)
    fast, plain = (
        SceneKinematics(package, prefilter=on).signals(states, overrides=overrides) for on in (True, False)
    )
    for first, second in itertools.combinations(groups_of(package.scene), 2):
        one, two = fast.contacts(first, second, where), plain.contacts(first, second, where)
        assert_same_rows(one, two)
        np.testing.assert_array_equal(
            fast.in_contact(first, second, where), plain.in_contact(first, second, where)
        )
        total += len(one.state)
    return total


@pytest.mark.parametrize("finds_all", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_prefilter_changes_nothing(seed, finds_all, monkeypatch):
    """Also as it is with a MuJoCo that misses contacts of boxes: an overlap then decides nothing."""
    monkeypatch.setattr("mango_trace.signals.overlap.FINDS_ALL", finds_all and FINDS_ALL)
    package = make_package()
    assert compare_prefilter(package, scattered(package, 80, seed)) > 200


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "overrides",
    [
        {"geom_size": {"brick_1_g0": [0.3, 0.3, 0.3], "apple_1_g0": [0.04, 0.04, 0.04]}},
        {"geom_pos": {"brick_1_g0": [0.05, 0.0, 0.02]}, "geom_quat": {"apple_1_g0": [0.9, 0.1, 0.3, 0.2]}},
        {"geom_contype": {"brick_1_g0": [0.0]}, "geom_conaffinity": {"apple_1_g0": [0.0]}},
        {"geom_margin": {"brick_1_g0": [0.03]}, "geom_gap": {"brick_1_g0": [0.02]}},
    ],
    ids=["size", "place", "bits", "margin"],
)
def test_prefilter_changes_nothing_where_a_reset_changed_shapes(seed, overrides):
    """MuJoCo's bounding volumes do not follow such a change, and its contacts hang on them."""
    package = make_package()
    assert compare_prefilter(package, scattered(package, 60, seed), overrides) > 100


@pytest.mark.parametrize(
    ("geom", "tail", "option"),
    [
        ('margin="0.1"', "", ""),
        ('margin="0.05" gap="0.05"', "", ""),
        ("", '<contact><pair geom1="a_g0" geom2="b_g0" margin="0.2" gap="0.1"/></contact>', ""),
        ("", "", 'o_margin="0.2"><flag override="enable"/></option><option '),
    ],
    ids=["margin", "gap", "pair", "override"],
)
def test_prefilter_knows_every_margin(geom, tail, option):
    """A contact that begins before surfaces touch is not lost, wherever its margin is written."""
    world = build(
        ball("a", 0.02, geom), box("b", 0.02, geom=geom), objects=[thing("a"), thing("b")], tail=tail,
        option=option,
    )  # fmt: skip
    n = 60
    states = world.states(a=np.linspace((0.05, 0, 0), (0.5, 0, 0), n), b=[(0, 0, 0)] * n)
    assert compare_prefilter(world.package, states) > 5


@pytest.mark.libero
@pytest.mark.parametrize("index", DEFAULT_TASKS)
def test_prefilter_changes_nothing_in_libero(index):
    scene = libero_scene(index)
    assert compare_prefilter(scene.package, scene.random_states(40, seed=7), scene.overrides) > 500


def test_order_of_questions_does_not_matter():
    """Nor which states were asked about before."""
    package = make_package()
    states = scattered(package, 60, 5)
    kinematics = SceneKinematics(package)
    pairs = list(itertools.combinations(groups_of(package.scene), 2))
    where = np.ones(60, dtype=bool)
    alone = {pair: kinematics.signals(states).contacts(*pair, where) for pair in pairs}
    rng = np.random.default_rng(0)
    for _ in range(3):
        signals = kinematics.signals(states)
        for index in rng.permutation(len(pairs)):
            some = rng.random(60) < 0.3
            rows = signals.contacts(*pairs[index], some)
            keep = some[alone[pairs[index]].state]
            np.testing.assert_array_equal(rows.state, alone[pairs[index]].state[keep])
        for pair in pairs:
            assert_same_rows(signals.contacts(*pair, where), alone[pair])


def test_normals_point_from_the_first_group_into_the_second():
    package = make_package()
    signals = SceneKinematics(package).signals(scattered(package, 60, 6))
    where = np.ones(60, dtype=bool)
    for first, second in itertools.combinations(groups_of(package.scene), 2):
        one, two = signals.contacts(first, second, where), signals.contacts(second, first, where)
        np.testing.assert_array_equal(one.state, two.state)
        np.testing.assert_array_equal(one.normal, -two.normal)
        np.testing.assert_array_equal(one.distance, two.distance)


def test_traces_do_not_leave_anything_behind():
    """Overrides, poses and contacts of one trace do not reach the next."""
    package = make_package()
    states = scattered(package, 40, 8)
    moved = {
        "body_pos": {"cabinet_1": [0.0, 0.0, 0.05]},
        "geom_size": {"apple_1_g0": [0.04, 0.04, 0.04], "brick_1_g0": [0.06, 0.05, 0.04]},
    }
    calls = [
        ("contact", "brick_1", "basket_1"),
        ("inside", "brick_1", "basket_1_contain_region"),
        ("contact", "apple_1", "cabinet_1"),
        ("near", "apple_1", "cabinet_1", 0.1),
        ("released", "apple_1"),
    ]

    def answers(kinematics, overrides):
        signals = kinematics.signals(states, overrides=overrides)
        return [CATALOGUE[name].evaluate(signals, *arguments).tolist() for name, *arguments in calls]

    fresh = [answers(SceneKinematics(package), overrides) for overrides in (None, moved)]
    assert fresh[0] != fresh[1]
    shared = SceneKinematics(package)
    for which in (0, 1, 0, 1, 1, 0):
        assert answers(shared, (None, moved)[which]) == fresh[which]
    both = [shared.signals(states, overrides=overrides) for overrides in (None, moved)]
    for position, (name, *arguments) in enumerate(calls):  # asked in turns, too
        for which in (0, 1):
            truth = CATALOGUE[name].evaluate(both[which], *arguments)
            assert truth.tolist() == fresh[which][position], (name, which)


def test_states_of_another_model_are_refused_with_both_widths():
    package = make_package()
    states = rest_states(package, 3) | {"time": np.arange(3.0)}
    states["qpos"] = np.hstack([states["qpos"], np.zeros((3, 1))])
    width = states["qpos"].shape[1]
    with pytest.raises(SceneError, match=rf"qpos of shape \({width},\).* has {width - 1} numbers"):
        SceneKinematics(package).signals(states)


def test_a_refused_override_is_refused_every_time_and_leaves_no_trace():
    package = make_package()
    states = rest_states(package, 2) | {"time": np.arange(2.0)}
    kinematics = SceneKinematics(package)
    before = kinematics.signals(states).position("cabinet_1").copy()
    bad = {"body_pos": {"cabinet_1": [1.0, 1.0, 1.0], "nothing": [0.0, 0.0, 0.0]}}
    for _ in range(2):
        with pytest.raises(SceneError):
            kinematics.signals(states, overrides=bad)
    np.testing.assert_array_equal(kinematics.signals(states).position("cabinet_1"), before)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_another_trace_of_the_scene_changes_nothing(order):
    """A reset that takes a margin away is that of its own trace, whichever was looked at before."""
    world = build(
        box("a", 0.02, geom='margin="0.02"'), box("b", 0.02, geom='margin="0.02"'),
        objects=[thing("a"), thing("b")],
    )  # fmt: skip
    states = world.states(a=[(0, 0, 0)] * 2, b=[(0.05, 0, 0)] * 2)
    resets = ({}, {"geom_margin": {"a_g0": [0.0], "b_g0": [0.0]}})
    kinematics, where = SceneKinematics(world.package), np.ones(2, dtype=bool)
    for overrides in resets:
        kinematics.check(TraceStates(states, overrides))  # as an evaluation does with every trace first
    found = {}
    for which in order:
        signals = kinematics.signals(states, overrides=resets[which])
        found[which] = signals.in_contact(GeomGroup("a"), GeomGroup("b"), where).tolist()
    assert found == {0: [True, True], 1: [False, False]}


def test_a_batch_goes_with_its_last_user():
    """Its arrays are large: they do not wait for a search for cycles."""
    package = make_package()
    signals = SceneKinematics(package).signals(scattered(package, 20, 3))
    where = np.ones(20, dtype=bool)
    for first, second in itertools.combinations(groups_of(package.scene), 2):
        signals.in_contact(first, second, where)
    gone = weakref.ref(signals._batch)
    gc.disable()
    try:
        del signals
        assert gone() is None
    finally:
        gc.enable()
