"""The modules on each of the two APIs, with answers by the rules."""

from __future__ import annotations

import pytest

from tests.generator.models.server import ModelServer
from tests.generator.modules.answers import RulesAnswers


@pytest.fixture(params=["gemini", "openai"])
def kind(request: pytest.FixtureRequest) -> str:
    """Each of the two APIs."""
    return str(request.param)


@pytest.fixture
def answers(kind: str, server: ModelServer) -> RulesAnswers:
    """What the server answers."""
    server.script = found = RulesAnswers(kind)
    return found
