"""Oracles written by rules: what is asked in which order, and that LIBERO_10's are those written by hand."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.rules import write_libraries, write_oracle
from generator.rules.errors import InstructionError
from generator.rules.monitors import monitors_of
from mango_trace.errors import SpecificationError, UnknownNameError
from mango_trace.evaluation import evaluate
from mango_trace.oracle import (
    AtomicOracle,
    Expression,
    FineGrainedOracle,
    Libraries,
    compile_oracle,
    parse_oracle,
    read_oracle,
)
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.scene.bddl import Literal
from mango_trace.shipped import shipped
from tests.evaluation.tables import tables_of
from tests.generator.rules.scenes import SAMPLE, kitchen, libero_10, libraries


def written(instruction: str) -> FineGrainedOracle:
    scene, problem = kitchen()
    oracle = write_oracle(instruction, scene, problem, libraries())
    compile_oracle(oracle, scene, CATALOGUE, libraries(), name="test")
    return oracle


def plan(instruction: str) -> tuple[str, list[list[str]]]:
    """Mode, and the actions of each step; ``!`` marks what must hold at the end."""
    oracle = written(instruction)
    return oracle.execution_mode, [
        [
            f"{action.action_id}({', '.join(action.parameters)}){'!' * action.at_end}"
            for action in step.actions
        ]
        for step in oracle.plan
    ]


PAN_ON = ["pick_up(plate_1)", "place_on(plate_1, flat_stove_1_cook_region)!"]


@pytest.mark.parametrize(
    ("instruction", "mode", "steps"),
    [
        ("put the plate on the stove", "sequential", [PAN_ON]),
        ("open the microwave and put the plate on the stove", "any_order", [["open(microwave_1)!"], PAN_ON]),
        (
            "open the microwave, then put the plate on the stove",
            "sequential",
            [["open(microwave_1)!"], PAN_ON],
        ),
        (
            "open the microwave, put the plate in it and close it",
            "sequential",
            [
                ["open(microwave_1)"],
                ["pick_up(plate_1)", "place_in(plate_1, microwave_1_heating_region)"],
                ["close(microwave_1)!"],
            ],
        ),
        (
            "put the plate in the top drawer and close it",
            "sequential",
            [
                ["pick_up(plate_1)", "place_in(plate_1, wooden_cabinet_1_top_region)!"],
                ["close(wooden_cabinet_1_top_region)!"],
            ],
        ),
        (
            "close the top drawer of the cabinet and put the plate on top of it",
            "any_order",
            [
                ["close(wooden_cabinet_1_top_region)!"],
                ["pick_up(plate_1)", "place_on(plate_1, wooden_cabinet_1_top_side)!"],
            ],
        ),
        (
            # Which mug comes first is left open, and that the door comes last is not.
            "put both mugs in the microwave and close it",
            "sequential",
            [
                [
                    action
                    for mug in ("porcelain_mug_1", "white_yellow_mug_1")
                    for action in (f"pick_up({mug})", f"place_in({mug}, microwave_1_heating_region)")
                ],
                ["close(microwave_1)!"],
            ],
        ),
        (
            # Two levels are all there is: what depends on each other becomes one step.
            "put the plate on the stove, pick up the white mug and place it in the basket",
            "any_order",
            [PAN_ON, ["pick_up(porcelain_mug_1)", "place_in(porcelain_mug_1, basket_1_contain_region)!"]],
        ),
        (
            "put the white mug on the plate and put the plate on the stove",
            "sequential",
            [["pick_up(porcelain_mug_1)", "place_on(porcelain_mug_1, plate_1)!"], PAN_ON],
        ),
        (
            "put the plate on the stove and put it in the basket",
            "sequential",
            [
                ["pick_up(plate_1)", "place_on(plate_1, flat_stove_1_cook_region)"],
                ["pick_up(plate_1)", "place_in(plate_1, basket_1_contain_region)!"],
            ],
        ),
        (
            "push the white mug to the right of the plate",
            "sequential",
            [["push_to(porcelain_mug_1, table_plate_right_region)!"]],
        ),
        (
            "stack the left mug on the white mug and place them in the basket",
            "sequential",
            [
                ["pick_up(white_yellow_mug_1)", "place_on(white_yellow_mug_1, porcelain_mug_1)!"],
                ["pick_up(porcelain_mug_1)", "place_in(porcelain_mug_1, basket_1_contain_region)!"],
            ],
        ),
        (
            "put all mugs under the shelf",
            "any_order",
            [
                [f"pick_up({mug})", f"place_in({mug}, two_layer_shelf_1_bottom_region)!"]
                for mug in ("porcelain_mug_1", "white_yellow_mug_1")
            ],
        ),
        ("turn off the stove", "sequential", [["turn_off(flat_stove_1)!"]]),
    ],
)
def test_plans(instruction: str, mode: str, steps: list[list[str]]) -> None:
    assert plan(instruction) == (mode, steps)


@pytest.mark.parametrize(
    ("instruction", "modes"),
    [
        ("put both mugs in the basket", ["any_order", "sequential", "sequential"]),
        ("put both mugs in the microwave and close it", ["sequential", "any_order", "sequential"]),
        ("put both mugs in the basket, then open the microwave", ["sequential", "any_order", "sequential"]),
        (
            "put both mugs in the microwave, close it and turn off the stove",
            ["any_order", "any_order", "sequential"],
        ),
    ],
)
def test_modes_let_every_right_order_pass(instruction: str, modes: list[str]) -> None:
    oracle = written(instruction)
    assert [oracle.execution_mode, *(step.execution_mode for step in oracle.plan)] == modes


def test_a_stack_may_be_held_by_either_of_both() -> None:
    oracle = written("stack the left mug on the white mug and place them in the basket")
    alone, laden = (step.actions[0].monitoring for step in oracle.plan)
    assert [monitor.handle_as.function for monitor in alone] == ["grasped", "lifted"]
    assert [monitor.handle_as.function for monitor in laden] == ["lifted"]
    assert oracle.plan[1].instruction == "place the left mug and the white mug in the basket"


def test_what_is_on_and_used_stays_on() -> None:
    [monitor] = written("put the plate on the stove").never
    assert (monitor.handle_as.function, monitor.handle_as.arguments, monitor.negate) == (
        "turnon",
        ("flat_stove_1",),
        True,
    )
    assert written("put the plate on the stove and turn off the stove").never == ()
    assert written("put the plate in the basket").never == ()


_THINGS = (
    "the plate", "both mugs", "the white mug", "the left mug", "all bowls", "the bowl on the stove",
    "it", "them", "the stove", "the microwave", "the top drawer", "the cabinet", "the shelf",
    "the basket", "the ramekin",
    "the left compartment", "the bowl between both mugs", "the mug in the middle", "the banana",
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
def test_what_is_written_compiles_and_all_else_is_refused(clauses, joint: str) -> None:
    instruction = joint.join(" ".join(words).strip() for words in clauses)
    with contextlib.suppress(InstructionError):
        written(instruction)  # compiles


def test_libero_10_is_as_written_by_hand() -> None:
    assert len(libero_10()) == 10
    for task in libero_10():
        oracle = write_oracle(task.instruction, task.scene, task.problem, libraries())
        compile_oracle(oracle, task.scene, CATALOGUE, libraries(), name=task.name)
        reference = read_oracle(shipped("oracles") / "libero" / "libero_10" / f"{task.name}.json")
        assert oracle == reference, task.name


def test_the_goal_is_not_looked_at() -> None:
    for task in libero_10():
        other = replace(task.problem, goal=(Literal("open", ("nothing",)),), objects_of_interest=())
        assert write_oracle(task.instruction, task.scene, other, libraries()) == write_oracle(
            task.instruction, task.scene, task.problem, libraries()
        )


def test_written_and_read_again_is_the_same_oracle() -> None:
    for task in libero_10():
        oracle = write_oracle(task.instruction.upper(), task.scene, task.problem, libraries())
        assert parse_oracle(oracle.canonical, task.name) == oracle


def test_rollouts_are_judged_as_by_the_oracles_written_by_hand(tmp_path) -> None:
    folder = tmp_path / "written"
    folder.mkdir()
    made = write_libraries(task.instruction for task in libero_10())
    for task in libero_10():
        oracle = write_oracle(task.instruction, task.scene, task.problem, made)
        (folder / f"{task.name}.json").write_text(oracle.canonical)
    assert evaluate([SAMPLE], [folder], tmp_path / "written.duckdb").exit_code == 0
    assert evaluate([SAMPLE], [shipped("oracles")], tmp_path / "by_hand.duckdb").exit_code == 0
    ours, theirs = tables_of(tmp_path / "written.duckdb"), tables_of(tmp_path / "by_hand.duckdb")
    assert len(ours["verdicts"]) == 40
    for table in ("verdicts", "actions"):
        assert ours[table] == theirs[table]


def test_a_library_that_lacks_a_task_is_named() -> None:
    scene, problem = kitchen()
    few = write_libraries(["put the plate on the stove"])
    with pytest.raises(UnknownNameError, match="no atomic task 'close'"):
        write_oracle("close the microwave", scene, problem, few)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            Expression(any_of=(Expression(function="grasped", arguments=("object",)),)),
            "monitors are a conjunction",
        ),
        (Expression(function="grasped", arguments=("object",)), "its parameters thing are not known"),
    ],
)
def test_an_atomic_oracle_that_no_monitors_can_say_is_refused(expression: Expression, message: str) -> None:
    parameters = ("thing",) if "thing" in message else ("object",)
    atomic = AtomicOracle(
        task_id="t", oracle_id="o", description="", parameters=parameters, expression=expression
    )
    with pytest.raises(SpecificationError, match=message):
        monitors_of(Libraries((), (atomic,)), "o", {"object": "plate_1"})


def test_a_negated_call_is_a_negated_monitor() -> None:
    expression = Expression(
        all_of=(
            Expression(not_=Expression(function="open", arguments=("door",))),
            Expression(function="near", arguments=("door", "door", 0.1)),
        )
    )
    atomic = AtomicOracle(
        task_id="t", oracle_id="o", description="", parameters=("door",), expression=expression
    )
    first, second = monitors_of(Libraries((), (atomic,)), "o", {"door": "microwave_1"})
    assert (first.negate, second.negate) == (True, False)
    assert second.handle_as.arguments == ("microwave_1", "microwave_1", 0.1)
