"""``mango-trace parity``: a task whose process is killed is named, and the others are compared."""

from __future__ import annotations

import os
import signal
from functools import partial

import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from recorder import parity_cli
from recorder.parity_cli import _check

pytestmark = pytest.mark.libero
KILLED_BY = 4


def killed_by_one(others: str, settings: tuple[int, int, int, int], job: tuple[str, int]):
    """Compare the first task; kill the process for another; the rest compare nothing, or differ."""
    from recorder.parity import ParityCount

    if job[1] == KILLED_BY:
        os.kill(os.getpid(), signal.SIGKILL)
    if job[1] == 0:
        return _check(settings, job)
    return ParityCount(mismatches=int(others == "differ"))


@pytest.mark.parametrize(("others", "code"), [("agree", 3), ("differ", 1)])
def test_a_task_that_kills_its_process_is_named_and_the_others_are_compared(monkeypatch, others, code):
    pytest.importorskip("libero")
    monkeypatch.setattr(parity_cli, "_check", partial(killed_by_one, others))
    arguments = ["--suite", "libero_10", "--episodes", "1", "--steps", "2", "--every", "25", "--workers", "2"]
    done = CliRunner().invoke(cli, ["parity", *arguments])
    assert done.exit_code == code, done.output
    error = f"error: libero_10 task {KILLED_BY}: the process that checked it was killed, twice"
    assert done.stderr.count(error) == 1
    assert "9 tasks, 2 states" in done.stdout  # 2 steps of 25 substeps each
