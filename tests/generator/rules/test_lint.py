"""Where instruction, goal and oracle disagree is found, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generator.rules import Finding, Kind, Reading, count_kinds, lint, write_libraries, write_oracle
from generator.rules.lint import FURTHER
from mango_trace.oracle import FineGrainedOracle
from mango_trace.scene.bddl import Literal
from tests.generator.rules.scenes import kitchen, libero_10, libraries


def findings(
    instruction: str, oracle: FineGrainedOracle | None = None, /, **changes: object
) -> list[Finding]:
    """What is found in the kitchen, but for where the oracle goes further than the goal."""
    scene, problem = kitchen()
    problem = replace(problem, **{"instruction": "", "objects_of_interest": (), **changes})
    oracle = oracle or write_oracle(instruction, scene, problem, libraries())
    found = lint(instruction, scene, problem, oracle)
    return [one for one in found if one.kind not in FURTHER]


ON_STOVE = Literal("on", ("plate_1", "flat_stove_1_cook_region"))
IS_ON = Literal("turnon", ("flat_stove_1",))
OPEN = Literal("open", ("microwave_1",))


@pytest.mark.parametrize(
    ("instruction", "changes", "kind", "text", "concerns"),
    [
        (
            "open the microwave and put the plate on the stove",
            {"goal": (ON_STOVE,)},
            Kind.CLAUSE_WITHOUT_CONDITION,
            "'open the microwave' is not in the goal",
            ("microwave_1",),
        ),
        (
            "pick up the white mug and put the plate on the stove",
            {"goal": (ON_STOVE,)},
            Kind.CLAUSE_WITHOUT_CONDITION,
            "'pick up the white mug' is not in the goal",
            ("porcelain_mug_1",),
        ),
        (
            # An invariant monitors it, but nobody asked for it.
            "put the plate on the stove",
            {"goal": (ON_STOVE, IS_ON)},
            Kind.CONDITION_WITHOUT_CLAUSE,
            "turnon(flat_stove_1) is in no clause, and holds from the start",
            ("flat_stove_1",),
        ),
        (
            "open the microwave, then put the plate on the stove",
            {"goal": (OPEN, ON_STOVE)},
            Kind.ORDER_WITHOUT_CONDITION,
            "'put the plate on the stove' comes after 'open the microwave', and the goal sees one state",
            ("microwave_1", "plate_1"),
        ),
        (
            "put the white mug to the right of the plate",
            {"goal": (Literal("on", ("porcelain_mug_1", "table_plate_right_region")),)},
            Kind.FIXED_PLACE,
            "'put the white mug to the right of the plate' is checked by "
            "on(porcelain_mug_1, table_plate_right_region), a fixed place wherever plate_1 is",
            ("plate_1", "table_plate_right_region"),
        ),
        (
            "put the white mug under the shelf",
            {"goal": (Literal("in", ("porcelain_mug_1", "two_layer_shelf_1_bottom_region")),)},
            Kind.OTHER_RELATION,
            "'put the white mug under the shelf' says 'under', and the goal asks "
            "in(porcelain_mug_1, two_layer_shelf_1_bottom_region)",
            ("porcelain_mug_1", "two_layer_shelf_1_bottom_region"),
        ),
        (
            "put the plate on the stove",
            {"goal": (ON_STOVE,), "instruction": "put the ramekin on the stove"},
            Kind.OTHER_MEANING,
            "the BDDL says 'put the ramekin on the stove'",
            ("flat_stove_1_cook_region", "plate_1", "porcelain_ramekin_1"),
        ),
        (
            "put the plate on the stove",
            {"goal": (ON_STOVE,), "instruction": "cook the plate"},
            Kind.OTHER_WORDING,
            "the BDDL says 'cook the plate': not understood at word 1",
            (),
        ),
    ],
)
def test_each_kind_is_found_alone(
    instruction: str, changes: dict[str, object], kind: Kind, text: str, concerns: tuple[str, ...]
) -> None:
    [found] = findings(instruction, **changes)
    assert (found.kind, found.task, found.concerns) == (kind, "kitchen", concerns)
    assert found.text.startswith(text)


def test_what_the_bddl_alone_is_about_is_in_no_clause_and_not_monitored() -> None:
    found = findings(
        "put the plate on the stove", goal=(ON_STOVE,), objects_of_interest=("basket_1", "plate_1")
    )
    assert [(one.kind, one.concerns) for one in found] == [
        (Kind.THING_WITHOUT_CLAUSE, ("basket_1",)),
        (Kind.THING_WITHOUT_MONITOR, ("basket_1",)),
    ]


def test_a_landmark_is_named_even_where_nothing_hangs_on_it() -> None:
    goal = (Literal("on", ("porcelain_ramekin_1", "flat_stove_1_cook_region")),)
    found = findings(
        "put the ramekin next to the plate on the stove", goal=goal, objects_of_interest=("plate_1",)
    )
    assert [one.kind for one in found] == [Kind.THING_WITHOUT_MONITOR]


@pytest.mark.parametrize(
    ("instruction", "condition", "means"),
    [
        (
            "put the left bowl on the plate",
            Literal("on", ("black_bowl_2", "plate_1")),
            ("black_bowl_2", "black_bowl_3"),
        ),
        (
            "open the top drawer",
            Literal("open", ("wooden_cabinet_1_bottom_region",)),
            ("wooden_cabinet_1_bottom_region", "wooden_cabinet_1_top_region"),
        ),
        (
            "open the top drawer",
            Literal("open", ("wooden_cabinet_1",)),
            ("wooden_cabinet_1", "wooden_cabinet_1_top_region"),
        ),
    ],
)
def test_a_goal_about_another_instance_or_part_is_one_finding(instruction, condition, means) -> None:
    scene, problem = kitchen()
    oracle = write_oracle(instruction, scene, problem, libraries())
    found = findings(instruction, oracle, goal=(condition,))
    [other] = [one for one in found if one.kind is Kind.OTHER_INSTANCE]
    assert other.concerns == means
    assert other.text.endswith(f"and the goal asks {condition}")
    assert {one.kind for one in found} <= {
        Kind.OTHER_INSTANCE,
        Kind.CONDITION_WITHOUT_MONITOR,
    }


def test_a_goal_about_something_else_is_no_other_instance() -> None:
    found = findings("put the plate on the stove", goal=(Literal("on", ("plate_1", "basket_1")),))
    assert {Kind.CLAUSE_WITHOUT_CONDITION, Kind.CONDITION_WITHOUT_CLAUSE} <= {one.kind for one in found}
    assert Kind.OTHER_INSTANCE not in {one.kind for one in found}


def test_an_order_that_the_oracle_leaves_open() -> None:
    scene, problem = kitchen()
    ordered = "open the microwave, then put the plate on the stove"
    free = write_oracle("open the microwave and put the plate on the stove", scene, problem, libraries())
    kinds = [one.kind for one in findings(ordered, free, goal=(OPEN, ON_STOVE))]
    assert kinds == [Kind.ORDER_WITHOUT_CONDITION, Kind.ORDER_WITHOUT_MONITOR]
    # What a chain of orders implies is not said again.
    three = "open the microwave, then put the plate on the stove, then open the top drawer"
    goal = (OPEN, ON_STOVE, Literal("open", ("wooden_cabinet_1_top_region",)))
    found = findings(three, goal=goal)
    assert [one.kind for one in found] == [Kind.ORDER_WITHOUT_CONDITION] * 2


def test_where_the_oracle_goes_further_is_told_by_kind() -> None:
    scene, problem = kitchen()
    instruction = "put the white mug in the left compartment and close the microwave"
    target = ("porcelain_mug_1", "desk_caddy_1_left_contain_region")
    goal = (Literal("in", target), Literal("close", ("microwave_1",)))
    problem = replace(problem, instruction="", objects_of_interest=(), goal=goal)

    def kinds(reading: Reading) -> dict[Kind, int]:
        oracle = write_oracle(instruction, scene, problem, write_libraries([instruction], reading), reading)
        counts = count_kinds(lint(instruction, scene, problem, oracle))
        return {kind: count for kind, count in counts.items() if count}

    # Only the default asks inside in place of in; the strict reading asks for both.
    assert kinds(Reading.DEFAULT) == {Kind.MONITOR_WITHOUT_CONDITION: 3, Kind.GEOMETRIC_MONITOR: 1}
    assert kinds(Reading.STRICT) == {Kind.MONITOR_WITHOUT_CONDITION: 3}
    assert kinds(Reading.LENIENT) == {Kind.MONITOR_WITHOUT_CONDITION: 1}


def test_an_order_that_is_needed_goes_further_than_the_goal() -> None:
    scene, problem = kitchen()
    instruction = "put the white mug in the microwave and close it"
    goal = (
        Literal("in", ("porcelain_mug_1", "microwave_1_heating_region")),
        Literal("close", ("microwave_1",)),
    )
    problem = replace(problem, instruction="", objects_of_interest=(), goal=goal)
    oracle = write_oracle(instruction, scene, problem, libraries())
    counts = count_kinds(lint(instruction, scene, problem, oracle))
    assert (counts[Kind.NEEDED_ORDER], counts[Kind.ORDER_WITHOUT_MONITOR]) == (1, 0)
    free = oracle.model_copy(update={"execution_mode": "any_order"})
    loose = [step.model_copy(update={"execution_mode": "any_order"}) for step in free.plan]
    found = lint(instruction, scene, problem, free.model_copy(update={"plan": tuple(loose)}))
    assert count_kinds(found)[Kind.ORDER_WITHOUT_MONITOR] == 1


def test_an_oracle_of_others_is_held_against_instruction_and_goal() -> None:
    scene, problem = kitchen()
    too_short = write_oracle("open the microwave", scene, problem, libraries())
    found = findings("open the microwave and put the plate on the stove", too_short, goal=(OPEN, ON_STOVE))
    assert [(one.kind, one.text) for one in found] == [
        (Kind.CLAUSE_WITHOUT_MONITOR, "'put the plate on the stove' is not monitored"),
        (Kind.CONDITION_WITHOUT_MONITOR, f"{ON_STOVE} is not monitored"),
        (Kind.THING_WITHOUT_MONITOR, "plate_1 is named and not monitored"),
        (Kind.THING_WITHOUT_MONITOR, "flat_stove_1 is named and not monitored"),
    ]
    assert [one.text for one in findings("pick up the plate", too_short, goal=(OPEN,))] == [
        "'pick up the plate' is not in the goal",
        "'pick up the plate' is not monitored",
        "open(microwave_1) is in no clause",
        "plate_1 is named and not monitored",
    ]


def test_monitors_that_go_further_than_the_goal_are_listed() -> None:
    scene, problem = kitchen()
    problem = replace(problem, goal=(ON_STOVE,), objects_of_interest=())
    oracle = write_oracle("put the plate on the stove", scene, problem, libraries())
    texts = [
        one.text
        for one in lint("put the plate on the stove", scene, problem, oracle)
        if one.kind is Kind.MONITOR_WITHOUT_CONDITION
    ]
    assert texts == [
        f"{call} is not in the goal"
        for call in ("grasped(plate_1)", "lifted(plate_1)", "released(plate_1)", "turnon(flat_stove_1)")
    ]


def test_a_goal_of_the_same_parts_has_no_findings() -> None:
    assert findings("open the microwave and put the plate on the stove", goal=(ON_STOVE, OPEN)) == []


def test_the_wording_of_libero_10_and_its_goals() -> None:
    found = [
        finding
        for task in libero_10()
        for finding in lint(
            task.instruction,
            task.scene,
            task.problem,
            write_oracle(task.instruction, task.scene, task.problem, libraries()),
        )
    ]
    assert {kind: count for kind, count in count_kinds(found).items() if count} == {
        Kind.CONDITION_WITHOUT_CLAUSE: 1,
        Kind.FIXED_PLACE: 1,
        Kind.MONITOR_WITHOUT_CONDITION: 49,
        Kind.GEOMETRIC_MONITOR: 1,
        Kind.NEEDED_ORDER: 2,
    }
    [condition] = [one for one in found if one.kind is Kind.CONDITION_WITHOUT_CLAUSE]
    assert condition.task.endswith("put_both_moka_pots_on_the_stove")
    assert condition.text == "turnon(flat_stove_1) is in no clause, and holds from the start"
