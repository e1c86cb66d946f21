"""The modules on each of the two APIs, with answers by the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generator.models.server import ModelServer
from tests.generator.modules.answers import RulesAnswers, profile


@pytest.fixture(params=["gemini", "openai"])
def kind(request: pytest.FixtureRequest) -> str:
    """Each of the two APIs."""
    return str(request.param)


@pytest.fixture
def answers(kind: str, server: ModelServer) -> RulesAnswers:
    """What the server answers."""
    server.script = found = RulesAnswers(kind)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def text(kind: str, server: ModelServer) -> str:
    """The profile."""
    return profile(kind, server, "concurrency = 16")
