"""Real LIBERO rollouts, recorded once for all tests, and verdict databases from hand-made rows."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

os.environ.setdefault("MUJOCO_GL", "disable")  # nothing is rendered; said before MuJoCo is imported

from mango_trace.verdicts import VerdictDatabase
from tests.book import Book

SUITE, TASK = "libero_10", 3


@pytest.fixture(scope="session")
def drawer_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of the drawer task: one that succeeds and one that closes the drawer too early."""
    from recorder.campaign import record_all
    from recorder.specs import EpisodeSpec

    root = tmp_path_factory.mktemp("recorded") / "drawer"
    specs = [
        EpisodeSpec(SUITE, TASK, "scripted", 0, 0, 0, 520, 20, fault)
        for fault in (None, "closes_before_placing@1")
    ]
    outcomes = list(record_all(root, specs, workers=1))
    assert [outcome.error for outcome in outcomes] == [None, None]
    return root


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path / "verdicts.duckdb")


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A verdict database without rows."""
    path = tmp_path / "empty.duckdb"
    VerdictDatabase(path).close()
    return path


@cache
def cannot_render() -> str:
    """Why nothing can be rendered here, in a process of its own: a broken driver may end it."""
    script = (
        "from recorder.adapters.libero import make_env, tasks_of; "
        f"env = make_env(tasks_of('{SUITE}')[{TASK}], 1, 16); env.reset(); env.close()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


@pytest.fixture
def rendering() -> None:
    """Skip a test that needs cameras where nothing can be rendered."""
    if cannot_render():
        pytest.skip(f"nothing can be rendered here: {cannot_render()}")
