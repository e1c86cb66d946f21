"""Models that answer by rules, and are out of order when told."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from generator.errors import ProseError, ServerError
from generator.models.base import Reply, Request, Usage
from generator.rules.model import RulesModel
from generator.targets import Scenes, Target

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
"""A profile of a server that speaks OpenAI's API."""


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
