"""The whole command against a server that misbehaves: rows, exit codes, files, and no key anywhere."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mango_trace.cli.main import cli
from mango_trace.oracle import read_oracle
from mango_trace.shipped import shipped
from mango_trace.store import Dataset
from tests.generator.models.replies import KEY
from tests.generator.models.server import Answer, ModelServer
from tests.generator.modules.answers import ENVIRONMENT, FOR_EVER, VARIABLE, RulesAnswers, profile
from tests.generator.modules.faults import FAULTS, TRIES

REFERENCE = shipped("oracles") / "libero" / "libero_10"


class Command:
    """``mango-trace generate`` on five tasks, with the server as every model.

    Attributes:
        out: The folder that it writes to.
    """

    def __init__(self, folder: Path, dataset: Path, text: str) -> None:
        self.out = folder / "out"
        self._dataset, self._profile = dataset, folder / "profile.toml"
        self._profile.write_text(text)

    def run(self, what: str = "oracles", key: dict[str, str] = ENVIRONMENT, code: int = 0) -> Result:
        arguments = [what, str(self._dataset), "--out", str(self.out), "--config", str(self._profile)]
        if what == "oracles":
            arguments += ["--format", "json"]
        done = CliRunner().invoke(cli, ["generate", *arguments], env={VARIABLE: None, **key})
        assert done.exit_code == code, done.output
        return done

    def written(self) -> set[str]:
        return {path.stem for path in self.out.glob("*SCENE*.json")}

    @property
    def tasks(self) -> list[str]:
        """In the order of the dataset."""
        return list(dict.fromkeys(record.metadata.task for record in Dataset(self._dataset).records))

    def work(self) -> Path:
        return self.out.with_name("out.work")


@pytest.fixture
def command(kind: str, server: ModelServer, five_tasks: Path, tmp_path: Path) -> Command:
    return Command(tmp_path, five_tasks, profile(kind, server))


def rows(done: Result) -> dict[str, dict[str, Any]]:
    return {row["task"]: row for row in json.loads(done.stdout)}


def test_the_whole_way(answers: RulesAnswers, command: Command) -> None:
    """What comes is what was written by hand, and a second run asks nothing."""
    done = command.run()
    assert "5 of 5 oracles written" in done.stderr
    assert command.written() == set(rows(done))
    for task in command.written():
        assert (
            read_oracle(command.out / f"{task}.json").digest == read_oracle(REFERENCE / f"{task}.json").digest
        )
    n_asked = len(answers.questions)
    assert f"{n_asked} calls, {110 * n_asked} tokens" in done.stderr
    again = command.run()
    assert rows(again) == rows(done)
    assert "0 calls, 0 tokens" in again.stderr
    assert len(answers.questions) == n_asked


def test_o77_four_of_five(answers: RulesAnswers, command: Command) -> None:
    command.run("library")
    first = rows(command.run())
    assert len(first) == 5
    limited = sorted(first)[2]
    for path in command.work().joinpath("calls").iterdir():
        path.unlink()
    for path in command.out.glob("*SCENE*.json"):
        path.unlink()
    answers.questions.clear()
    answers.instead("plan.write", FOR_EVER(Answer("", 429)), item=limited)
    done = command.run(code=3)
    assert "4 of 5 oracles written" in done.stderr
    found = rows(done)
    assert {task: row["outcome"] for task, row in found.items()} == {
        task: "error" if task == limited else "accepted" for task in first
    }
    assert "rate limited (429)" in found[limited]["why"]
    assert f"after {TRIES} calls" in found[limited]["why"]
    assert command.written() == set(first) - {limited}
    assert answers.count("plan.write", limited) == TRIES


BATCHES = [list(FAULTS)[start : start + 4] for start in range(0, len(FAULTS), 4)]


@pytest.mark.parametrize("names", BATCHES, ids=", ".join)
def test_faults_are_rows(kind: str, answers: RulesAnswers, command: Command, names: list[str]) -> None:
    """Each with its reason, in the order of the tasks; the other is written, and the exit code says it."""
    tasks = command.tasks
    faults = dict(zip(tasks, map(FAULTS.__getitem__, names), strict=False))
    for task, fault in faults.items():
        answers.instead("plan.write", FOR_EVER(fault.make(kind)), item=task)
    done = command.run(code=3)
    found = rows(done)
    for task, fault in faults.items():
        assert found[task]["outcome"] == "error"
        assert fault.says in found[task]["why"]
        assert answers.count("plan.write", task) == fault.asked
    others = {task for task in found if task not in faults}
    assert command.written() == others != set()
    assert f"{len(others)} of 5 oracles written" in done.stderr


def test_a_task_of_the_library_that_fails(kind: str, answers: RulesAnswers, command: Command) -> None:
    """The library is not written with a gap; the others are not asked about again."""
    answers.instead("oracles.write", FOR_EVER(FAULTS["safety"].make(kind)), item="close")
    done = command.run("library", code=3)
    assert "oracles of atomic tasks: 4 of 5 written" in done.stderr
    assert "close: generator-1: the reply was blocked" in done.stderr
    assert (command.out / "atomic_tasks.json").exists()
    assert not (command.out / "atomic_oracles.json").exists()
    answers.instead("oracles.write", [], item="close")
    answers.questions.clear()
    command.run("library")
    assert [one.what for one in answers.questions] == [
        "oracles.write", "oracles.assess.hacker", "oracles.judge.library"
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["safety", "wrong schema", "503", "HTML"])
def test_without_tasks_there_is_no_library(
    kind: str, answers: RulesAnswers, command: Command, name: str
) -> None:
    answers.instead("tasks.write", FOR_EVER(FAULTS[name].make(kind)))
    done = command.run("library", code=3)
    assert FAULTS[name].says in done.stderr
    assert not command.out.exists()


def test_a_wrong_key_and_none(kind: str, answers: RulesAnswers, command: Command) -> None:
    """Wrong use, said at once: no server is asked without a key, and no second time with a wrong one."""
    done = command.run("library", key={}, code=2)
    assert f"set the environment variable {VARIABLE}" in done.stderr
    assert answers.questions == []
    answers.instead("tasks.write", FOR_EVER(FAULTS["401"].make(kind)))
    assert "refused with 401" in command.run("library", code=2).stderr
    assert len(answers.questions) == 1


def test_the_key_is_nowhere(
    kind: str, answers: RulesAnswers, command: Command, caplog: pytest.LogCaptureFixture
) -> None:
    """Files, table, messages and log, where a server repeats it in errors, headers and replies."""
    caplog.set_level(logging.DEBUG)
    one, two, three, *_ = command.tasks
    echo = {"error": {"message": f"the key {KEY} is wrong", "status": KEY}}
    answers.instead("plan.write", FOR_EVER(Answer(echo, 401, {"x-key": KEY})), item=one)
    answers.instead("plan.write", FOR_EVER(Answer(f"<html>{KEY}</html>", 500)), item=two)
    noted = json.dumps({"issues": [], "justification": f"the key is {KEY}", "score": 10})
    answers.instead("plan.assess.logic", [noted], item=three)
    done = command.run(code=3)
    assert "3 of 5 oracles written" in done.stderr
    files = [path for folder in (command.out, command.work()) for path in folder.rglob("*") if path.is_file()]
    texts = {str(path): path.read_text() for path in files}
    texts |= {"stdout": done.stdout, "stderr": done.stderr}
    texts["log"] = "".join(record.getMessage() + repr(record.__dict__) for record in caplog.records)
    assert caplog.records
    assert [name for name, text in texts.items() if KEY in text] == []
    assert sum("[key]" in text for text in texts.values()) >= 3
    assert all(any(KEY in value for value in asked.asked.headers.values()) for asked in answers.questions)
