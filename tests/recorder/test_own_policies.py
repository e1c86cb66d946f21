"""Policies that are Python objects of somebody's own, and LeRobot's."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.store import Dataset
from tests.conftest import SUITE, TASK

MODULE = """
    import numpy as np
    from recorder.errors import PolicyUnavailableError

    def push(observation):
        assert observation["instruction"].startswith("put the black bowl")
        return np.array([0.1, 0, 0, 0, 0, 0, 1.0]) * (observation["robot0_eef_pos"].size == 3)

    class Chunks:
        version = "v3"

        def __init__(self):
            self.episodes = []

        def reset(self, episode):
            self.episodes.append(episode.episode)
            if episode.episode == 1:
                raise RuntimeError("no plan")

        def act(self, observation):
            return [[float(len(self.episodes)), 0, 0, 0, 0, 0, step] for step in range(3)]

    def make():
        return Chunks()

    class Gone:
        asked = 0

        def act(self, observation):
            type(self).asked += 1
            if type(self).asked > 2:
                raise PolicyUnavailableError("my robot went home")
            return np.ones((1, 7))

    ready = Chunks()
    short = lambda observation: np.zeros(6)
    number = 3
    fruit = {}

    class Outer:
        inner = push
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of its own name for each test: Python imports a name once."""
    name = f"my_policies_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(MODULE), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return name


def record(policy, out, *more):
    words = ("record", SUITE, "--task", TASK, "--policy", policy, "--out", out, *more)
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.mark.libero
def test_a_function_is_a_policy(module, tmp_path):
    result = record(f"{module}:push", tmp_path / "runs", "--horizon", 2)
    assert result.exit_code == 0, result.output
    dataset = Dataset(tmp_path / "runs")
    trace = dataset.load(dataset.records[0])
    assert np.array_equal(trace.action[10:], [[0.1, 0, 0, 0, 0, 0, 1.0]] * 2)
    assert (trace.metadata.policy, trace.metadata.policy_version) == (f"{module}:push", "0")


@pytest.mark.libero
def test_a_class_is_made_once_and_reset_for_each_episode_and_breaks_alone(module, tmp_path):
    out, more = tmp_path / "runs", ("--horizon", 5, "--episodes", 3)
    result = record(f"{module}:Chunks", out, *more)
    assert result.exit_code == 3, result.output
    dataset = Dataset(out)
    good = [r for r in dataset.records if r.metadata.ended != "error"]
    assert [r.metadata.episode for r in good] == [0, 2]
    assert {r.metadata.policy_version for r in good} == {"v3"}
    (broken,) = (r for r in dataset.records if r.metadata.ended == "error")
    assert broken.metadata.error == "RuntimeError: no plan"
    for record_, number in zip(good, (1, 3), strict=True):
        actions = dataset.load(record_).action[10:]
        assert actions[:, 0].tolist() == [number] * 5  # the same object, reset three times
        assert actions[:, 6].tolist() == [0, 1, 2, 0, 1]  # whole chunks
    replanned = record(f"{module}:make", out, "--horizon", 5, "--replan-steps", 2, "--policy-name", "mine")
    assert replanned.exit_code == 0, replanned.output
    dataset = Dataset(out)
    (made,) = (r for r in dataset.records if r.metadata.policy == "mine")
    assert dataset.load(made).action[10:, 6].tolist() == [0, 1, 0, 1, 0]
    assert made.metadata.policy_version == "0+replan2"
    # A new version of the policy makes new episodes; an old one is found again.
    newer = record(f"{module}:Chunks", out, "--horizon", 5, "--policy-version", "v4")
    assert "1 episodes recorded" in newer.output
    older = record(f"{module}:Chunks", out, "--horizon", 5)
    assert "0 episodes recorded" in older.output


@pytest.mark.libero
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_policy_that_is_gone_for_good_stops_the_recording(module, tmp_path, workers):
    out = tmp_path / "runs"
    result = record(f"{module}:Gone", out, "--horizon", 2, "--episodes", 6, "--workers", workers)
    assert result.exit_code == 3
    assert "my robot went home" in result.output
    assert "the same command goes on" in result.output
    records = Dataset(out).records
    assert len(records) == workers  # one each, and nothing of those that could not begin
    assert all(record_.metadata.ended == "truncated" for record_ in records)


@pytest.mark.libero
def test_an_action_that_cannot_be_played_is_an_error_of_its_episode(module, tmp_path):
    result = record(f"{module}:short", tmp_path / "runs", "--horizon", 2)
    assert result.exit_code == 3
    assert "expected (n, 7)" in result.output
    (row,) = Dataset(tmp_path / "runs").records
    assert row.metadata.error.startswith("PolicyReplyError")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pusch", "did you mean 'push'"),
        ("Outer.outer", "no name in"),
        ("number", "is no policy but a int"),
        ("fruit", "is no policy but a dict"),
    ],
)
def test_what_is_no_policy_is_said_to_be_none(module, name, words):
    from mango_trace.errors import UsageError
    from recorder.policies.python import _made

    with pytest.raises(UsageError, match=words):
        _made(f"{module}:{name}")


def test_what_a_name_may_be(module):
    from recorder.policies.python import _made, find

    for name in ("push", "Chunks", "make", "ready", "Outer.inner"):
        made = _made(f"{module}:{name}")
        assert callable(made) or hasattr(made, "act")
    assert _made(f"{module}:ready") is find(f"{module}:ready")


@pytest.mark.parametrize(
    ("body", "words"), [("1 / 0", "ZeroDivisionError"), ("import no_such_thing", "no_such_thing")]
)
def test_a_module_that_does_not_import_says_why(tmp_path, monkeypatch, body, words):
    name = f"broken_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(body, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = record(f"{name}:x", tmp_path / "runs")
    assert result.exit_code == 2
    assert words in result.output
    assert "does not import" in record("no_such_module:x", tmp_path / "runs").output


def test_lerobot_is_asked_for_where_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = record(f"lerobot:{tmp_path}", tmp_path / "runs")
    assert result.exit_code == 2
    assert "mango-trace[lerobot,libero]" in result.output
    assert "--replan-steps" in record("lerobot:x", tmp_path / "runs", "--replan-steps", 2).output


def test_the_version_of_a_lerobot_policy_is_that_of_its_files(tmp_path):
    from mango_trace.errors import UsageError
    from recorder.policies.lerobot import digest

    with pytest.raises(UsageError, match=r"no config.json"):
        digest(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"1")
    first = digest(tmp_path)
    assert digest(tmp_path) == first
    (tmp_path / "model.safetensors").write_bytes(b"2")
    assert digest(tmp_path) != first
