"""Real LIBERO rollouts, recorded once for all tests, and verdict databases from hand-made rows."""

from __future__ import annotations

import os
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
