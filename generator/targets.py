"""Tasks to write oracles for: those of a suite, of a dataset, or by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mango_trace.errors import SceneError, UnknownNameError, UsageError
from mango_trace.scene.bddl import Problem
from mango_trace.scene.benchmarks import Benchmark, benchmarks
from mango_trace.scene.model import Scene
from mango_trace.store import Dataset
from mango_trace.store.layout import DATASET_FILE
from mango_trace.store.location import is_remote, locate


@dataclass(frozen=True)
class Target:
    """A task to write an oracle for.

    Attributes:
        name: Name of the task.
        suite: Its suite, or the empty string.
        instruction: What the robot is told.
        dataset: Where there are traces of it, if it was named by a dataset.
        read: Takes its scene and BDDL from where they are.
    """

    name: str
    suite: str
    instruction: str
    dataset: Path | None
    read: Callable[[], tuple[Scene, Problem | None]]

    @cached_property
    def _read(self) -> tuple[Scene, Problem | None]:
        return self.read()

    @property
    def scene(self) -> Scene:
        """Its scene; of a benchmark's task it is taken from the environment, which takes seconds.

        Raises:
            MangoTraceError: There is none to be had.
        """
        return self._read[0]

    @property
    def problem(self) -> Problem:
        """Its BDDL.

        Raises:
            SceneError: It has none.
            MangoTraceError: As for the scene.
        """
        problem = self._read[1]
        if problem is None:
            raise SceneError(f"task {self.name}: its scene has no BDDL, so nothing says what was meant")
        return problem


def resolve(names: Sequence[str], *, known: Iterable[Benchmark] | None = None) -> tuple[Target, ...]:
    """Find tasks.

    Args:
        names: Folders or URLs of datasets, names of suites, and names of tasks, in any mixture.
        known: The benchmarks; those that are installed, when not given.

    Returns:
        The tasks, each once: traces and scene are those of the first dataset that has it.

    Raises:
        UnknownNameError: A name is none of these.
        UsageError: Two tasks of one name have different instructions.
        DatasetError: A dataset cannot be read.
    """
    known = tuple(benchmarks().values() if known is None else known)
    found: dict[str, Target] = {}
    for name in names:
        for target in _named(name, known):
            other = found.setdefault(target.name, target)
            if other.dataset is None and target.dataset is not None:
                found[target.name] = target
            if other.instruction != target.instruction:
                raise UsageError(
                    f"two tasks {target.name!r}: one says {other.instruction!r}, "
                    f"the other {target.instruction!r}"
                )
    return tuple(found.values())


def _named(name: str, known: Sequence[Benchmark]) -> Iterator[Target]:
    place = locate(name)
    if is_remote(place) or (place / DATASET_FILE).is_file():
        yield from _of_dataset(place)
        return
    for benchmark in known:
        if name in benchmark.suites:
            yield from _of_suite(benchmark, name)
            return
    if place.is_dir():
        Dataset(place)  # says what is wrong with it
    tasks = [
        task for benchmark in known for suite in benchmark.suites for task in _of_suite(benchmark, suite)
    ]
    chosen = [task for task in tasks if task.name == name]
    if not chosen:
        suites = [suite for benchmark in known for suite in benchmark.suites]
        raise UnknownNameError("dataset, suite or task", name, [*suites, *(task.name for task in tasks)])
    yield from chosen


def _of_suite(benchmark: Benchmark, suite: str) -> Iterator[Target]:
    for task in benchmark.tasks(suite):
        yield Target(task.name, task.suite, task.instruction, None, task.scene)


def _of_dataset(place: Path) -> Iterator[Target]:
    dataset = Dataset(place)
    seen = set()
    for record in dataset.records:
        metadata = record.metadata
        if metadata.task not in seen:
            seen.add(metadata.task)
            read = _Recorded(dataset, record.scene)
            yield Target(metadata.task, metadata.suite, metadata.instruction, place, read)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """Reads a scene of a dataset."""

    dataset: Dataset
    digest: str

    def __call__(self) -> tuple[Scene, Problem | None]:
        package = self.dataset.scene(self.digest)
        return package.scene, package.problem


class Scenes(Mapping[str, tuple[Scene, Problem]]):
    """Scene and BDDL of tasks by name, each read when it is asked for.

    Args:
        targets: The tasks.
    """

    def __init__(self, targets: Iterable[Target]) -> None:
        self._targets = {target.name: target for target in targets}

    def __getitem__(self, name: str) -> tuple[Scene, Problem]:
        target = self._targets[name]
        return target.scene, target.problem

    def __iter__(self) -> Iterator[str]:
        return iter(self._targets)

    def __len__(self) -> int:
        return len(self._targets)
