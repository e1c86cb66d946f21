"""Readings: what passes the strict one passes the others, by its form and on recorded rollouts."""

from __future__ import annotations

import contextlib
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.rules import Reading, write_libraries, write_oracle
from generator.rules.errors import InstructionError
from generator.rules.readings import HOLD_S
from mango_trace.evaluation import evaluate
from mango_trace.evaluation.judging import Task as Asked
from mango_trace.evaluation.judging import judge_batch, states_of
from mango_trace.oracle import Action, FineGrainedOracle, Libraries, compile_oracle, read_oracle
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.proving.mutants import cut_short
from mango_trace.scene.bddl import Problem
from mango_trace.scene.model import Scene
from mango_trace.shipped import shipped
from mango_trace.signals import SceneKinematics
from mango_trace.store import Dataset, Trace
from mango_trace.verdicts import open_read_only
from tests.generator.rules.scenes import SAMPLE, kitchen, libero_10

WEAKER = [
    (Reading.STRICT, Reading.DEFAULT),
    (Reading.STRICT, Reading.LENIENT),
    (Reading.DEFAULT, Reading.LENIENT),
]


def read_as(
    reading: Reading, instruction: str, scene: Scene, problem: Problem
) -> tuple[FineGrainedOracle, Libraries]:
    """The oracle of a reading, which compiles with the libraries of that reading."""
    used = write_libraries([instruction], reading)
    oracle = write_oracle(instruction, scene, problem, used, reading)
    compile_oracle(oracle, scene, CATALOGUE, used, name="test")
    return oracle, used


def calls(action: Action) -> set[str]:
    return {f"{monitor.negate} {monitor.handle_as}" for monitor in action.monitoring}


def follows_from(weak: Action, strong: Action) -> bool:
    return (
        (weak.action_id, weak.parameters) == (strong.action_id, strong.parameters)
        and calls(weak) <= calls(strong)
        and weak.hold <= strong.hold
        and weak.at_end <= strong.at_end
    )


def implies(strong: FineGrainedOracle, weak: FineGrainedOracle) -> bool:
    """Whether a trace that passes the one passes the other, by their form alone."""
    if strong.execution_mode != weak.execution_mode or len(strong.plan) != len(weak.plan):
        return False
    never = {str(monitor) for monitor in weak.never} <= {str(monitor) for monitor in strong.never}
    return never and all(
        one.execution_mode == other.execution_mode and _is_part(other.actions, one.actions)
        for one, other in zip(strong.plan, weak.plan, strict=True)
    )


def _is_part(weak: tuple[Action, ...], strong: tuple[Action, ...]) -> bool:
    left = iter(strong)
    return all(any(follows_from(action, one) for one in left) for action in weak)


_THINGS = (
    "the plate", "both mugs", "the white mug", "all bowls", "it", "them", "the stove", "the microwave",
    "the top drawer", "the shelf", "the basket", "the left compartment", "the bowl on the stove",
)  # fmt: skip
_CLAUSES = st.tuples(
    st.sampled_from(["pick up", "put", "stack", "push", "open", "close", "turn on", "turn off"]),
    st.sampled_from(_THINGS),
    st.sampled_from(
        ["", *(f"{at} {thing}" for at in ("on", "in", "under", "to the right of") for thing in _THINGS)]
    ),
)


@settings(max_examples=300)
@given(st.lists(_CLAUSES, min_size=1, max_size=4), st.sampled_from([" and ", ", then "]))
def test_the_strict_reading_implies_the_others_by_its_form(clauses, joint: str) -> None:
    instruction = joint.join(" ".join(words).strip() for words in clauses)
    with contextlib.suppress(InstructionError):
        found = {reading: read_as(reading, instruction, *kitchen())[0] for reading in Reading}
        for strong, weak in WEAKER[:2]:
            assert implies(found[strong], found[weak]), (instruction, weak)
        if "compartment" not in instruction:
            assert implies(found[Reading.DEFAULT], found[Reading.LENIENT]), instruction
        assert not implies(found[Reading.LENIENT], found[Reading.STRICT])


def test_only_the_strict_reading_asks_for_the_shallow_region_and_the_compartment() -> None:
    found = {
        reading: [
            sorted(monitor.handle_as.function for monitor in action.monitoring)
            for action in read_as(reading, "put the plate in the left compartment", *kitchen())[0]
            .plan[0]
            .actions[1:]
        ]
        for reading in Reading
    }
    assert found == {
        Reading.DEFAULT: [["inside", "released"]],
        Reading.LENIENT: [["in"]],
        Reading.STRICT: [["in"], ["inside", "released"]],
    }


def asked_by(action: Action) -> list[str]:
    return sorted(
        f"{monitor.handle_as.function}({', '.join(map(str, monitor.handle_as.arguments))})"
        for monitor in action.monitoring
    )


MUG, OVEN = "porcelain_mug_1", "microwave_1_heating_region"


@pytest.mark.parametrize(
    ("instruction", "last"),
    [
        (
            "put the white mug on the stove",
            [
                f"on({MUG}, flat_stove_1_cook_region)",
                f"released({MUG})",
                f"resting_on({MUG}, flat_stove_1)",
            ],
        ),
        (
            "push the white mug to the right of the plate",
            [
                f"on({MUG}, table_plate_right_region)",
                f"released({MUG})",
                f"resting_on({MUG}, table_plate_right_region)",
            ],
        ),
        (
            "put the white mug on the plate",
            [f"on({MUG}, plate_1)", f"released({MUG})", f"resting_on({MUG}, plate_1)"],
        ),
        # The walls of a bowl are so steep that nothing between them counts as carried from below.
        (
            "put the white mug in the left bowl",
            [f"at_rest({MUG})", f"on({MUG}, black_bowl_3)", f"released({MUG})"],
        ),
        (
            "put the white mug in the basket",
            [
                f"in({MUG}, basket_1_contain_region)",
                f"inside({MUG}, basket_1_contain_region)",
                f"released({MUG})",
            ],
        ),
        ("open the top drawer", ["open(wooden_cabinet_1_top_region)"]),
        ("turn off the stove", ["turnoff(flat_stove_1)"]),
    ],
)
def test_what_the_strict_reading_asks_of_an_effect(instruction: str, last: list[str]) -> None:
    scene, problem = kitchen()
    action = read_as(Reading.STRICT, instruction, scene, problem)[0].plan[-1].actions[-1]
    assert asked_by(action) == last
    assert (action.hold, action.at_end) == (round(HOLD_S * scene.control_hz), True)


def test_what_each_reading_asks_of_picking_up() -> None:
    held = {
        reading: asked_by(read_as(reading, "pick up the plate", *kitchen())[0].plan[0].actions[0])
        for reading in Reading
    }
    assert held == {
        Reading.DEFAULT: ["grasped(plate_1)", "lifted(plate_1)"],
        Reading.LENIENT: ["grasped(plate_1)"],
        Reading.STRICT: ["firmly_grasped(plate_1)", "grasped(plate_1)", "lifted(plate_1)"],
    }


def test_behind_a_door_the_strict_reading_looks_again_at_the_end() -> None:
    oracle, _ = read_as(Reading.STRICT, "put the white mug in the microwave and close it", *kitchen())
    _, first, again = oracle.plan[0].actions
    there = [f"in({MUG}, {OVEN})", f"inside({MUG}, {OVEN})", f"released({MUG})"]
    assert asked_by(again) == there
    assert asked_by(first) == sorted([*there, "open(microwave_1)"])
    assert (first.at_end, again.at_end) == (False, True)


def test_only_the_lenient_reading_lets_what_is_used_be_switched_off() -> None:
    found = {
        reading: len(read_as(reading, "put the plate on the stove", *kitchen())[0].never)
        for reading in Reading
    }
    assert found == {Reading.DEFAULT: 1, Reading.LENIENT: 0, Reading.STRICT: 1}


def test_the_default_is_what_it_was() -> None:
    for task in libero_10():
        oracle, _ = read_as(Reading.DEFAULT, task.instruction, task.scene, task.problem)
        reference = read_oracle(shipped("oracles") / "libero" / "libero_10" / f"{task.name}.json")
        assert oracle.digest == reference.digest


def outcomes(tmp_path, reading: Reading) -> dict[str, str]:
    folder = tmp_path / reading
    folder.mkdir()
    for task in libero_10():
        oracle, _ = read_as(reading, task.instruction, task.scene, task.problem)
        (folder / f"{task.name}.json").write_text(oracle.canonical)
    database = tmp_path / f"{reading}.duckdb"
    assert evaluate([SAMPLE], [folder], database).exit_code == 0
    with open_read_only(database) as connection:
        return dict(
            connection.execute(
                "SELECT trace_id, outcome FROM verdicts JOIN oracles USING (oracle) "
                "WHERE kind = 'fine_grained'"
            ).fetchall()
        )


def test_what_passes_the_strict_reading_passes_the_others_on_recorded_rollouts(tmp_path) -> None:
    found = {reading: outcomes(tmp_path, reading) for reading in Reading}
    passed = {
        reading: {trace for trace, outcome in found[reading].items() if outcome == "passed"}
        for reading in Reading
    }
    assert passed[Reading.STRICT] <= passed[Reading.DEFAULT] <= passed[Reading.LENIENT]
    assert all(len(found[reading]) == 40 for reading in Reading)
    # Two in which what was done is undone, and a book that slips and crosses the edge of its compartment.
    assert (len(passed[Reading.STRICT]), len(passed[Reading.LENIENT])) == (9, 12)


def test_an_effect_must_last_in_the_strict_reading_alone() -> None:
    """A success whose recording ends too soon after it: passed, and not by who wants to see it stay."""
    task = next(one for one in libero_10() if one.name.startswith("KITCHEN_SCENE4"))
    dataset = Dataset(SAMPLE)
    record = next(
        one for one in dataset.records if one.metadata.task == task.name and one.metadata.fault is None
    )
    trace = dataset.load(record, actions=False)
    kinematics = SceneKinematics(dataset.scene(record.scene))
    oracles = {}
    for reading in (Reading.DEFAULT, Reading.STRICT):
        oracle, used = read_as(reading, task.instruction, task.scene, task.problem)
        oracles[reading] = compile_oracle(oracle, task.scene, CATALOGUE, used, name=reading)

    def passes(reading: Reading, of: Trace) -> bool:
        [(verdict, _)] = judge_batch(
            [of], [states_of(of)], kinematics, [[oracles[reading]]], Asked(None, {}), order="report", hold=1
        )
        return verdict.oracles[0].judgement.outcome == "passed"

    first = {
        reading: next(n for n in range(1, trace.n_states + 1) if passes(reading, cut_short(trace, n)))
        for reading in oracles
    }
    assert first[Reading.STRICT] - first[Reading.DEFAULT] == round(HOLD_S * task.scene.control_hz) - 1


def test_readings_have_libraries_of_their_own() -> None:
    instructions = [task.instruction for task in libero_10()]
    found = [write_libraries(instructions, reading) for reading in Reading]
    assert all(one != other for one, other in pairwise(found))
    assert {task.id for task in found[0].tasks} == {task.id for task in found[1].tasks}
