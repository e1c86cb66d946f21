"""Public reports about success checks (section A, and those of B that are about predicates)."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from mango_trace.errors import BddlError, SpecificationError
from mango_trace.oracle import compile_oracle, parse_oracle
from mango_trace.oracle.goal import goal_oracle, judge_goal, same_category_instances
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.scene.bddl import parse_bddl
from mango_trace.scene.model import Region, Surface
from mango_trace.truth import NAMES, from_bool
from tests.cases.world import (
    HAND,
    HAND_XML,
    STOVE,
    TABLE,
    World,
    away,
    ball,
    box,
    build,
    cabinet,
    free,
    pads,
    site,
    thing,
    tilt,
    yaw,
)

T, F, U = "true", "false", "undetermined"
ZONE = Region("zone", "zone", (0.05, 0.05, 0.007), surface="table")


def _oracle(item: str, function: str, *arguments: object) -> str:
    monitor = {"oracle_id": "o", "handle_as": {"function": function, "arguments": list(arguments)}}
    action = {"action_id": "a", "parameters": [item], "monitoring": [monitor]}
    step = {"step": 1, "instruction": "do", "execution_mode": "sequential", "actions": [action]}
    return json.dumps({"instruction": "do", "execution_mode": "sequential", "plan": [step]})


def _compile(world: World, function: str, *arguments: object) -> None:
    scene = world.package.scene
    oracle = parse_oracle(_oracle(scene.objects[0].name, function, *arguments), "test")
    compile_oracle(oracle, scene, CATALOGUE, None, name="test")


def _goal(world: World, goal: str):
    problem = parse_bddl(f"(define (problem p) (:goal {goal}))")
    return goal_oracle(problem, world.package.scene, name="goal")


def _last_truths(world: World, oracle, states):
    signals = world.signals(states)
    return [m.apply(m.predicate.evaluate(signals, *m.arguments)) for m in oracle.monitors]


def _plate_and_mug() -> World:
    return build(box("plate", (0.05, 0.05, 0.01)), box("mug", 0.02), objects=[thing("plate"), thing("mug")])


def test_o_01_on_a_table_region_is_true_in_the_air():
    """LIBERO's on is a band of 10 cm without contact test; resting_on asks for the table."""
    world = build(
        TABLE.replace("0 0 -0.05", "0 0 -0.057"),
        site("zone", ZONE.half_size),
        ball("pudding", 0.01),
        objects=[thing("pudding")],
        regions=[ZONE],
        surfaces=[Surface("table", "table")],
    )
    high = world.states(pudding=[(0, 0, 0.05)])
    assert world.ask(high, "on", "pudding", "zone") == [T]
    assert world.ask(high, "resting_on", "pudding", "zone") == [F]
    on_table = world.states(pudding=[(0, 0, 0.0029)])
    assert world.ask(on_table, "resting_on", "pudding", "zone") == [T]
    sweep = world.states(pudding=[(0, 0, z) for z in (0.0019, 0.0021, 0.1069, 0.1071)])
    assert world.ask(sweep, "on", "pudding", "zone") == [F, T, T, F]
    edge = world.states(pudding=[(0.05, 0, 0.05), (0.0499, 0, 0.05)])
    assert world.ask(edge, "on", "pudding", "zone") == [F, T]


@pytest.mark.parametrize(("turn", "compat"), [(0, T), (30, T), (45, F), (90, T)])
def test_o_02_rotated_basket(turn, compat):
    """LIBERO's in loses the box at 45 degrees; inside gives one answer at every yaw."""
    half = (0.05, 0.05, 0.05)
    world = build(
        free("basket", site("contain", half)),
        ball("can", 0.01),
        objects=[thing("basket"), thing("can")],
        regions=[Region("contain", "contain", half, "basket")],
    )
    states = world.states(basket=[(0, 0, 0, *yaw(turn))], can=[(0.001, 0.001, 0)])
    assert world.ask(states, "in", "can", "contain") == [compat]
    assert world.ask(states, "inside", "can", "contain") == [T]


def test_o_03_on_object_tolerances():
    """On an object: origins within 0.03 m (open) and not under it; 4 mm above at 12 mm off is on."""
    world = _plate_and_mug()
    at = [(0.012, 0, 0.004), (0.0299, 0, 0), (0.03, 0, 0), (0.012, 0, -0.0001)]
    states = world.states(plate=[(0, 0, 0)] * 4, mug=at)
    assert world.ask(states, "touching", "mug", "plate") == [T] * 4
    assert world.ask(states, "on", "mug", "plate") == [T, T, F, F]


def test_o_04_on_needs_contact():
    """Hovering 2 mm over the plate is not on it; the first true state is the first contact."""
    world = _plate_and_mug()
    heights = (0.032, 0.0305, 0.0299, 0.0298)
    states = world.states(plate=[(0, 0, 0)] * 4, mug=[(0, 0, z) for z in heights])
    assert world.ask(states, "on", "mug", "plate") == [F, F, T, T]
    assert world.ask(states, "contact", "mug", "plate") == [F, F, T, T]


def test_o_05_unknown_joint_is_an_error_when_compiling():
    """A typo is no constant False; a fixture's own joint can be asked."""
    xml, item, regions = cabinet()
    world = build(xml, objects=[item], regions=regions)
    with pytest.raises(SpecificationError) as caught:
        _compile(world, "open", "cabinet_top_jont")
    (problem,) = caught.value.problems
    assert problem.path == "plan.0.actions.0.monitoring.0.handle_as.arguments.0"
    assert "cabinet_top_jont" in problem.message
    assert "cabinet_top_joint" in problem.message
    _compile(world, "open", "cabinet_top_joint")
    states = world.states(cabinet_top_joint=[-0.15])
    assert world.ask(states, "open", "cabinet_top_joint") == [T]


def test_o_06_position_and_contact_are_of_the_same_body():
    """A name stands for one body, whatever its geoms are called; another name is refused."""
    world = build(
        TABLE,
        free(
            "mug_main",
            '<geom name="mug_g0" type="box" size="0.02 0.02 0.02"/><geom name="handle" size="0.005"/>',
            "mug",
        ),
        objects=[thing("mug", body="mug_main")],
        surfaces=[Surface("table", "table")],
    )
    states = world.states(mug=[(0.1, 0.2, 0.0199)])
    np.testing.assert_array_equal(world.signals(states).position("mug"), [(0.1, 0.2, 0.0199)])
    assert world.ask(states, "contact", "mug", "table") == [T]
    with pytest.raises(SpecificationError, match="mug_main"):
        _compile(world, "contact", "mug_main", "table")


def test_o_07_grasp_does_not_depend_on_geom_names():
    """Both pads on the geom ``cube_1_g3`` hold the object."""
    geoms = '<geom name="cube_1_g0" size="0.001"/><geom name="cube_1_g3" size="0.05"/>'
    world = build(free("cube_1", geoms), HAND_XML, objects=[thing("cube_1")], hands=[HAND])
    states = world.states(cube_1=[(0, 0, 0)], **pads(0.05, math.pi / 2))
    assert world.ask(states, "grasped", "cube_1") == [T]
    assert world.ask(states, "firmly_grasped", "cube_1") == [T]
    assert world.ask(states, "released", "cube_1") == [F]


@pytest.mark.parametrize(("cosine", "firm"), [(0.2, F), (-0.25, F), (-0.35, T), (-0.95, T)])
def test_o_08_two_sided_contact_is_not_yet_a_grasp(cosine, firm):
    """Pads that straddle a wide object touch it on both sides, but not from opposed ones."""
    world = build(ball("banana", 0.05), HAND_XML, TABLE, objects=[thing("banana")], hands=[HAND])
    states = world.states(banana=[(0, 0, 0)], **pads(0.05, math.acos(cosine) / 2))
    assert world.ask(states, "grasped", "banana") == [T]
    assert world.ask(states, "firmly_grasped", "banana") == [firm]


def test_o_08_any_opposed_pair_of_contacts_counts():
    """With several contacts on a pad, one opposed pair is enough, in its own state only."""
    geoms = '<geom name="fruit_a" size="0.05"/><geom name="fruit_b" size="0.049" pos="0 0 0.012"/>'
    world = build(free("fruit", geoms), HAND_XML, objects=[thing("fruit")], hands=[HAND])
    wide, opposed = pads(0.05, 0.6), pads(0.05, 1.5)
    joints = {name: [wide[name][0], opposed[name][0], wide[name][0]] for name in wide}
    states = world.states(fruit=[(0, 0, 0)] * 3, **joints)
    assert world.ask(states, "grasped", "fruit") == [T, T, T]
    assert world.ask(states, "firmly_grasped", "fruit") == [F, T, F]


def _crate() -> World:
    """An open crate with 1 cm walls around the region ``contain`` of half size 0.1 x 0.1 x 0.05."""
    walls = "".join(
        f'<geom name="wall{i}" type="box" size="{sx} {sy} 0.05" pos="{x} {y} 0"/>'
        for i, (x, y, sx, sy) in enumerate(
            [
                (0.105, 0, 0.005, 0.11),
                (-0.105, 0, 0.005, 0.11),
                (0, 0.105, 0.1, 0.005),
                (0, -0.105, 0.1, 0.005),
            ]
        )
    )
    floor = '<geom name="floor" type="box" size="0.1 0.1 0.005" pos="0 0 -0.045"/>'
    half = (0.1, 0.1, 0.05)
    return build(
        free("crate", walls + floor + site("contain", half)),
        box("can", 0.02),
        HAND_XML,
        objects=[thing("crate"), thing("can")],
        regions=[Region("contain", "contain", half, "crate")],
        hands=[HAND],
    )


def test_o_09_height_counts():
    """A held can over the box is not in it; at floor height it is."""
    world = _crate()
    heights = (0.4, -0.0205)
    states = world.states(crate=[(0, 0, 0)] * 2, can=[(0.02, 0.03, z) for z in heights])
    for predicate in ("in", "inside", "resting_on"):
        assert world.ask(states, predicate, "can", "contain") == [F, T], predicate


def test_o_10_leaning_on_the_outer_wall_is_not_inside():
    """Touching the container from outside is no containment."""
    world = _crate()
    states = world.states(crate=[(0, 0, 0)], can=[(0.1299, 0, -0.03)])
    assert world.ask(states, "contact", "can", "crate") == [T]
    for predicate in ("in", "inside", "resting_on"):
        assert world.ask(states, predicate, "can", "contain") == [F]
    assert world.ask(states, "resting_on", "can", "crate") == [F]


def test_o_12_open_is_any_close_is_all():
    """Three drawers at -0.15, 0.001, 0.001."""
    xml, item, regions = cabinet()
    world = build(xml, objects=[item], regions=regions)
    states = world.states(
        cabinet_top_joint=[-0.15], cabinet_middle_joint=[0.001], cabinet_bottom_joint=[0.001]
    )
    assert world.ask(states, "open", "cabinet") == [T]
    assert world.ask(states, "close", "cabinet") == [F]
    assert world.ask(states, "open", "cabinet_top_region") == [T]
    assert world.ask(states, "open", "cabinet_middle_region") == [F]
    assert world.ask(states, "close", "cabinet_middle_region") == [T]


def test_o_13_between_open_and_closed():
    """A cabinet at exactly 0 is neither; a stove from 0 to 0.5 is neither on nor off."""
    xml, item, regions = cabinet()
    knob = '<body name="stove"><joint name="knob" axis="0 0 1"/><geom name="stove_g0" size="0.1"/></body>'
    stove = thing("stove", "fixture", joints=("knob",), articulation=STOVE)
    world = build(xml, knob, objects=[item, stove], regions=regions)
    drawer = world.states(cabinet_top_joint=[0.0, 1e-6, -0.14, -0.1401])
    assert world.ask(drawer, "open", "cabinet_top_region") == [F, F, F, T]
    assert world.ask(drawer, "close", "cabinet_top_region") == [F, T, F, F]
    turned = world.states(knob=[0.0, 0.5, 0.49999, -1e-9])
    assert world.ask(turned, "turnon", "stove") == [F, T, F, F]
    assert world.ask(turned, "turnoff", "stove") == [F, F, F, T]


def test_o_14_opening_does_not_depend_on_where_the_cabinet_stands():
    """The same joint values, the cabinet moved by the reset: the same answers."""
    xml, item, regions = cabinet()
    world = build(xml, objects=[item], regions=regions)
    states = world.states(cabinet_top_joint=[-0.2, -0.1, 0.001])
    moved = {
        "body_pos": {"cabinet": [0.3, -0.2, 0.1]},
        "body_quat": {"cabinet": [math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)]},
    }
    before = world.signals(states).position("cabinet_top_region").copy()
    after = world.signals(states, overrides=moved).position("cabinet_top_region")
    assert np.linalg.norm(before - after, axis=1).min() > 0.1
    for predicate in ("open", "close"):
        there = world.ask(states, predicate, "cabinet_top_region", overrides=moved)
        assert there == world.ask(states, predicate, "cabinet_top_region")


@pytest.mark.parametrize(
    "goal",
    ["(On akita_black_bowl_2 plate_1))", "And (Turnon flat_stove_1) (On a b))", "(And)", ""],
)
def test_o_15_malformed_goals_are_refused_with_their_position(goal):
    """Never an empty conjunction, which would always hold."""
    with pytest.raises(BddlError, match=r"^task\.bddl:\d+:\d+: ") as caught:
        parse_bddl(f"(define (problem p)\n (:goal {goal})\n)", "task.bddl")
    assert caught.value.exit_code == 3


def test_o_17_a_fall_is_no_lift():
    """Heights are measured from where the object settled; falling in the warm-up counts for nothing."""
    world = build(box("mug", 0.02), objects=[thing("mug")])
    fall = [0.11, 0.08, 0.04, 0.01, 0.0]
    states = world.states(mug=[(0, 0, z) for z in (*fall, 0.0, 0.035, 0.0)])
    assert world.ask(states, "lifted", "mug", settled=5) == [F, F, F, F, F, F, T, F]
    assert world.ask(states, "moved", "mug", settled=5) == [F, F, F, F, F, F, T, F]
    late = world.states(mug=[(0, 0, z) for z in (0.01, 0.0, 0.035)])
    assert world.ask(late, "lifted", "mug", settled=0) == [F, F, F]
    assert world.ask(late, "lifted", "mug", settled=1) == [F, F, T]


def test_o_24_a_state_is_judged_alike_alone_and_in_its_trace():
    """Verdicts are functions of the stored state: random access equals reading from the start."""
    world = _crate()
    rng = np.random.default_rng(0)
    n = 40
    states = world.states(
        crate=[(0, 0, 0)] * n,
        can=rng.uniform(-0.15, 0.15, (n, 3)),
        hand_x=rng.uniform(-0.1, 0.1, n),
        left_y=rng.uniform(0, 0.05, n),
        right_y=-rng.uniform(0, 0.05, n),
    )
    calls = [("in", "can", "contain"), ("contact", "can", "crate"), ("grasped", "can"), ("released", "can")]
    for call in calls:
        together = world.ask(states, *call)
        for index in rng.permutation(n):
            one = {name: values[[index]] for name, values in states.items()}
            assert world.ask(one, *call) == [together[index]]


def _bowls() -> World:
    bowls = [box(f"akita_black_bowl_{i}", 0.02) for i in (1, 2, 3)]
    names = ["plate_1", "stove_1", *(f"akita_black_bowl_{i}" for i in (1, 2, 3))]
    return build(
        *bowls,
        box("plate_1", (0.05, 0.05, 0.01)),
        box("stove_1", (0.05, 0.05, 0.01)),
        objects=[thing(n) for n in names],
    )


def test_o_26_wrong_instance():
    """The goal stays failed, and the instance that satisfies it is named."""
    world = _bowls()
    oracle = _goal(world, "(On akita_black_bowl_1 plate_1)")
    states = world.states(
        plate_1=[(0, 0, 0)],
        stove_1=[(5, 0, 0)],
        akita_black_bowl_1=[(1, 0, 0)],
        akita_black_bowl_2=[(0, 0, 0.0299)],
        akita_black_bowl_3=[(2, 0, 0)],
    )
    end = judge_goal(_last_truths(world, oracle, states), start=0)
    assert end.outcome == "failed"
    candidates = same_category_instances(oracle, world.package.scene, end)
    assert [(asked.call, instead.call) for asked, instead in candidates] == [
        ("on(akita_black_bowl_1, plate_1)", "on(akita_black_bowl_2, plate_1)"),
        ("on(akita_black_bowl_1, plate_1)", "on(akita_black_bowl_3, plate_1)"),
    ]
    signals = world.signals(states)
    holds = [instead.predicate.evaluate(signals, *instead.arguments)[-1] for _, instead in candidates]
    assert [NAMES[value] for value in holds] == [T, F]


def test_o_26_both_instances_asked_for_is_no_wrong_instance():
    """Where the goal wants both bowls on the plate, the other bowl explains nothing."""
    world = _bowls()
    oracle = _goal(world, "(And (On akita_black_bowl_1 plate_1) (On akita_black_bowl_2 plate_1))")
    end = judge_goal([from_bool([False]), from_bool([True])], start=0)
    instead = [new.call for _, new in same_category_instances(oracle, world.package.scene, end)]
    assert instead == ["on(akita_black_bowl_3, plate_1)"]


def test_o_27_mocap_pose_is_recorded_or_unknown():
    """Near a mocap target: judged at its recorded pose, undetermined without, never at the XML's."""
    world = build(
        '<body name="target" mocap="true" pos="0 0 0"><geom name="target_g0" size="0.01"/>'
        "<body name='flag' pos='0 0 0.1'><geom name='flag_g0' size='0.01'/></body></body>",
        ball("cup", 0.01),
        ball("far", 0.01),
        objects=[thing("target"), thing("flag"), thing("cup"), thing("far")],
    )
    states = world.states(cup=[(0.4, 0, 0), (0, 0, 0)], far=[(3, 0, 0)] * 2)
    recorded = states | {
        "mocap_pos": np.tile([0.4, 0.0, 0.0], (2, 1)),
        "mocap_quat": np.tile([1.0, 0, 0, 0], (2, 1)),
    }
    assert world.ask(recorded, "near", "cup", "target") == [T, F]
    assert world.ask(recorded, "contact", "cup", "target") == [T, F]
    for lacking in (states, {k: v for k, v in recorded.items() if k != "mocap_quat"}):
        assert world.ask(lacking, "near", "cup", "target") == [U, U]
        assert world.ask(lacking, "near", "cup", "flag") == [U, U]
        assert world.ask(lacking, "contact", "cup", "target") == [U, U]
        assert world.ask(lacking, "near", "cup", "far") == [F, F]
        assert any("mocap" in problem for problem in world.signals(lacking).validity[0].problems)
    broken = recorded | {"mocap_pos": np.array([[0.4, 0, 0], [math.nan, 0, 0]])}
    assert world.ask(broken, "near", "cup", "target") == [T, U]
    # A mocap body moves without a velocity, so its rest cannot be told.
    assert world.ask(recorded, "at_rest", "target") == [U, U]


def test_o_27_hands_and_regions_on_a_mocap_body():
    """What hangs on an unrecorded mocap body is unknown too; a joint's position is not."""
    knob = (
        '<body name="knob"><joint name="knob_joint" axis="0 0 1"/><geom name="knob_g0" size="0.01"/></body>'
    )
    inner = f'<geom name="base_g0" size="0.01"/>{site("zone", (1, 1, 1))}{knob}'
    base = f'<body name="base" mocap="true">{inner}</body>'
    hand = HAND_XML.replace('<body name="robot">', '<body name="robot" mocap="true">')
    world = build(
        base,
        hand,
        ball("cup", 0.01),
        objects=[
            thing("base", "fixture", joints=("knob_joint",), articulation=STOVE),
            thing("cup"),
        ],
        regions=[Region("zone", "zone", (1, 1, 1), "base")],
        hands=[HAND],
    )
    states = world.states(cup=[(0, 0, 0)], knob_joint=[0.6])
    for call in (
        ("in", "cup", "zone"),
        ("inside", "cup", "zone"),
        ("near", "cup", "hand"),
        ("grasped", "cup"),
        ("released", "cup"),
        ("contact", "base", "cup"),
    ):
        assert world.ask(states, *call) == [U], call
    assert world.ask(states, "turnon", "base") == [T]
    assert world.ask(states, "up", "cup") == [F]


def test_o_42_quaternions_are_wxyz():
    """A simulator's xyzw identity (0, 0, 0, 1) read as wxyz would be half a turn."""
    world = build(box("cup", 0.02), objects=[thing("cup")])
    states = world.states(cup=[(0, 0, 0, 1, 0, 0, 0), (0, 0, 0, 0, 0, 0, 1)])
    rotation = world.signals(states).rotation("cup")
    np.testing.assert_array_equal(rotation[0], np.eye(3))
    np.testing.assert_allclose(rotation[1], np.diag([-1, -1, 1]), atol=1e-15)
    x, y, z, w = 0.0, 0.0, 0.0, 1.0
    same = world.states(cup=[(0, 0, 0, w, x, y, z)])
    np.testing.assert_array_equal(world.signals(same).rotation("cup")[0], rotation[0])


def test_o_43_gripper_opening():
    """Finger joints have opposite signs: 0.0208 and -0.0208 are an opening of 0.0416."""
    world = build(HAND_XML, hands=[HAND])
    signals = world.signals(world.states(left_y=[0.0208], right_y=[-0.0208]))
    first, second = (signals.joint(joint) for joint in HAND.finger_joints)
    np.testing.assert_allclose(first - second, [0.0416], rtol=0, atol=1e-15)
    # Position and orientation of a hand come from one frame, its site.
    np.testing.assert_array_equal(signals.position("hand")[0], [0, 0, 0])
    np.testing.assert_array_equal(signals.rotation("hand")[0], np.eye(3))


def test_o_45_contact_between_control_steps():
    """A bounce that no control step sees is no contact at the stored states, only in the substeps."""
    substeps = 25
    floor = '<geom name="floor" type="plane" size="1 1 0.1" solref="-1e5 0"/>'
    world = build(
        f'<body name="ground">{floor}</body>',
        ball("ball", 0.02, 'solref="-1e5 0"'),
        objects=[thing("ball")],
        surfaces=[Surface("ground", "ground")],
        substeps=substeps,
    )
    model = world.model
    data = mujoco.MjData(model)
    data.qpos[2] = 0.3
    rows = []
    for _ in range(12 * substeps):
        rows.append(data.qpos.copy())
        mujoco.mj_step(model, data)
    every = {
        "time": np.arange(len(rows)) * model.opt.timestep,
        "qpos": np.array(rows),
        "qvel": np.zeros((len(rows), model.nv)),
    }
    touched = np.array(world.ask(every, "contact", "ball", "ground")) == T
    phase = next(p for p in range(substeps) if not touched[p::substeps].any())
    stored = {name: values[phase::substeps] for name, values in every.items()}
    assert touched.any()
    assert world.ask(stored, "contact", "ball", "ground") == [F] * 12
    assert world.package.scene.substeps == substeps


def test_o_46_pressed_against_the_underside():
    """Contact without height: under a bowl is neither in nor on it."""
    world = _crate()
    states = world.states(crate=[(0, 0, 0)], can=[(0, 0, -0.0699)])
    assert world.ask(states, "contact", "can", "crate") == [T]
    for predicate in ("in", "inside", "resting_on"):
        assert world.ask(states, predicate, "can", "contain") == [F]
    for predicate in ("on", "resting_on"):
        assert world.ask(states, predicate, "can", "crate") == [F]


def test_o_78_a_measurement_is_no_condition():
    """distance gives a number: as a monitor it is refused, whatever its sign."""
    world = _plate_and_mug()
    with pytest.raises(SpecificationError, match="distance gives a number"):
        _compile(world, "distance", "mug", "plate")
    signals = world.signals(world.states(mug=[(3, 4, 0)], plate=[(0, 0, 0)]))
    np.testing.assert_array_equal(CATALOGUE["distance"].evaluate(signals, "mug", "plate"), [5.0])


def test_o_89_success_while_still_holding():
    """The object is in the open drawer, but the fingers hold it: in, yet not placed."""
    xml, item, regions = cabinet()
    world = build(
        xml, ball("cup", 0.02), HAND_XML, objects=[item, thing("cup")], regions=regions, hands=[HAND]
    )
    drawer = (0.0, -0.2, 0.25 - 0.0102)
    held = pads(0.02, math.pi / 2) | {"hand_z": [drawer[2]]}
    held["left_y"] = [held["left_y"][0] + drawer[1]]
    held["right_y"] = [held["right_y"][0] + drawer[1]]
    for joints, released in ((held, F), (away(), T)):
        states = world.states(cup=[drawer], cabinet_top_joint=[-0.2], **joints)
        assert world.ask(states, "in", "cup", "cabinet_top_region") == [T]
        assert world.ask(states, "open", "cabinet_top_region") == [T]
        assert world.ask(states, "released", "cup") == [released]
        assert world.ask(states, "resting_on", "cup", "cabinet_top_region") == [released]


def test_o_90_upright():
    """Tilt of 36 degrees is upright, 38 is not (bound 36.87), upside down never."""
    world = build(box("cup", 0.02), objects=[thing("cup")])
    states = world.states(cup=[(0, 0, 0, *tilt(a)) for a in (0, 36, 38, 180)])
    assert world.ask(states, "upright", "cup") == [T, T, F, F]
    turned = world.states(cup=[(0, 0, 0, *yaw(a)) for a in (0, 90, 180)])
    assert world.ask(turned, "upright", "cup") == [T, T, T]
    lying = replace(world.package.scene.object("cup"), up=(1.0, 0.0, 0.0))
    other = build(box("cup", 0.02), objects=[lying])
    assert other.ask(states, "upright", "cup") == [F, F, F, F]


def test_what_lies_on_a_cabinet_rests_on_none_of_its_drawers():
    """The same carrier for all its regions: the underside must be at the region's height."""
    xml, item, regions = cabinet()
    world = build(xml, box("cup", 0.02), objects=[item, thing("cup")], regions=regions)
    names = [region.name for region in regions]
    assert names == [
        "cabinet_top_region",
        "cabinet_middle_region",
        "cabinet_bottom_region",
        "cabinet_top_side",
    ]
    floors = [0.25 - 0.03, 0.15 - 0.03, 0.05 - 0.03, 0.305]
    states = world.states(cup=[(0, 0, z + 0.02 - 1e-4) for z in floors])
    for index, name in enumerate(names):
        expected = [T if state == index else F for state in range(4)]
        assert world.ask(states, "resting_on", "cup", name) == expected
    beside = world.states(cup=[(0.105, 0, 0.305 + 0.02 - 1e-4)])
    assert world.ask(beside, "resting_on", "cup", "cabinet") == [T]
    assert world.ask(beside, "resting_on", "cup", "cabinet_top_side") == [F]


def test_resting_on_a_region_whose_axes_are_turned():
    """A region says nothing about which of its axes is vertical (LIBERO's drawers lie on their side)."""
    half = (0.03, 0.08, 0.1)
    region = '<site name="r" type="box" size="0.03 0.08 0.1" pos="0 0 0.035" quat="1 0 1 0"/>'
    shelf = f'<body name="shelf"><geom name="shelf_g0" type="box" size="0.12 0.1 0.005"/>{region}</body>'
    world = build(
        shelf,
        box("cup", 0.01),
        objects=[thing("shelf", "fixture"), thing("cup")],
        regions=[Region("r", "r", half, "shelf")],
    )
    z = 0.015 - 1e-4
    states = world.states(cup=[(0.095, 0, z), (0.105, 0, z), (0, 0.075, z), (0, 0.085, z), (0, 0, z + 0.001)])
    assert world.ask(states, "resting_on", "cup", "r") == [T, F, T, F, F]
