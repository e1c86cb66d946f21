"""Whole modules against a server that misbehaves: right errors, bounded attempts, and the others go on."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from generator.errors import ConnectionFailedError, MalformedReplyError, ModelError, RateLimitedError
from generator.modules.oracles import LibraryOutcome, write_oracles
from generator.modules.plans import Instruction, PlanOutcome, write_plans
from generator.modules.tasks import write_tasks
from generator.replies import Assessment, OraclesReply, PlanReply, Ruling, TasksReply
from generator.team import Team
from tests.generator.models.replies import KEY
from tests.generator.models.server import Answer, ModelServer, gemini_answer, openai_answer
from tests.generator.modules.answers import (
    FOR_EVER,
    RulesAnswers,
    instructions,
    open_team,
    profile,
    transcript_of,
)
from tests.generator.modules.faults import FAULTS, LATE, TRIES, Fault
from tests.generator.rules.scenes import libraries
from tests.remote import free_port

LIBRARIES = libraries()
BUSY = Answer({"error": {"message": "overloaded"}}, 503)


def plans(team: Team, given: Sequence[Instruction]) -> list[PlanOutcome]:
    return list(write_plans(team, given, LIBRARIES.tasks, LIBRARIES.oracles))


def check(error: object, fault: Fault, answers: RulesAnswers, folder: Path, what: str, item: str) -> None:
    """The error is the fault's own, the question was the same each time, and nothing of it was kept."""
    assert isinstance(error, ModelError)
    assert type(error) is fault.kind
    assert fault.says in str(error)
    assert error.exit_code != 0
    assert error.usage is not None
    asked = [one.asked.body for one in answers.questions if (one.what, one.item) == (what, item)]
    assert len(asked) == error.usage.calls == fault.asked
    assert all(body == asked[0] for body in asked)
    (line,) = [one for one in transcript_of(folder) if one["what"] == what and item_of(one["inputs"]) == item]
    assert line["error"] == f"{fault.kind.__name__}: {error}"
    kept = [json.loads(path.read_text())["request"] for path in (folder / "calls").glob("*.json")]
    assert not [one for one in kept if (one["task"], item_of(one["inputs"])) == (what, item)]


def item_of(inputs: dict[str, Any]) -> str:
    return str(inputs["task"]["id"] if "task" in inputs else inputs.get("scene", {}).get("task", ""))


@pytest.mark.parametrize("name", FAULTS)
def test_module_i_ends_in_the_error(
    kind: str, answers: RulesAnswers, text: str, folder: Path, name: str
) -> None:
    """There is one item: without it there is no library."""
    answers.instead("tasks.write", FOR_EVER(FAULTS[name].make(kind)))
    with open_team(text, folder) as team, pytest.raises(FAULTS[name].kind) as error:
        write_tasks(team, ["open the drawer"])
    check(error.value, FAULTS[name], answers, folder, "tasks.write", "")
    assert answers.count("tasks.judge") == 0


def test_what_takes_too_long(kind: str, server: ModelServer, answers: RulesAnswers, folder: Path) -> None:
    """In each module: two items of three reach their deadline, the third is written."""
    given, tasks = instructions(3), LIBRARIES.tasks[:3]
    for one, task, fault in zip(given, tasks, LATE.values(), strict=False):
        answers.instead("oracles.write", FOR_EVER(fault.make(kind)), item=task.id)
        answers.instead("plan.write", FOR_EVER(fault.make(kind)), item=one.name)
    with open_team(profile(kind, server, deadline_s=2), folder) as team:
        library = write_oracles(team, tasks)
        found = plans(team, given)
    for one, task, fault in zip(found, tasks, LATE.values(), strict=False):
        check(library.errors[task.id], fault, answers, folder, "oracles.write", task.id)
        check(one.error, fault, answers, folder, "plan.write", one.instruction.name)
    assert {one.task_id for one in library.oracles} == {tasks[2].id}
    assert found[2].outcome is not None
    assert found[2].outcome.accepted
    for fault in LATE.values():
        answers.instead("tasks.write", FOR_EVER(fault.make(kind)))
        with (
            open_team(profile(kind, server, deadline_s=0.5), folder) as team,
            pytest.raises(fault.kind, match=r"no answer within 0\.5 s"),
        ):
            write_tasks(team, ["open the drawer"])


BATCHES = [list(FAULTS)[start : start + 7] for start in range(0, len(FAULTS), 7)]


@pytest.mark.parametrize("names", BATCHES, ids=", ".join)
def test_module_ii_goes_on_with_the_other_tasks(
    kind: str, answers: RulesAnswers, text: str, folder: Path, names: list[str]
) -> None:
    faulty = {task.id: FAULTS[name] for task, name in zip(LIBRARIES.tasks, names, strict=False)}
    for task, fault in faulty.items():
        answers.instead("oracles.write", FOR_EVER(fault.make(kind)), item=task)
    with open_team(text, folder) as team:
        found = write_oracles(team, LIBRARIES.tasks)
    assert list(found.errors) == list(faulty)
    for task, fault in faulty.items():
        check(found.errors[task], fault, answers, folder, "oracles.write", task)
    others = [task.id for task in LIBRARIES.tasks if task.id not in faulty]
    assert {one.task_id for one in found.oracles} == set(others) != set()
    assert all(found.of_tasks[task].accepted for task in others)
    assert not found.accepted


@pytest.mark.parametrize("names", BATCHES, ids=", ".join)
def test_module_iii_goes_on_with_the_other_instructions(
    kind: str, answers: RulesAnswers, text: str, folder: Path, names: list[str]
) -> None:
    given = instructions(9)
    faulty = {one.name: FAULTS[name] for one, name in zip(given, names, strict=False)}
    for task, fault in faulty.items():
        answers.instead("plan.write", FOR_EVER(fault.make(kind)), item=task)
    with open_team(text, folder) as team:
        found = plans(team, given)
    assert [one.instruction for one in found] == given
    for one in found:
        if one.instruction.name in faulty:
            assert one.outcome is None
            check(
                one.error, faulty[one.instruction.name], answers, folder, "plan.write", one.instruction.name
            )
        else:
            assert one.error is None
            assert one.outcome is not None
            assert one.outcome.accepted


def test_o77_four_of_five(answers: RulesAnswers, text: str, folder: Path) -> None:
    """429 for ever for one of five; 503, 503, 200 for another, which is written by its third request."""
    given = instructions(5)
    limited, busy = given[1].name, given[3].name
    answers.instead("plan.write", FOR_EVER(Answer("", 429)), item=limited)
    answers.instead("plan.write", [BUSY, BUSY], item=busy)
    with open_team(text, folder) as team:
        found = plans(team, given)
        used = team.usage()["plan.write"]
    written = [one.instruction.name for one in found if one.outcome and one.outcome.accepted]
    assert f"{len(written)} of {len(found)} written" == "4 of 5 written"
    assert [type(one.error) for one in found if one.error] == [RateLimitedError]
    assert limited not in written
    assert answers.count("plan.write", busy) == 3
    assert answers.count("plan.write", limited) == TRIES
    assert used.calls == 3 + 3 + TRIES  # what failed was asked too


@pytest.mark.parametrize("what", ["plan.assess.grounding", "plan.judge"])
def test_an_assessor_or_a_judge_that_fails_ends_its_item_alone(
    answers: RulesAnswers, text: str, folder: Path, what: str
) -> None:
    """What the others said of it is kept: a second run asks nobody else."""
    given = instructions(3)
    answers.instead(what, FOR_EVER("well"), item=given[0].name)
    with open_team(text, folder) as team:
        found = plans(team, given)
    assert [type(one.error) for one in found] == [MalformedReplyError, type(None), type(None)]
    answers.instead(what, [], item=given[0].name)
    answers.questions.clear()
    with open_team(text, folder) as team:
        again = plans(team, given)
    assert all(one.outcome and one.outcome.accepted for one in again)
    expected = [what] if what == "plan.judge" else [what, "plan.judge"]
    assert [one.what for one in answers.questions] == expected


def test_a_judge_of_the_library_that_fails_ends_module_ii(
    answers: RulesAnswers, text: str, folder: Path
) -> None:
    """And loses nothing: a second run asks the judge alone."""
    answers.instead("oracles.judge.library", FOR_EVER(Answer(hang_up=True)))
    with open_team(text, folder) as team, pytest.raises(ConnectionFailedError):
        write_oracles(team, LIBRARIES.tasks)
    answers.instead("oracles.judge.library", [])
    answers.questions.clear()
    with open_team(text, folder) as team:
        assert write_oracles(team, LIBRARIES.tasks).accepted
    assert [one.what for one in answers.questions] == ["oracles.judge.library"]


def test_o76_thoughts_are_no_part_of_a_candidate(
    kind: str, answers: RulesAnswers, text: str, folder: Path
) -> None:
    """Kept apart by the API they are left out; the reply is one JSON value."""
    with open_team(text, folder / "plain") as team:
        plain = plans(team, instructions(1))
    (written,) = [answers.by_rules(one) for one in answers.questions if one.what == "plan.write"]
    thought = 'I might say {"plan": []}.'
    if kind == "gemini":
        answer = gemini_answer({"text": thought, "thought": True}, written[:50], written[50:])
    else:
        answer = openai_answer(written, reasoning_content=thought)
    answers.instead("plan.write", [answer])
    with open_team(text, folder / "thinking") as team:
        assert plans(team, instructions(1)) == plain
    assert "I might" not in (folder / "thinking" / "transcript.jsonl").read_text()


@pytest.mark.parametrize("reply", [TasksReply, OraclesReply, PlanReply, Assessment, Ruling])
def test_o70_o71_every_reply_type_can_be_asked_for(
    kind: str, server: ModelServer, folder: Path, reply: type[Any]
) -> None:
    """The SDK refuses none of them: what fails is the connection, to a port where nobody listens."""
    text = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{free_port()}", profile(kind, server))
    with open_team(text, folder) as team, pytest.raises(ConnectionFailedError):
        team.ask("plan.judge", {}, reply)


def test_the_key_is_in_nothing_that_a_run_writes(
    kind: str, answers: RulesAnswers, text: str, folder: Path
) -> None:
    """Also where a server repeats it in what it says."""
    echo = Answer({"error": {"message": f"the key {KEY} is wrong", "status": KEY}}, 401)
    given = instructions(3)
    answers.instead("plan.write", FOR_EVER(echo), item=given[0].name)
    noted = json.dumps({"issues": [], "justification": f"the key is {KEY}", "score": 10})
    answers.instead("plan.assess.logic", [noted], item=given[1].name)
    with open_team(text, folder) as team:
        found = plans(team, given)
        library: LibraryOutcome = write_oracles(team, LIBRARIES.tasks[:1])
    assert sum(one.outcome is not None for one in found) == 2
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == len(list((folder / "calls").iterdir())) + 1 > 10
    texts = [*(path.read_text() for path in files), *map(str, found), *map(repr, found), repr(library)]
    assert [one for one in texts if KEY in one] == []
    assert sum("[key]" in one for one in texts) >= 3
    assert all(any(KEY in value for value in one.asked.headers.values()) for one in answers.questions)


def test_faults_are_told_apart() -> None:
    """No two classes of errors say that the other's happened."""
    kinds = {fault.kind for fault in (FAULTS | LATE).values()}
    assert len(kinds) == 13
    for one, other in itertools.permutations(kinds, 2):
        assert not issubclass(one, other)
