"""Real LIBERO rollouts, recorded once for all tests of the recorder."""

from __future__ import annotations

from pathlib import Path

import pytest

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
