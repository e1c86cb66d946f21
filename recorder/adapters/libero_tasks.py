"""LIBERO as a benchmark: its suites, and scenes of tasks that nobody has recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mango_trace.scene.bddl import Problem, parse_bddl
from mango_trace.scene.model import Scene
from recorder.adapters.libero import SUITES, LiberoTask, extract_scene, make_env, seeded_reset, tasks_of


@dataclass(frozen=True, slots=True)
class LiberoBenchmarkTask:
    """A task; see :class:`mango_trace.scene.benchmarks.BenchmarkTask`."""

    task: LiberoTask

    @property
    def suite(self) -> str:
        """Its suite."""
        return self.task.suite

    @property
    def name(self) -> str:
        """Its name."""
        return self.task.name

    @property
    def instruction(self) -> str:
        """What the policy is told."""
        return self.task.instruction

    def scene(self) -> tuple[Scene, Problem]:
        """Build LIBERO's environment, reset it and read it."""
        env = make_env(self.task, SUITES[self.task.suite].horizon)
        try:
            seeded_reset(env, 0)
            scene = extract_scene(env.env, self.task.name, self.task.suite)
        finally:
            env.close()
        return scene, parse_bddl(self.task.bddl.read_text(encoding="utf-8"), self.task.name)


class LiberoBenchmark:
    """The five suites; see :class:`mango_trace.scene.benchmarks.Benchmark`."""

    @property
    def suites(self) -> Sequence[str]:
        """Names of the suites."""
        return tuple(SUITES)

    def tasks(self, suite: str) -> Sequence[LiberoBenchmarkTask]:
        """Tasks of a suite, in LIBERO's order."""
        return tuple(LiberoBenchmarkTask(task) for task in tasks_of(suite))


LIBERO: Final = LiberoBenchmark()
