"""Compiling: every kind of mistake is refused before a trace is read, with words that help."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from mango_trace.errors import SpecificationError
from mango_trace.oracle import (
    CompiledOracle,
    FineGrainedOracle,
    Group,
    Libraries,
    compile_oracle,
    link,
    parse_oracle,
    parse_oracles,
    parse_tasks,
)
from mango_trace.predicates.signature import Parameter, Predicate
from mango_trace.scene.kinds import ArgumentKind as Kind
from mango_trace.truth import from_bool


class Scene:
    """Names by kind."""

    def __init__(self, **names: Kind) -> None:
        self._names = names

    def kind_of(self, name: str) -> Kind | None:
        return self._names.get(name)

    def names(self, kind: Kind) -> tuple[str, ...]:
        return tuple(name for name, of in self._names.items() if of is kind)


SCENE = Scene(
    bowl_1=Kind.OBJECT,
    plate_1=Kind.OBJECT,
    basket_1_contain_region=Kind.REGION,
    cabinet_1=Kind.FIXTURE,
    drawer_joint=Kind.JOINT,
    gripper0=Kind.HAND,
)


def predicate(name: str, *parameters: Parameter, **more: Any) -> Predicate:
    return Predicate(name, parameters, "", "test", evaluate=lambda: None, **more)


CATALOGUE = {
    entry.name: entry
    for entry in (
        predicate(
            "near",
            Parameter("a", (Kind.OBJECT, Kind.HAND), ""),
            Parameter("b", (Kind.OBJECT, Kind.REGION), ""),
            Parameter("within_m", (Kind.NUMBER,), "", "m", 0.05, 0.0, True, 2.0),
        ),
        predicate("in", Parameter("item", (Kind.OBJECT,), ""), Parameter("r", (Kind.REGION,), "")),
        predicate("open", Parameter("item", (Kind.FIXTURE, Kind.JOINT), "")),
        predicate(
            "turned",
            Parameter("item", (Kind.JOINT,), ""),
            Parameter("by_rad", (Kind.NUMBER,), "", "rad", minimum=0.0),
            check=lambda _, item, by: f"{item!r} cannot turn by {by:g}" if by > 3 else None,
        ),
        predicate("settled"),
        predicate(
            "distance",
            Parameter("a", (Kind.OBJECT,), ""),
            Parameter("b", (Kind.OBJECT,), ""),
            result="number",
        ),
    )
}


def call(function: str, *arguments: object, **more: Any) -> dict[str, Any]:
    handle = {"function": function, "arguments": arguments}
    return {"oracle_id": f"{function}_o", "handle_as": handle, **more}


def action(*monitors: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"action_id": "do", "parameters": ["bowl_1"], "monitoring": monitors, **more}


def document(*actions: dict[str, Any], **more: Any) -> FineGrainedOracle:
    step = {"step": 3, "instruction": "", "execution_mode": "any_order", "actions": actions}
    top = {"instruction": "", "execution_mode": "sequential", "plan": [step], **more}
    return parse_oracle(json.dumps(top), "o")


def compiled(*actions: dict[str, Any], libraries: Libraries | None = None, **more: Any) -> CompiledOracle:
    return compile_oracle(document(*actions, **more), SCENE, CATALOGUE, libraries, name="o.json")


def problems(*actions: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    with pytest.raises(SpecificationError) as caught:
        compiled(*actions, **more)
    assert caught.value.source == "o.json"
    return [(problem.path, problem.message) for problem in caught.value.problems]


HANDLE = "plan.0.actions.0.monitoring.0.handle_as"


def test_compiles() -> None:
    got = compiled(
        action(call("near", "bowl_1", "plate_1"), call("open", "cabinet_1"), hold=2),
        action(call("near", "bowl_1", "plate_1", 0.05), at_end=True),
        action(call("near", "bowl_1", "plate_1", 1), call("open", "cabinet_1", negate=True)),
        never=[call("in", "bowl_1", "basket_1_contain_region"), call("settled")],
    )
    assert [monitor.key for monitor in got.monitors] == [
        "near(bowl_1, plate_1, 0.05)",
        "open(cabinet_1)",
        "near(bowl_1, plate_1, 1)",
        "not open(cabinet_1)",
        "in(bowl_1, basket_1_contain_region)",
        "settled()",
    ]
    assert [a.monitors for a in got.actions] == [(0, 1), (0,), (2, 3)]
    assert [(a.index, a.step, a.hold, a.at_end) for a in got.actions] == [
        (0, 3, 2, False),
        (1, 3, 1, True),
        (2, 3, 1, False),
    ]
    assert got.never == (4, 5)
    assert got.root == Group("sequential", (Group("any_order", (0, 1, 2)),))
    assert got.digest == got.oracle.digest
    assert isinstance(got.monitors[2].arguments[2], float)
    truth = from_bool([True, False], [True, True])
    assert got.monitors[3].call == got.monitors[1].call
    assert got.monitors[3].apply(truth).tolist() == [0, 2]
    assert got.monitors[1].apply(truth).tolist() == [2, 0]


@pytest.mark.parametrize(
    ("monitor", "place", "message"),
    [
        (
            call("neer", "bowl_1", "plate_1"),
            "function",
            "no predicate 'neer'; did you mean 'near'?",
        ),
        (call("distance", "bowl_1", "plate_1"), "function", "distance gives a number, not true"),
        (
            call("in", "bowl_1", "basket_region"),
            "arguments.1",
            "no region 'basket_region'; did you mean 'basket_1_contain_region'?",
        ),
        (
            call("open", "drawer_jont"),
            "arguments.0",
            "no fixture or joint 'drawer_jont'; did you mean 'drawer_joint'?",
        ),
        (
            call("in", "cabinet_1", "basket_1_contain_region"),
            "arguments.0",
            "'cabinet_1' is a fixture; item of in needs an object; there are: bowl_1, plate_1",
        ),
        (call("in", "bowl_1", "plate_1"), "arguments.1", "'plate_1' is an object; r of in needs a"),
        (call("in", "bowl_1"), "arguments", "takes 2 arguments, not 1"),
        (call("settled", "bowl_1"), "arguments", "settled() takes 0 arguments, not 1"),
        (
            call("near", "bowl_1"),
            "arguments",
            "near(a: object|hand, b: object|region, within_m: number [m] > 0 <= 2 = 0.05) takes "
            "2 to 3 arguments, not 1",
        ),
        (call("open"), "arguments", "takes 1 argument, not 0"),
        (
            call("in", 3, "basket_1_contain_region"),
            "arguments.0",
            "item needs the name of an object",
        ),
        (call("in", True, "basket_1_contain_region"), "arguments.0", "needs a name, not true"),
        (call("near", "bowl_1", "plate_1", True), "arguments.2", "needs a number, not true"),
        (
            call("near", "bowl_1", "plate_1", "0.05"),
            "arguments.2",
            "within_m needs a number without quotes, not the text '0.05'",
        ),
        (call("near", "bowl_1", "plate_1", 0), "arguments.2", "within_m must be > 0 m, not 0"),
        (call("near", "bowl_1", "plate_1", -1), "arguments.2", "must be > 0 m, not -1"),
        (call("near", "bowl_1", "plate_1", 2.5), "arguments.2", "must be <= 2 m, not 2.5"),
        (call("turned", "drawer_joint", -0.5), "arguments.1", "must be >= 0 rad, not -0.5"),
        (call("turned", "drawer_joint"), "arguments", "takes 2 arguments"),
        (call("turned", "drawer_joint", 4), "arguments", "'drawer_joint' cannot turn by 4"),
    ],
)
def test_a_call_that_does_not_fit(monitor: dict[str, Any], place: str, message: str) -> None:
    [(path, found)] = problems(action(monitor))
    assert path == f"{HANDLE}.{place}"
    assert message in found
    [(path, _)] = problems(action(call("settled")), never=[monitor])
    assert path == f"never.0.handle_as.{place}"


def test_numbers_that_no_document_can_hold_are_refused_too() -> None:
    oracle = document(action(call("near", "bowl_1", "plate_1", 1)))
    handle = oracle.plan[0].actions[0].monitoring[0].handle_as
    wrong = handle.model_copy(update={"arguments": ("bowl_1", "plate_1", float("nan"))})
    monitor = oracle.plan[0].actions[0].monitoring[0].model_copy(update={"handle_as": wrong})
    bad = with_monitors(oracle, (monitor,))
    with pytest.raises(SpecificationError, match="within_m must be a finite number, not nan"):
        compile_oracle(bad, SCENE, CATALOGUE, None, name="o")


def with_monitors(oracle: FineGrainedOracle, monitors: tuple[Any, ...]) -> FineGrainedOracle:
    step = oracle.plan[0]
    actions = (step.actions[0].model_copy(update={"monitoring": monitors}),)
    return oracle.model_copy(update={"plan": (step.model_copy(update={"actions": actions}),)})


def test_empty_lists_are_refused_o15() -> None:
    oracle = document(action(call("settled")))
    step = oracle.plan[0].model_copy(update={"actions": ()})
    for bad, path in (
        (oracle.model_copy(update={"plan": ()}), "plan"),
        (oracle.model_copy(update={"plan": (step,)}), "plan.0.actions"),
        (with_monitors(oracle, ()), "plan.0.actions.0.monitoring"),
    ):
        with pytest.raises(SpecificationError) as caught:
            compile_oracle(bad, SCENE, CATALOGUE, None, name="o")
        [problem] = caught.value.problems
        assert problem.path == path
        assert "an empty conjunction would always hold" in problem.message


def test_parameters_of_actions_exist() -> None:
    [(path, message)] = problems(action(call("settled"), parameters=["gripper0", "bowl_2"]))
    assert path == "plan.0.actions.0.parameters.1"
    assert message == "no name 'bowl_2' in the scene; did you mean 'bowl_1'?"


def test_repetition_and_contradiction_in_one_action() -> None:
    near = call("near", "bowl_1", "plate_1")
    [(path, message)] = problems(action(near, call("near", "bowl_1", "plate_1", 0.05)))
    assert path == "plan.0.actions.0.monitoring.1"
    assert message == ("near(bowl_1, plate_1, 0.05) is already monitored at plan.0.actions.0.monitoring.0")
    [(path, message)] = problems(action(near, {**near, "negate": True}))
    assert path == "plan.0.actions.0.monitoring.1"
    assert "can never hold" in message
    [(path, message)] = problems(action(call("settled")), never=[near, {**near, "negate": True}])
    assert path == "never.1"
    assert "can never hold" in message
    # In two actions both are fine: opened, then closed again.
    assert compiled(action(near), action({**near, "negate": True}))


def test_what_no_trace_can_pass() -> None:
    near = call("near", "bowl_1", "plate_1")
    [(path, message)] = problems(action(near), never=[near])
    assert path == "plan.0.actions.0"
    assert message == "needs near(bowl_1, plate_1, 0.05), which never.0 forbids: this can never hold"
    assert compiled(action(near), never=[{**near, "negate": True}])
    ends = [action(near, at_end=True), action({**near, "negate": True}, at_end=True)]
    [(path, message)] = problems(*ends)
    assert path == "plan.0.actions.1"
    assert message == "contradicts plan.0.actions.0: both must hold at the end"


def test_every_problem_at_once_in_order() -> None:
    found = problems(
        action(call("neer"), call("open", "cabinet_2", oracle_id="x"), parameters=["x"]),
        action(call("in", 1, 2)),
        never=[call("open")],
    )
    assert [path for path, _ in found] == [
        "plan.0.actions.0.parameters.0",
        "plan.0.actions.0.monitoring.0.handle_as.function",
        "plan.0.actions.0.monitoring.1.handle_as.arguments.0",
        "plan.0.actions.1.monitoring.0.handle_as.arguments.0",
        "plan.0.actions.1.monitoring.0.handle_as.arguments.1",
        "never.0.handle_as.arguments",
    ]


def libraries() -> Libraries:
    task = {
        "id": "do",
        "description": "",
        "parameters": ["item"],
        "preconditions": [],
        "postconditions": [],
    }
    used = {"any_of": [{"not": {"function": "open", "arguments": ["item"]}}]}
    oracle = {
        "task_id": "do",
        "oracle_id": "open_o",
        "description": "",
        "parameters": ["item"],
        "expression": used,
    }
    return link(
        parse_tasks(json.dumps({"atomic_tasks": [task]}), "t"),
        parse_oracles(json.dumps({"atomic_oracles": [oracle]}), "o"),
        source="o",
    )


@pytest.mark.parametrize(
    ("changes", "place", "message"),
    [
        ({"action_id": "doo"}, "action_id", "no atomic task 'doo'; did you mean 'do'?"),
        ({"parameters": ["bowl_1"] * 2}, "parameters", "do(item) takes 1 parameter, not 2"),
        (
            {"monitoring": [call("open", "cabinet_1", oracle_id="opened")]},
            "monitoring.0.oracle_id",
            "no atomic oracle 'opened'",
        ),
        (
            {"monitoring": [call("settled", oracle_id="open_o")]},
            "monitoring.0.handle_as.function",
            "'settled' is not part of atomic oracle 'open_o', which uses open",
        ),
    ],
)
def test_libraries(changes: Mapping[str, Any], place: str, message: str) -> None:
    good = action(call("open", "cabinet_1"))
    assert compiled(good, libraries=libraries())
    [(path, found)] = problems({**good, **changes}, libraries=libraries())
    assert path == f"plan.0.actions.0.{place}"
    assert message in found
    if place == "action_id" or "oracle" in place:
        assert compiled({**good, **changes}), "ids are free without libraries"


NUMBER = (Kind.NUMBER,)


def test_signature_text() -> None:
    assert CATALOGUE["near"].signature() == (
        "near(a: object|hand, b: object|region, within_m: number [m] > 0 <= 2 = 0.05)"
    )
    assert CATALOGUE["settled"].signature() == "settled()"
    assert CATALOGUE["turned"].signature() == "turned(item: joint, by_rad: number [rad] >= 0)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", ()), "kinds"),
        (("x", (Kind.NUMBER, Kind.OBJECT)), "cannot also be a name"),
        (("x", (Kind.OBJECT,), "", None, 1.0), "only a number"),
        (("x", NUMBER, "", None, None, None, True), "without a minimum"),
        (("x", NUMBER, "", None, 0.0, 0.0, True), "its default must be > 0"),
        (("x", NUMBER, "", None, float("nan")), "finite"),
    ],
)
def test_contradictory_parameter(arguments: tuple[Any, ...], message: str) -> None:
    if len(arguments) == 2:
        arguments = (*arguments, "")
    with pytest.raises(ValueError, match=message):
        Parameter(*arguments)


def test_contradictory_predicate() -> None:
    optional, required = Parameter("x", NUMBER, "", default=1.0), Parameter("y", NUMBER, "")
    with pytest.raises(ValueError, match="must come last"):
        predicate("p", optional, required)
    with pytest.raises(ValueError, match="twice"):
        predicate("p", required, required)
