"""Models that answer by rules: behind an OpenAI-compatible server on loopback, or out of order when told."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler

from generator.errors import ProseError, ServerError
from generator.models.base import Reply, Request, Usage
from generator.prompting import LATEST, prompts
from generator.replies import Assessment, OraclesReply, PlanReply, Ruling, TasksReply
from generator.rules.model import RulesModel
from generator.targets import Scenes, Target
from tests.generator.models.server import Asked, ModelServer, openai_answer

PROFILE = """
[roles.generator]
api = "openai"
model = "served"
base_url = "{url}/v1"
prompt_version = "1"
prices = {{ input_usd = 1.0, output_usd = 10.0 }}

[roles.assessor]
api = "openai"
model = "served"
base_url = "{url}/v1"
prompt_version = "1"
prices = {{ input_usd = 1.0, output_usd = 10.0 }}

[roles.judge]
api = "openai"
model = "served"
base_url = "{url}/v1"
prompt_version = "1"
prices = {{ input_usd = 1.0, output_usd = 10.0 }}

[retries]
tries = 1
"""
"""A profile of that server."""

_REPLIES = (TasksReply, OraclesReply, PlanReply, Assessment, Ruling)


class RulesServer(ModelServer):
    """Answers by rules.

    Args:
        targets: Tasks whose scenes it knows.
    """

    def __init__(self, targets: Sequence[Target]) -> None:
        self._rules = RulesModel(Scenes(targets))
        self._questions = {prompt.question: name for name, prompt in prompts().items()}
        super().__init__()

    def _answer(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        body = json.loads(content)
        with self._lock:
            self.asked.append(Asked(handler.path, {}, body))
        text = self._said(body)
        handler.close_connection = True
        handler.send_response(200)
        handler.send_header("content-length", str(len(text.encode())))
        handler.send_header("content-type", "application/json")
        handler.end_headers()
        handler.wfile.write(text.encode())

    def _said(self, body: dict) -> str:
        system, user = body["messages"]
        question, *_, data = [part["text"] for part in user["content"]]
        name = self._questions[question]
        form = body["response_format"]["json_schema"]["name"]
        (reply,) = [one for one in _REPLIES if one.__name__ == form]
        role = prompts()[name].role
        request = Request(role, name, LATEST, system["content"], question, json.loads(data), reply)
        return json.dumps(openai_answer(self._rules.ask(request).text).body)


class RulesProvider:
    """Answers by rules as a paid model would, and counts.

    Args:
        targets: Tasks whose scenes it knows.

    Attributes:
        fails_after: Answers after which it is out of order; ``None`` for never.
        prose: Questions that it answers with words instead of JSON.
        answered: Questions that it answered.
    """

    name = "served"

    def __init__(self, targets: Sequence[Target]) -> None:
        self._rules = RulesModel(Scenes(targets))
        self._lock = threading.Lock()
        self.fails_after: int | None = None
        self.prose: set[str] = set()
        self.answered = 0

    def ask(self, request: Request) -> Reply:
        with self._lock:
            if self.fails_after is not None and self.answered >= self.fails_after:
                raise ServerError(self.name, 503, "out of order")
            self.answered += 1
        if request.task in self.prose:
            raise ProseError(self.name, "Certainly! ", "")
        usage = Usage(calls=1, input_tokens=100, reply_tokens=10, cost_usd=0.0002)
        return replace(self._rules.ask(request), usage=usage)
