"""The libraries of atomic tasks and atomic oracles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mango_trace.errors import SpecificationError, UnknownNameError
from mango_trace.oracle import (
    Libraries,
    link,
    parse_oracles,
    parse_tasks,
    read_oracles,
    read_tasks,
    sniff,
)

CALL: dict[str, Any] = {"function": "near", "arguments": ["a", "b", 0.05]}


def task(**fields: Any) -> dict[str, Any]:
    return {
        "id": "place",
        "description": "Place a on b.",
        "parameters": ["a", "b"],
        "preconditions": ["holding a"],
        "postconditions": ["a on b"],
    } | fields


def oracle(**fields: Any) -> dict[str, Any]:
    return {
        "task_id": "place",
        "oracle_id": "placed",
        "description": "a is on b.",
        "parameters": ["a", "b"],
        "expression": {"all_of": [CALL, {"not": {"function": "held", "arguments": ["a"]}}]},
    } | fields


def tasks_text(*tasks: object) -> str:
    return json.dumps({"atomic_tasks": tasks})


def oracles_text(*oracles: object) -> str:
    return json.dumps({"atomic_oracles": oracles})


def refusal(text: str) -> list[tuple[str, str]]:
    kind = sniff(json.loads(text))
    with pytest.raises(SpecificationError) as caught:
        (parse_tasks if kind == "atomic_tasks" else parse_oracles)(text, "lib.json")
    return [(problem.path, problem.message) for problem in caught.value.problems]


def test_reads_both(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(tasks_text(task()))
    (tmp_path / "o.json").write_text(oracles_text(oracle()))
    libraries = link(read_tasks(tmp_path / "t.json"), read_oracles(tmp_path / "o.json"), source="o")
    assert libraries.task("place").parameters == ("a", "b")
    atomic = libraries.oracle("placed")
    assert atomic.expression.functions == ("near", "held")
    assert atomic.expression.depth == 3
    assert [where for where, _ in atomic.expression.calls()] == [
        ("all_of", 0),
        ("all_of", 1, "not"),
    ]
    assert libraries.oracles_of("place") == (atomic,)
    assert libraries.oracles_of("x") == ()
    dumped = atomic.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert dumped == oracle()


def test_lookups_suggest() -> None:
    libraries = Libraries(parse_tasks(tasks_text(task()), "t"), ())
    with pytest.raises(UnknownNameError, match="no atomic task 'plac'; did you mean 'place'"):
        libraries.task("plac")
    with pytest.raises(UnknownNameError, match="no atomic oracle 'x'; there are none"):
        libraries.oracle("x")


def test_link_finds_missing_tasks() -> None:
    oracles = parse_oracles(oracles_text(oracle(), oracle(task_id="plase", oracle_id="p2")), "o")
    with pytest.raises(SpecificationError) as caught:
        link(parse_tasks(tasks_text(task()), "t"), oracles, source="o")
    [problem] = caught.value.problems
    assert problem.path == "atomic_oracles.1.task_id"
    assert problem.message == "no atomic task 'plase'; did you mean 'place'?"


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        (tasks_text(task(), task()), "atomic_tasks.1.id", "already the id of atomic_tasks.0"),
        (tasks_text(task(parameters=["a", "a"])), "atomic_tasks.0.parameters.1", "twice"),
        (tasks_text(task(postcondition=[])), "atomic_tasks.0.postcondition", "'postconditions'"),
        (tasks_text(task(preconditions="x")), "atomic_tasks.0.preconditions", "a list is needed"),
        (tasks_text(task(parameters=[1])), "atomic_tasks.0.parameters.0", "text is needed"),
        (json.dumps({"atomic_tasks": [], "x": 1}), "x", "there are: atomic_tasks"),
        (oracles_text(oracle(), oracle()), "atomic_oracles.1.oracle_id", "already the oracle_id"),
        (
            oracles_text(oracle(expression={})),
            "atomic_oracles.0.expression",
            "needs exactly one of all_of, any_of, not, function",
        ),
        (
            oracles_text(oracle(expression={"any_of": [CALL], "not": CALL})),
            "atomic_oracles.0.expression",
            "not any_of and not",
        ),
        (
            oracles_text(oracle(expression={"all_of": []})),
            "atomic_oracles.0.expression.all_of",
            "an empty conjunction would always hold",
        ),
        (
            oracles_text(oracle(expression={"any_of": []})),
            "atomic_oracles.0.expression.any_of",
            "an empty disjunction would never hold",
        ),
        (
            oracles_text(oracle(expression={"function": "f"})),
            "atomic_oracles.0.expression",
            "function and arguments go together",
        ),
        (
            oracles_text(oracle(expression={"not": CALL, "arguments": []})),
            "atomic_oracles.0.expression",
            "function and arguments go together",
        ),
        (
            oracles_text(oracle(expression={"not": {"any": [CALL]}})),
            "atomic_oracles.0.expression.not.any",
            "did you mean 'any_of'",
        ),
        (
            oracles_text(oracle(expression={"not": {"function": "f", "arguments": ["bb"]}})),
            "atomic_oracles.0.expression.not.arguments.0",
            "no parameter 'bb'",
        ),
        (
            oracles_text(oracle(expression={"any_of": [{"function": "f", "arguments": [True]}]})),
            "atomic_oracles.0.expression.any_of.0.arguments.0",
            "boolean",
        ),
    ],
)
def test_refusals(text: str, path: str, message: str) -> None:
    found = refusal(text)
    assert len(found) == 1, found
    assert found[0][0] == path
    assert message in found[0][1]


def test_depth_is_limited() -> None:
    expression: dict[str, Any] = CALL
    for _ in range(7):
        expression = {"not": expression}
    [atomic] = parse_oracles(oracles_text(oracle(expression=expression)), "o")
    assert atomic.expression.depth == 8
    found = refusal(oracles_text(oracle(expression={"not": expression})))
    assert found == [("atomic_oracles.0.expression", "nested 9 levels deep; the limit is 8")]
    for _ in range(400):
        expression = {"not": expression}
    assert refusal(oracles_text(oracle(expression=expression))) == [("", "nested deeper than 32 levels")]


def test_every_problem_at_once() -> None:
    text = oracles_text(oracle(expression={"all_of": [{}, {"any_of": []}]}), oracle(task_id=""))
    assert [path for path, _ in refusal(text)] == [
        "atomic_oracles.0.expression.all_of.0",
        "atomic_oracles.0.expression.all_of.1.any_of",
        "atomic_oracles.1.task_id",
    ]


def test_sniff() -> None:
    assert sniff({"plan": [], "instruction": ""}) == "oracle"
    assert sniff({"atomic_tasks": []}) == "atomic_tasks"
    assert sniff({"atomic_oracles": []}) == "atomic_oracles"
    wrong: list[object] = [{}, [], None, "plan", {"plan": [], "atomic_tasks": []}]
    for document in wrong:
        with pytest.raises(SpecificationError, match="is needed; this has"):
            sniff(document, "x.json")
