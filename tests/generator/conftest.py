"""A server on loopback, and no connection to anywhere else."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mango_trace.store import Dataset
from mango_trace.store.extract import extract_traces
from tests.generator.models.server import ModelServer
from tests.generator.rules.scenes import SAMPLE


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


@pytest.fixture(scope="session")
def five_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with one failed run of each of five tasks: nothing can be proven on them, in no time."""
    source, target = Dataset(SAMPLE), tmp_path_factory.mktemp("tasks") / "five"
    failed = {one.metadata.task: one for one in source.records if one.metadata.ended == "truncated"}
    list(extract_traces(source, list(failed.values())[:5], target))
    return target
