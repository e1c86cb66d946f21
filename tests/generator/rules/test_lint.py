"""Where instruction, goal and oracle disagree is found, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generator.rules import Finding, Kind, count_kinds, lint, write_oracle
from mango_trace.oracle import FineGrainedOracle
from mango_trace.scene.bddl import Literal
from tests.generator.rules.scenes import kitchen, libero_10, libraries


def findings(
    instruction: str, oracle: FineGrainedOracle | None = None, /, **changes: object
) -> list[Finding]:
    """What is found in the kitchen, but for monitors that go further than the goal."""
    scene, problem = kitchen()
    problem = replace(problem, **{"instruction": "", "objects_of_interest": (), **changes})
    oracle = oracle or write_oracle(instruction, scene, problem, libraries())
    found = lint(instruction, scene, problem, oracle)
    return [one for one in found if one.kind is not Kind.MONITOR_WITHOUT_CONDITION]


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
            "turnon(flat_stove_1) is in no clause",
            ("flat_stove_1",),
        ),
        (
            "put the plate on the stove",
            {"goal": (ON_STOVE,), "objects_of_interest": ("basket_1", "plate_1")},
            Kind.THING_WITHOUT_MONITOR,
            "basket_1 is named and not monitored",
            ("basket_1",),
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
        Kind.MONITOR_WITHOUT_CONDITION: 49,
    }
    [condition] = [one for one in found if one.kind is Kind.CONDITION_WITHOUT_CLAUSE]
    assert condition.task.endswith("put_both_moka_pots_on_the_stove")
    assert condition.text == "turnon(flat_stove_1) is in no clause"
