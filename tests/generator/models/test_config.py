"""Profiles: what comes along is right, and what is wrong is said with its path."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from generator.errors import MissingKeyError, NoRecordedCallError
from generator.models.config import parse_profile, read_profile, shipped_profiles
from generator.models.opening import open_models
from mango_trace.errors import SpecificationError, UnknownNameError
from tests.generator.models.replies import KEY, Verdict, ask
from tests.generator.models.server import ModelServer, gemini_answer, openai_answer

ROLES = ("generator", "assessor", "judge")


def text(name: str) -> str:
    return Path(f"generator/profiles/{name}.toml").read_text()


def test_the_profiles_that_come_along() -> None:
    assert shipped_profiles() == ("gemini", "open")
    assert "robotics-er" in read_profile().roles.generator.model
    assert "flash-lite" in read_profile().roles.assessor.model
    assert {config.api for config in read_profile("open").by_role.values()} == {"openai"}


@pytest.mark.parametrize("name", ["gemini", "open"])
def test_opened_from_a_profile(name: str, server: ModelServer, tmp_path: Path) -> None:
    """The whole way, but for the address."""
    profile = re.sub(r"^base_url.*\n", "", text(name), flags=re.M)
    path = tmp_path / "mine.toml"
    path.write_text(re.sub(r"^(model = .*)$", rf'\1\nbase_url = "{server.url}"', profile, flags=re.M))
    good = '{"accepted": true, "reason": ""}'
    server.script = [gemini_answer(good) if name == "gemini" else openai_answer(good)]
    models = open_models(read_profile(str(path)), tmp_path / "calls", environment={"GEMINI_API_KEY": KEY})
    assert tuple(models) == ROLES
    assert [models[role].ask(ask(role=role)).value for role in ROLES] == [
        Verdict(accepted=True, reason="")
    ] * 3
    again = open_models(read_profile(str(path)), tmp_path / "calls", replay_only=True)
    assert all(again[role].ask(ask(role=role)).replayed for role in ROLES)
    assert len(server.asked) == 3


def test_without_a_key() -> None:
    with pytest.raises(MissingKeyError, match="GEMINI_API_KEY"):
        open_models(read_profile("gemini"), environment={})
    models = open_models(read_profile("gemini"), environment={}, replay_only=True)
    with pytest.raises(NoRecordedCallError):
        models["judge"].ask(ask())


def test_settings_are_those_of_the_role() -> None:
    config = read_profile("gemini").roles.judge
    assert config.settings.thinking_tokens == config.thinking_tokens == 8192
    assert config.settings.deadline_s == 300


def test_roles_that_share_a_model_share_its_lowest_rate() -> None:
    content = text("open")
    for rate in (600, 1200):  # the generator's and the assessor's; the judge says none
        content = content.replace("temperature", f"calls_per_minute = {rate}\ntemperatur_", 1)
    profile = parse_profile(content.replace("temperatur_", "temperature").encode(), "mine.toml")
    pace, begun = profile.pace, time.monotonic()
    for _ in range(3):
        pace.wait(profile.roles.judge.model)
    assert time.monotonic() - begun >= 0.2
    assert read_profile("open").concurrency == 8


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "temperature = 0.7",
            "temperatur = 0.7",
            r"roles\.generator\.temperatur: .*did you mean 'temperature'",
        ),
        ("temperature = 0.7", "temperature = nan", r"roles\.generator\.temperature"),
        ("temperature = 0.7", "temperature = 3", r"roles\.generator\.temperature: must be at most 2"),
        ("[roles.judge]", "[roles.jury]", r"roles\.judge: this field is missing"),
        ('api = "gemini"', 'api = "mistral"', r"roles\.assessor\.api"),
        ("calls = 2000", "calls = 0", r"budget\.calls: must be at least 1"),
        ("concurrency = 8", "concurrency = 0", r"concurrency: must be at least 1"),
        ("[budget]", "calls_per_minute = 0\n[budget]", r"roles\.judge\.calls_per_minute: .*greater than 0"),
        ("prices = { input_usd = 0.25, output_usd = 1.50 }", "", "budget.usd needs the prices of assessor"),
        ("reply_tokens = 32768", "reply_tokens = 4000", r"roles\.generator: thinking_tokens must leave room"),
        ('api = "gemini"', 'api = "openai"', r"roles\.assessor: api 'openai' needs a base_url"),
        ("[budget]", "[budget", "not TOML"),
    ],
)
def test_what_is_wrong_has_its_path(old: str, new: str, said: str) -> None:
    content = text("gemini")
    assert old in content
    with pytest.raises(SpecificationError, match=said):
        parse_profile(content.replace(old, new).encode(), "mine.toml")


@pytest.mark.parametrize(
    "url", ["ftp://host", "http://user:secret@host/v1", "https://host/v1?key=secret", "host"]
)
def test_an_address_is_an_address(url: str) -> None:
    content = text("open").replace("http://localhost:8000/v1", url)
    with pytest.raises(SpecificationError, match=r"roles\.judge\.base_url") as error:
        parse_profile(content.encode(), "mine.toml")
    assert "secret" not in str(error.value)


def test_unknown_profile(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'gemini'"):
        read_profile("gemni")
    with pytest.raises(SpecificationError, match="cannot be read"):
        read_profile(str(tmp_path / "none.toml"))


def test_no_sdk_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, generator, generator.errors, generator.models.opening, generator.models.config as c;"
        "c.read_profile();"
        "print([m for m in ('openai', 'google.genai', 'tenacity', 'httpx2') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
