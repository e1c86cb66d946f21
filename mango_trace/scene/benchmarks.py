"""Benchmarks that other packages bring along: their suites, and the scenes of their tasks.

A benchmark is an entry point of the group ``mango_trace.benchmarks``; whoever needs a task's scene without a
recorded trace asks here, and knows no simulator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Final, Protocol

from mango_trace.scene.bddl import Problem
from mango_trace.scene.model import Scene

_GROUP: Final = "mango_trace.benchmarks"


class BenchmarkTask(Protocol):
    """One task of a benchmark."""

    @property
    def suite(self) -> str:
        """Its suite."""

    @property
    def name(self) -> str:
        """Its name, as traces have it."""

    @property
    def instruction(self) -> str:
        """What the policy is told."""

    def scene(self) -> tuple[Scene, Problem]:
        """Build its environment and take the scene from it, with the task's BDDL; takes seconds.

        Raises:
            MangoTraceError: The environment cannot be built.
        """


class Benchmark(Protocol):
    """One benchmark."""

    @property
    def suites(self) -> Sequence[str]:
        """Names of its suites; known even where the simulator is not installed."""

    def tasks(self, suite: str) -> Sequence[BenchmarkTask]:
        """Tasks of a suite, in the benchmark's order.

        Raises:
            UsageError: The simulator is not installed.
        """


@cache
def benchmarks() -> Mapping[str, Benchmark]:
    """All benchmarks that are installed, by name."""
    return {
        entry.name: entry.load() for entry in sorted(entry_points(group=_GROUP), key=lambda one: one.name)
    }
