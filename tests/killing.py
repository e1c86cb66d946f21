"""Killing work at random instants.

To be used in a process of its own, which has imported everything and started no thread: each try is
a fork of it, so that a try costs milliseconds and the kill lands in the work, not in an import.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import traceback
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]


def kill_until_done(work: Callable[[], None], chance: random.Random, longest_s: float) -> int:
    """Start ``work`` again and again, each time killed at a random instant, until it comes to its end.

    Args:
        work: What is done; it should go on where it was stopped.
        chance: Source of the instants.
        longest_s: Longest time that the first try gets; later ones get more and more, so that even
            on a busy machine the work comes to its end.

    Returns:
        How often it was killed.

    Raises:
        RuntimeError: The work failed by itself.
    """
    kills = 0
    while True:
        child = fork(work)
        time.sleep(chance.uniform(0.0, longest_s * 1.15**kills))
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status):
            if os.WEXITSTATUS(status):
                raise RuntimeError("the work failed by itself")
            return kills
        kills += 1


def duration_s(work: Callable[[], None]) -> float:
    """How long ``work`` takes when nobody disturbs it."""
    started = time.monotonic()
    if os.waitpid(fork(work), 0)[1]:
        raise RuntimeError("the work failed by itself")
    return time.monotonic() - started


def fork(work: Callable[[], None]) -> int:
    """Start ``work`` in a copy of this process and return its number."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def run_script(text: str, *arguments: object) -> str:
    """Run a script in a fresh process with the tests at hand and return what it prints."""
    command = [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return done.stdout
