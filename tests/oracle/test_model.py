"""The oracle document: what is read, what is refused, and with which words."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from mango_trace.errors import SpecificationError
from mango_trace.oracle import FineGrainedOracle, Monitor, parse_oracle, read_oracle
from mango_trace.oracle.document import MAX_BYTES, MAX_PROBLEMS

PLAIN: dict[str, Any] = {
    "instruction": "put the bowl on the plate",
    "execution_mode": "sequential",
    "plan": [
        {
            "step": 1,
            "instruction": "lift it",
            "execution_mode": "any_order",
            "actions": [
                {
                    "action_id": "lift",
                    "parameters": ["bowl_1"],
                    "monitoring": [
                        {
                            "oracle_id": "lifted_o",
                            "handle_as": {"function": "lifted", "arguments": ["bowl_1", 0.05]},
                        }
                    ],
                }
            ],
        }
    ],
}
ACTION = ("plan", 0, "actions", 0)
HANDLE = (*ACTION, "monitoring", 0, "handle_as")


def changed(*where: Any, to: Any) -> dict[str, Any]:
    """The plain document with one place replaced; ``KeyError`` as value deletes it."""
    document = copy.deepcopy(PLAIN)
    node: Any = document
    for part in where[:-1]:
        node = node[part]
    if to is KeyError:
        del node[where[-1]]
    else:
        node[where[-1]] = to
    return document


def problems(document: object) -> list[tuple[str, str]]:
    text = document if isinstance(document, str | bytes) else json.dumps(document)
    with pytest.raises(SpecificationError) as caught:
        parse_oracle(text, "o.json")
    assert caught.value.source == "o.json"
    return [(problem.path, problem.message) for problem in caught.value.problems]


def test_reads_the_plain_document() -> None:
    oracle = parse_oracle(json.dumps(PLAIN), "o.json")
    action = oracle.plan[0].actions[0]
    assert action.monitoring[0].handle_as.arguments == ("bowl_1", 0.05)
    assert (action.hold, action.at_end, oracle.never) == (1, False, ())
    assert json.loads(oracle.canonical) == PLAIN


def test_arguments_keep_their_type() -> None:
    values = ["1", 1, 1.5, True, False, 0]
    oracle = parse_oracle(json.dumps(changed(*HANDLE, "arguments", to=values)), "o")
    kept = oracle.plan[0].actions[0].monitoring[0].handle_as.arguments
    assert [(type(v), v) for v in kept] == [(type(v), v) for v in values]


def test_is_frozen_and_hashable() -> None:
    oracle = parse_oracle(json.dumps(PLAIN), "o")
    with pytest.raises(ValidationError):
        oracle.instruction = "x"
    assert hash(oracle) == hash(parse_oracle(json.dumps(PLAIN), "other"))


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [
        (changed("plan", to=[]), "plan", "an empty conjunction would always hold"),
        (changed("plan", 0, "actions", to=[]), "plan.0.actions", "empty conjunction would always"),
        (changed(*ACTION, "monitoring", to=[]), "plan.0.actions.0.monitoring", "always hold"),
        (changed(*ACTION, "parameters", to=[]), "plan.0.actions.0.parameters", "at least one name"),
        (changed("plan", to=KeyError), "plan", "this field is missing"),
        (changed("plan", to={}), "plan", "a list is needed, not an object"),
        (changed("plan", 0, to="x"), "plan.0", "an object {...} is needed, not the text 'x'"),
        (changed("instruction", to=3), "instruction", "text is needed, not the number 3"),
        (changed("execution_mode", to="seq"), "execution_mode", "'sequential' or 'any_order'"),
        (changed("plan", 0, "step", to="1"), "plan.0.step", "whole number is needed, not the text"),
        (changed("plan", 0, "step", to=1.0), "plan.0.step", "whole number is needed"),
        (changed("plan", 0, "step", to=True), "plan.0.step", "whole number is needed, not true"),
        (changed("plan", 0, "step", to=0), "plan.0.step", "must be at least 1, not 0"),
        (changed(*ACTION, "hold", to=0), "plan.0.actions.0.hold", "at least 1"),
        (changed(*ACTION, "hold", to=10**9), "plan.0.actions.0.hold", "at most 1000000"),
        (changed(*ACTION, "at_end", to=1), "plan.0.actions.0.at_end", "true or false is needed"),
        (changed(*ACTION, "action_id", to=""), "plan.0.actions.0.action_id", "must not be empty"),
        (changed(*ACTION, "action_id", to="x" * 201), "plan.0.actions.0.action_id", "longer than"),
        (changed(*ACTION, "holds", to=2), "plan.0.actions.0.holds", "did you mean 'hold'"),
        (changed("stepz", to=2), "stepz", "there are: execution_mode, instruction, never, plan"),
        (
            changed(*HANDLE, "args", to=[]),
            "plan.0.actions.0.monitoring.0.handle_as.args",
            "(fields: function, arguments)",
        ),
        (
            changed(*HANDLE, "arguments", 1, to=None),
            "plan.0.actions.0.monitoring.0.handle_as.arguments.1",
            "a name, a number, true or false is needed, not null",
        ),
        (
            changed(*HANDLE, "arguments", 1, to=["x"]),
            "plan.0.actions.0.monitoring.0.handle_as.arguments.1",
            "not a list",
        ),
        (
            changed(*HANDLE, "arguments", 1, to=float("nan")),
            "plan.0.actions.0.monitoring.0.handle_as.arguments.1",
            "must be a finite number",
        ),
        (
            changed(*HANDLE, "arguments", 1, to=10**18),
            "plan.0.actions.0.monitoring.0.handle_as.arguments.1",
            "too large",
        ),
        (
            changed(*HANDLE, "arguments", 0, to="\ud800"),
            "plan.0.actions.0.monitoring.0.handle_as.arguments.0",
            "not valid Unicode",
        ),
        ([], "", "an object {...} is needed, not a list"),
    ],
)
def test_refusals(document: object, path: str, message: str) -> None:
    found = problems(document)
    assert len(found) == 1, found
    assert found[0][0] == path
    assert message in found[0][1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "plan": [,]\n}', "at line 2, column 12"),
        ("", "line 1, column 1"),
        (b"\xff{}", "not UTF-8: byte 0"),
        ("[" * 100, "not JSON"),
        ("[" * 100 + "]" * 100, "nested deeper than 32"),
        ("[" * 400_000, "nested deeper than 32"),
        ('{"a": ' * 90_000, "nested deeper than 32"),
        (" " * (MAX_BYTES + 1), "larger than 1048576 bytes"),
        ("é" * (MAX_BYTES // 2 + 1), "larger than"),
    ],
)
def test_text_that_is_no_document(text: str | bytes, message: str) -> None:
    [(path, found)] = problems(text)
    assert path == ""
    assert message in found


def test_infinity_and_huge_integers_are_no_numbers() -> None:
    text = json.dumps(changed(*HANDLE, "arguments", to=["bowl_1", "HERE"]))
    for number in ("1e999", "Infinity", "-Infinity", "9" * 5000):
        [(_, message)] = problems(text.replace('"HERE"', number))
        assert message == "must be a finite number"


def test_duplicate_keys_are_all_found() -> None:
    text = json.dumps(PLAIN).replace('"step": 1', '"step": 1, "step": 2, "step": 3')
    text = text.replace('"function"', '"function": "x", "function"')
    assert problems(text) == [
        ("plan.0", "the field 'step' is there twice"),
        ("plan.0.actions.0.monitoring.0.handle_as", "the field 'function' is there twice"),
    ]


def test_steps_increase_and_every_problem_is_listed_in_order() -> None:
    document = copy.deepcopy(PLAIN)
    document["plan"] = [copy.deepcopy(PLAIN["plan"][0]) for _ in range(3)]
    document["plan"][1]["actions"][0]["hold"] = 0
    document["plan"][2]["step"] = 1
    document["instruction"] = None
    del document["execution_mode"]
    assert [path for path, _ in problems(document)] == [
        "instruction",
        "plan.1.step",
        "plan.1.actions.0.hold",
        "plan.2.step",
        "execution_mode",
    ]
    document = changed("plan", to=[{**PLAIN["plan"][0], "step": n} for n in (2, 5, 5)])
    assert problems(document) == [("plan.2.step", "steps must increase: 5 comes after 5")]
    with pytest.raises(ValidationError, match="steps must increase"):
        FineGrainedOracle.model_validate_json(json.dumps(document))


def test_size_of_plan_is_limited() -> None:
    action = PLAIN["plan"][0]["actions"][0]
    assert parse_oracle(json.dumps(changed("plan", 0, "actions", to=[action] * 1000)), "o")
    found = problems(changed("plan", 0, "actions", to=[action] * 1001))
    assert found == [("plan", "1001 actions; the limit is 1000")]


def test_number_of_problems_is_limited() -> None:
    found = problems(changed(*ACTION, "parameters", to=[1] * 5000))
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1] == ("", "and 4800 more problems")


def test_digest_is_the_identity_of_the_meaning() -> None:
    digest = parse_oracle(json.dumps(PLAIN), "o").digest
    assert len(digest) == 64
    same: list[str | bytes] = [
        json.dumps(PLAIN, indent=4, sort_keys=True),
        b"\xef\xbb\xbf" + json.dumps(PLAIN).encode(),
        json.dumps({**changed(*ACTION, "hold", to=1), "never": []}),
        json.dumps(changed(*ACTION, "at_end", to=False)),
        json.dumps(changed(*ACTION, "monitoring", 0, "negate", to=False)),
    ]
    other = [
        json.dumps(changed(*ACTION, "hold", to=2)),
        json.dumps(changed(*ACTION, "at_end", to=True)),
        json.dumps(changed(*ACTION, "monitoring", 0, "negate", to=True)),
        json.dumps(changed(*HANDLE, "arguments", 1, to=0.06)),
        json.dumps(changed(*HANDLE, "arguments", 1, to="0.05")),
        json.dumps({**PLAIN, "never": PLAIN["plan"][0]["actions"][0]["monitoring"]}),
    ]
    assert {parse_oracle(text, "o").digest for text in same} == {digest}
    assert len({parse_oracle(text, "o").digest for text in other} | {digest}) == len(other) + 1
    numbers = [
        parse_oracle(json.dumps(changed(*HANDLE, "arguments", to=[value])), "o").digest
        for value in (1, 1.0, True, "1")
    ]
    assert numbers[0] == numbers[1]
    assert len(set(numbers)) == 3


def test_digest_is_pinned() -> None:
    """Stored verdicts are keyed by it: it must not change with a version of a library."""
    assert parse_oracle(json.dumps(PLAIN), "o").digest == (
        "cea3197cd1186b996219ae5cfba22449af230d0e292238eed0e1419edb0f42af"
    )


def test_read_oracle(tmp_path: Path) -> None:
    file = tmp_path / "o.json"
    file.write_text(json.dumps(PLAIN))
    assert read_oracle(file) == parse_oracle(json.dumps(PLAIN), "o")
    with pytest.raises(SpecificationError, match="cannot be read"):
        read_oracle(tmp_path / "none.json")
    file.write_bytes(b" " * (MAX_BYTES + 5))
    with pytest.raises(SpecificationError, match="larger"):
        read_oracle(file)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(["plan", "step"]), children, max_size=3)
    ),
    max_leaves=8,
)
PLACES = st.sampled_from(
    [
        ("instruction",),
        ("plan",),
        ("plan", 0),
        ("plan", 0, "step"),
        ("plan", 0, "actions"),
        ACTION,
        (*ACTION, "monitoring"),
        HANDLE,
        (*HANDLE, "arguments"),
    ]
)


@settings(max_examples=200, deadline=None)
@given(PLACES, JSON)
def test_no_document_crashes(where: tuple[Any, ...], value: object) -> None:
    try:
        oracle = parse_oracle(json.dumps(changed(*where, to=value)), "o")
    except SpecificationError as error:
        assert error.problems  # noqa: PT017
    else:
        again = parse_oracle(oracle.canonical, "o")
        assert again.digest == oracle.digest


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40) | st.binary(max_size=40))
def test_no_text_crashes(text: str | bytes) -> None:
    with pytest.raises(SpecificationError):
        parse_oracle(text, "o")


def test_python_values_are_not_coerced() -> None:
    with pytest.raises(ValidationError):
        Monitor.model_validate({"oracle_id": 1, "handle_as": {"function": "f", "arguments": ()}})
