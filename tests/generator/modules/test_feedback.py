"""What comes back from the program: candidates that it refuses, and what the generator is told of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from generator.errors import MalformedReplyError
from generator.modules.oracles import write_oracles
from generator.modules.plans import write_plans
from mango_trace.oracle import AtomicTask
from tests.generator.modules.answers import FOR_EVER, RulesAnswers, instructions, open_team
from tests.generator.rules.scenes import libraries

LIBRARIES = libraries()


@pytest.mark.parametrize(
    ("expression", "path"),
    [
        ('{"op":"xnor","args":[]}', "atomic_oracles[0].expression.op"),
        (
            '{"all_of":[{"function":"close","arguments":["part"]},{"any_of":[{"op":"xnor"}]}]}',
            "atomic_oracles[0].expression.all_of[1].any_of[0].op",
        ),
    ],
)
def test_o73_invented_fields_have_their_path(
    answers: RulesAnswers, text: str, folder: Path, expression: str, path: str
) -> None:
    answers.instead("oracles.write", FOR_EVER(with_expression(expression)), item="close")
    with open_team(text, folder) as team:
        found = write_oracles(team, closing())
    error = found.errors["close"]
    assert isinstance(error, MalformedReplyError)
    assert path in [problem.path for problem in error.problems]
    assert found.oracles == ()


def nested(depth: int) -> str:
    call = '{"function":"close","arguments":["part"]}'
    return '{"not":' * depth + call + "}" * depth


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        (
            '{"all_of":[{"not":{"any_of":[{"function":"xnor","arguments":["part"]}]}}]}',
            "part_is_closed.expression.all_of.0.not.any_of.0: no predicate 'xnor'",
        ),
        ('{"function":"close","arguments":["part","part"]}', "2 arguments do not fit close"),
        ('{"all_of":[]}', "all_of"),
        (nested(12), "13 levels deep"),
        # O-78: a number used as a condition.
        (
            '{"function":"distance","arguments":["part","part"]}',
            "part_is_closed.expression: distance is a number, and no condition",
        ),
    ],
)
def test_what_the_program_refuses_goes_back_to_the_generator(
    answers: RulesAnswers, text: str, folder: Path, expression: str, told: str
) -> None:
    """Well-formed, but no oracle: the next round is told why, with the path, and does better."""
    answers.instead("oracles.write", [with_expression(expression)], item="close")
    with open_team(text, folder) as team:
        found = write_oracles(team, closing())
    assert found.accepted
    assert len(found.of_tasks["close"].rounds) == 2
    first, second = [one.inputs for one in answers.questions if one.what == "oracles.write"]
    assert "corrections" not in first
    assert any(told in correction for correction in second["corrections"])
    assert "distance" not in str(found.oracles)


def with_expression(expression: str) -> Any:
    """The reply of the rules about one oracle, with another expression."""
    return lambda reply: re.sub(
        r'"expression":\{.*?\}(?=\}\])', lambda _: f'"expression":{expression}', reply
    )


def closing() -> tuple[AtomicTask, ...]:
    return tuple(task for task in LIBRARIES.tasks if task.id == "close")


def test_o78_a_number_as_monitor_goes_back_to_the_generator(
    answers: RulesAnswers, text: str, folder: Path
) -> None:
    """A distance is no condition: that does not compile, and no oracle with it is accepted."""
    given = instructions(1)

    def with_distance(reply: str) -> str:
        plan = json.loads(reply)
        names = plan["plan"][0]["actions"][0]["parameters"]
        handle = {"function": "distance", "arguments": [names[0], names[0]]}
        plan["plan"][0]["actions"][0]["monitoring"][0]["handle_as"] = handle
        return json.dumps(plan)

    answers.instead("plan.write", [with_distance])
    with open_team(text, folder) as team:
        (found,) = write_plans(team, given, LIBRARIES.tasks, LIBRARIES.oracles)
    assert found.outcome is not None
    assert found.outcome.accepted
    assert found.outcome.rounds[0].accepted is False
    second = [one.inputs for one in answers.questions if one.what == "plan.write"][1]
    where = "plan.0.actions.0.monitoring.0.handle_as.function"
    assert any(where in one and "distance" in one for one in second["corrections"])
    assert "distance" not in str(found.outcome.candidate)


def test_a_prompt_does_not_grow_from_round_to_round(answers: RulesAnswers, text: str, folder: Path) -> None:
    """Each round is told of the last one alone, however many there were."""
    plain = '{"function":"close","arguments":["part","part"]}'
    attempts = (with_expression(plain.replace("close", f"invented_{number}")) for number in range(100, 109))
    answers.instead("oracles.write", attempts, item="close")
    with open_team(text, folder) as team:
        found = write_oracles(team, closing())
    assert found.accepted
    asked = [one.inputs for one in answers.questions if one.what == "oracles.write"]
    sizes = [len(json.dumps(inputs)) for inputs in asked[1:]]
    assert len(sizes) == 9
    assert max(sizes) - min(sizes) < 10
