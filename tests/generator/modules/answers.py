"""A test fixture: what the server on loopback answers to the modules' questions, by rules and no model."""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from generator.models.base import Request
from generator.models.config import parse_profile
from generator.models.opening import open_models
from generator.models.pace import CONCURRENCY
from generator.modules.plans import Instruction
from generator.prompting import LATEST, ROLES, prompts
from generator.replies import Assessment, OraclesReply, PlanReply, Ruling, TasksReply
from generator.rules.model import RulesModel
from generator.team import Member, Team, Transcript
from tests.generator.models.replies import KEY
from tests.generator.models.server import Answer, Asked, ModelServer, gemini_answer, openai_answer
from tests.generator.rules.scenes import libero_10

VARIABLE = "TEST_MODEL_KEY"
"""Environment variable with the key."""

ENVIRONMENT = {VARIABLE: KEY}
FOR_EVER = itertools.repeat
Told: TypeAlias = Answer | str | Callable[[str], str] | None
"""An answer, a reply, what is made of the rules' reply, or that reply as it is."""

FOOLED = Assessment(issues=["it holds before the robot moved"], justification="", score=6.0).model_dump_json()
REPLIES = {"tasks.write": TasksReply, "oracles.write": OraclesReply, "plan.write": PlanReply}


@dataclass(frozen=True)
class Question:
    """What a request asks.

    Attributes:
        what: Name of its prompt, such as ``plan.assess.logic``.
        item: The atomic task or the instruction's task that it is about; empty for a library.
        inputs: What it is about.
        asked: The request.
    """

    what: str
    item: str
    inputs: Mapping[str, Any]
    asked: Asked

    @property
    def reply(self) -> type[Any]:
        """Type of the reply."""
        return REPLIES.get(self.what, Assessment if ".assess." in self.what else Ruling)


def read_question(asked: Asked) -> Question:
    """Find out what a request asks, from its texts alone."""
    if "generateContent" in asked.path:
        parts = [part["text"] for part in asked.body["contents"][0]["parts"]]
    else:
        parts = [part["text"] for part in asked.body["messages"][1]["content"]]
    inputs = json.loads(parts[-1])
    (what,) = [name for name, prompt in prompts().items() if prompt.question == parts[0]]
    item = inputs["task"]["id"] if "task" in inputs else inputs.get("scene", {}).get("task", "")
    return Question(what, item, inputs, asked)


def attempt(number: int) -> Callable[[str], str]:
    """A candidate that differs from the others: what was said about the same one would be said again."""
    start = re.compile(r'("description":"|"step":\d+,"instruction":")')
    return lambda reply: start.sub(rf"\g<1>attempt {number}: ", reply)


def blocked(kind: str) -> Answer:
    """An answer whose reply was blocked."""
    return gemini_answer(finish="SAFETY") if kind == "gemini" else openai_answer("", finish="content_filter")


def said(kind: str, text: str) -> Answer:
    """An answer of an API with a text as reply."""
    return gemini_answer(text) if kind == "gemini" else openai_answer(text)


class RulesAnswers:
    """Answers by the rules after a delay, unless it is told to misbehave.

    Attributes:
        questions: All questions in the order in which they came.
        delays: Seconds before an answer, by the name of the prompt; 0 for others.
    """

    def __init__(self, kind: str) -> None:
        self.questions: list[Question] = []
        self.delays: Mapping[str, float] = {}
        self._kind = kind
        self._rules = RulesModel({task.name: (task.scene, task.problem) for task in libero_10()})
        self._instead: dict[tuple[str, str | None], Iterator[Told]] = {}
        self._replies: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def instead(self, what: str, answers: Iterable[Told], item: str | None = None) -> None:
        """Give these answers to a question before the rules answer it."""
        self._instead[what, item] = iter(answers)

    def __call__(self, asked: Asked) -> Answer:
        """Answer one request, so long after it came as is said: what the rules take is a part of it."""
        question = read_question(asked)
        with self._lock:
            self.questions.append(question)
            told = next(self._instead.get((question.what, question.item), iter(())), None)
            if told is None:
                told = next(self._instead.get((question.what, None), iter(())), None)
        if isinstance(told, Answer):
            return told
        if told is None:
            told = self.by_rules(question)
        answer = said(self._kind, told if isinstance(told, str) else told(self.by_rules(question)))
        passed_s = time.monotonic() - asked.at
        return replace(answer, wait_s=max(0.0, self.delays.get(question.what, 0.0) - passed_s))

    def by_rules(self, question: Question) -> str:
        """The reply of the rules."""
        key = (question.what, json.dumps(question.inputs))
        if key not in self._replies:
            prompt = prompts()[question.what]
            about = (prompt.role, question.what, LATEST, prompt.system, prompt.question)
            request: Request[Any] = Request(*about, question.inputs, question.reply)
            self._replies[key] = self._rules.ask(request).text
        return self._replies[key]

    def count(self, what: str, item: str | None = None) -> int:
        """How often something was asked."""
        return sum(one.what == what and item in (None, one.item) for one in self.questions)


def profile(kind: str, server: ModelServer, top: str = "", **settings: object) -> str:
    """A profile whose three roles ask the server; ``settings`` are those of each role."""
    url = server.url if kind == "gemini" else f"{server.url}/v1"
    given = "\n".join(f"{name} = {value}" for name, value in {"deadline_s": 20, **settings}.items())
    roles = "\n".join(
        f"""
[roles.{role}]
api = "{kind}"
model = "{role}-1"
base_url = "{url}"
key_variable = "{VARIABLE}"
prompt_version = "{LATEST}"
{given}"""
        for role in ROLES
    )
    return f"""{top}
{roles}

[retries]
tries = 4
replies = 2
first_wait_s = 0.01
longest_wait_s = 0.02
"""


@contextmanager
def open_team(text: str, folder: Path) -> Iterator[Team]:
    """The team of a profile, with its cassette and transcript in a folder, as the command makes it."""
    chosen = parse_profile(text.encode(), "profile")
    models = open_models(chosen, folder / "calls", environment=ENVIRONMENT)
    members = {role: Member(model, chosen.by_role[role].settings, LATEST) for role, model in models.items()}
    folder.mkdir(parents=True, exist_ok=True)
    with Transcript(folder / "transcript.jsonl") as transcript:
        yield Team(members, transcript, concurrency=chosen.concurrency)


def team_of_rules(concurrency: int = CONCURRENCY) -> Team:
    """A team without server."""
    return Team({role: Member(RulesModel({})) for role in ROLES}, Transcript(None), concurrency=concurrency)


def transcript_of(folder: Path) -> list[dict[str, Any]]:
    """The lines of a transcript."""
    return [json.loads(line) for line in (folder / "transcript.jsonl").read_text().splitlines()]


def content_of(folder: Path) -> list[str]:
    """A transcript's content: what was asked and said, in no order, without times."""
    entries = transcript_of(folder)
    for entry in entries:
        del entry["when"]
        entry.get("usage", {}).pop("seconds", None)
    return sorted(json.dumps(entry, sort_keys=True) for entry in entries)


def instructions(n: int = 5) -> list[Instruction]:
    """Some tasks of LIBERO_10."""
    return [Instruction(task.name, task.instruction, task.scene) for task in libero_10()[:n]]
