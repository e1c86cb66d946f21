"""The real command, killed at many points and started again: nothing that was kept is asked again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.generator.models.replies import KEY
from tests.generator.models.server import ModelServer
from tests.generator.modules.answers import VARIABLE, RulesAnswers, profile, read_question

pytestmark = pytest.mark.slow

COMMAND = "from mango_trace.cli.main import main; main()"
PATIENCE_S = 120
Asked = tuple[str, str]
"""What was asked, and the data that it was about."""


@dataclass
class Run:
    """The command on some tasks, with what it writes.

    Attributes:
        folder: Where everything lies.
        dataset: The tasks.
        text: The profile.
    """

    folder: Path
    dataset: Path
    text: str

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def work(self) -> Path:
        return self.folder / "out.work"

    def start(self) -> subprocess.Popen[str]:
        self.folder.mkdir(exist_ok=True)
        path = self.folder / "profile.toml"
        path.write_text(self.text)
        arguments = [
            "generate",
            "oracles",
            self.dataset,
            "--out",
            self.out,
            "--config",
            path,
            "--format",
            "csv",
        ]
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND, *map(str, arguments)],
            env=os.environ | {VARIABLE: KEY},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def files(self) -> dict[str, str]:
        """What it is for."""
        return {path.name: path.read_text() for path in self.out.iterdir()}

    def kept(self) -> dict[Asked, str]:
        """Answers that are kept, by what was asked."""
        calls = [json.loads(path.read_text()) for path in self.work.glob("calls/*.json")]
        return {(one["request"]["task"], data(one["request"]["inputs"])): one["text"] for one in calls}

    def transcript(self) -> list[dict[str, object]]:
        lines = (self.work / "transcript.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


def data(inputs: object) -> str:
    return json.dumps(inputs, sort_keys=True)


def asked_of(server: ModelServer, start: int) -> list[Asked]:
    questions = map(read_question, server.asked[start:])
    return [(one.what, data(one.inputs)) for one in questions]


@pytest.fixture
def answers(server: ModelServer) -> RulesAnswers:
    """Some calls are always in flight when the command is killed."""
    server.script = found = RulesAnswers("gemini")
    found.delays = dict.fromkeys(("oracles.write", "plan.assess.logic", "plan.write", "tasks.write"), 0.05)
    return found


@pytest.fixture
def whole(server: ModelServer, answers: RulesAnswers, five_tasks: Path, tmp_path: Path) -> Run:
    """A run that nobody interrupts."""
    run = Run(tmp_path / "whole", five_tasks, profile("gemini", server))
    out, err = (process := run.start()).communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, out + err
    assert "5 of 5 oracles written" in err
    return run


def go_on(run: Run, server: ModelServer) -> int:
    """Start the command again and let it end; gives how many calls that took."""
    kept, start = run.kept(), len(server.asked)
    process = run.start()
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, out + err
    asked = asked_of(server, start)
    assert len(asked) == len(set(asked))
    assert not set(asked) & set(kept), "asked again"
    return len(asked)


def check_equal(run: Run, whole: Run) -> None:
    """It ended as if nobody had interrupted it."""
    assert run.files() == whole.files()
    assert run.kept() == whole.kept()
    assert {entry["what"] for entry in run.transcript()} == {entry["what"] for entry in whole.transcript()}


def kill_when(process: subprocess.Popen[str], happened: Callable[[], bool]) -> bool:
    """Kill the command when something is so; says whether it was before its end."""
    begun = time.monotonic()
    while process.poll() is None and not happened():
        assert time.monotonic() - begun < PATIENCE_S
        time.sleep(0.0005)
    killed = process.poll() is None
    process.kill()
    process.communicate()
    return killed


def kill_after(run: Run, server: ModelServer, n_more: int) -> bool:
    """Kill the command as soon as so many more answers were sent; says whether it came to that."""
    process = run.start()
    last, killed = len(server.answered) + n_more, threading.Event()

    def answered(count: int) -> None:
        if count == last:
            killed.set()
            os.kill(process.pid, signal.SIGKILL)

    server.on_answered = answered
    try:
        process.communicate(timeout=PATIENCE_S)
    finally:
        server.on_answered = lambda _: None
    return killed.is_set()


def test_killed_again_and_again(whole: Run, server: ModelServer) -> None:
    """After every two, three, four ... further answers, until there is nothing left to ask."""
    n_all = len(server.asked)
    run = Run(whole.folder.with_name("killed"), whole.dataset, whole.text)
    kills, lost = 0, 0
    for n_more in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10):
        kept, start = run.kept(), len(server.asked)
        interrupted = kill_after(run, server, n_more)
        assert not set(asked_of(server, start)) & set(kept), "asked again"
        assert set(kept) <= set(run.kept())
        if not interrupted:
            break
        kills += 1
        lost += len(asked_of(server, start)) - (len(run.kept()) - len(kept))
    assert kills >= 5
    go_on(run, server)
    check_equal(run, whole)
    assert len(server.asked) == 2 * n_all + lost  # only what was in flight when it was killed


@pytest.mark.parametrize(
    "place", ["out.work/covered.json", "out/atomic_tasks.json", "out/atomic_oracles.json", "out/*SCENE*.json"]
)
def test_killed_between_modules(whole: Run, server: ModelServer, place: str) -> None:
    """At the moment at which a module has written what the next one reads."""
    run = Run(whole.folder.with_name("killed"), whole.dataset, whole.text)
    assert kill_when(run.start(), lambda: any(run.folder.glob(place)))
    go_on(run, server)
    check_equal(run, whole)


@pytest.mark.parametrize("what", ["tasks.judge", "oracles.write", "oracles.judge.library", "plan.write"])
def test_killed_at_the_first_question_of_a_kind(
    whole: Run, server: ModelServer, answers: RulesAnswers, what: str
) -> None:
    run = Run(whole.folder.with_name("killed"), whole.dataset, whole.text)
    before = answers.count(what)
    assert kill_when(run.start(), lambda: answers.count(what) > before)
    go_on(run, server)
    check_equal(run, whole)


def test_killed_while_it_starts_and_when_it_is_done(whole: Run, server: ModelServer) -> None:
    """Nothing was asked yet, and nothing is asked any more."""
    run = Run(whole.folder.with_name("killed"), whole.dataset, whole.text)
    n_all, process = len(server.asked), run.start()
    time.sleep(0.1)
    assert kill_when(process, lambda: True)
    assert go_on(run, server) == n_all
    assert go_on(run, server) == 0
    check_equal(run, whole)


def test_interrupted(whole: Run, server: ModelServer, answers: RulesAnswers) -> None:
    """Ctrl-C ends it with the calls that are in flight: nobody begins another item."""
    run = Run(whole.folder.with_name("killed"), whole.dataset, whole.text)
    answers.delays = dict.fromkeys(("oracles.write", "plan.write"), 0.5)
    before, n_before = answers.count("plan.write"), len(answers.questions)
    process, begun = run.start(), time.monotonic()
    while answers.count("plan.write") == before:
        assert time.monotonic() - begun < PATIENCE_S
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert time.monotonic() - begun < 20
    assert process.returncode == 130
    assert "interrupted; the same command goes on" in err
    assert "Traceback" not in err
    assert not [one.what for one in answers.questions[n_before:] if one.what.startswith("plan.assess")]
    go_on(run, server)
    check_equal(run, whole)
