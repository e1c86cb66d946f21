"""Both real SDKs against a server on loopback, and no connection to anywhere else."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from generator.models.base import LanguageModel
from generator.models.gemini import GeminiModel
from generator.models.keys import Key
from generator.models.openai_compatible import OpenAICompatibleModel
from tests.generator.models.replies import KEY
from tests.generator.models.server import Answer, ModelServer, gemini_answer, openai_answer


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection and look-up that leaves this machine."""
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def connect_here(self: socket.socket, address: Any) -> None:
        assert address[0] == "127.0.0.1", f"a connection to {address}"
        connect(self, address)

    def look_up_here(host: Any, *rest: Any, **options: Any) -> Any:
        assert host in ("127.0.0.1", b"127.0.0.1"), f"a look-up of {host}"
        return look_up(host, *rest, **options)

    monkeypatch.setattr(socket.socket, "connect", connect_here)
    monkeypatch.setattr(socket, "getaddrinfo", look_up_here)
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_LOG"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server that misbehaves as it is told."""
    running = ModelServer()
    try:
        yield running
    finally:
        running.close()


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
