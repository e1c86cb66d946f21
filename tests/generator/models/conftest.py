"""Both real SDKs against a server on loopback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from generator.models.base import LanguageModel
from generator.models.gemini import GeminiModel
from generator.models.keys import Key
from generator.models.openai_compatible import OpenAICompatibleModel
from tests.generator.models.replies import KEY
from tests.generator.models.server import Answer, ModelServer, gemini_answer, openai_answer


@dataclass(frozen=True)
class Api:
    """One of the two APIs on the server.

    Attributes:
        kind: ``gemini`` or ``openai``.
        server: The server.
        model: The adapter, which asks it.
        said: Makes the answer with a text as reply.
        cut: What the API calls a reply that reached its limit.
    """

    kind: str
    server: ModelServer
    model: LanguageModel
    said: Callable[..., Answer]
    cut: str

    def answers(self, *script: Answer | str) -> None:
        """Set the script; a text is an answer with that reply."""
        self.server.script = [one if isinstance(one, Answer) else self.said(one) for one in script]


@pytest.fixture(params=["gemini", "openai"])
def api(request: pytest.FixtureRequest, server: ModelServer) -> Api:
    """Each of the two APIs."""
    if request.param == "gemini":
        return Api("gemini", server, GeminiModel("er-1", Key(KEY), server.url), gemini_answer, "MAX_TOKENS")
    model = OpenAICompatibleModel("reason-8b", f"{server.url}/v1", Key(KEY))
    return Api("openai", server, model, openai_answer, "length")
