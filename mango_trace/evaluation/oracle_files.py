"""Finding oracles in files and folders, and which traces each is for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mango_trace.errors import BadInputError, MangoTraceError
from mango_trace.oracle import (
    AtomicOracle,
    AtomicTask,
    FineGrainedOracle,
    Libraries,
    link,
    parse_oracle,
    read_oracles,
    read_tasks,
    sniff,
)
from mango_trace.store import TraceMetadata


@dataclass(frozen=True, slots=True)
class NamedOracle:
    """An oracle with the name of its file.

    Attributes:
        name: File name without suffix; the task's name binds it to that task.
        source: Where it was read from.
        oracle: The document.
    """

    name: str
    source: str
    oracle: FineGrainedOracle


@dataclass(frozen=True, slots=True)
class OracleSet:
    """Oracles and libraries that an evaluation uses.

    Attributes:
        oracles: Every oracle that could be read.
        libraries: Atomic tasks and oracles, or ``None`` when there are none.
        problems: What could not be read.
    """

    oracles: tuple[NamedOracle, ...] = ()
    libraries: Libraries | None = None
    problems: tuple[MangoTraceError, ...] = ()
    _tasks: frozenset[str] = field(default=frozenset())

    def for_trace(self, metadata: TraceMetadata) -> tuple[NamedOracle, ...]:
        """Oracles that judge a trace.

        An oracle belongs to the traces with its instruction. Several scenes may share an
        instruction: a file that is named after a task is for that task only.
        """
        instruction = _normal(metadata.instruction)
        return tuple(
            named
            for named in self.oracles
            if named.name == metadata.task
            or (_normal(named.oracle.instruction) == instruction and named.name not in self._tasks)
        )


def load_oracles(paths: Sequence[Path], tasks: frozenset[str] = frozenset()) -> OracleSet:
    """Read oracles and libraries from files and folders.

    Args:
        paths: JSON files, or folders that are searched for them.
        tasks: Names of all tasks in the data, which bind files of the same name.

    Returns:
        What could be read, with a problem for every file that could not.
    """
    oracles: list[NamedOracle] = []
    atomic_tasks: list[AtomicTask] = []
    atomic_oracles: list[AtomicOracle] = []
    problems: list[MangoTraceError] = []
    seen: dict[str, str] = {}
    for path in _json_files(paths, problems):
        try:
            text = path.read_text()
            kind = _kind(text, str(path))
            if kind == "atomic_tasks":
                atomic_tasks.extend(read_tasks(path))
            elif kind == "atomic_oracles":
                atomic_oracles.extend(read_oracles(path))
            else:
                named = NamedOracle(path.stem, str(path), parse_oracle(text, str(path)))
                if seen.setdefault(named.oracle.digest + named.name, str(path)) == str(path):
                    oracles.append(named)
        except MangoTraceError as error:
            problems.append(error)
        except (OSError, UnicodeDecodeError) as error:
            problems.append(BadInputError(f"{path}: {error}"))
    libraries = None
    if atomic_tasks or atomic_oracles:
        try:
            libraries = link(atomic_tasks, atomic_oracles, source="atomic oracles")
        except MangoTraceError as error:
            problems.append(error)
    return OracleSet(tuple(oracles), libraries, tuple(problems), tasks)


def _json_files(paths: Sequence[Path], problems: list[MangoTraceError]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            found = sorted(path.rglob("*.json"))
            if not found:
                problems.append(BadInputError(f"{path}: no .json file in this folder"))
            yield from found
        elif path.exists():
            yield path
        else:
            problems.append(BadInputError(f"{path}: no such file or folder"))


def _kind(text: str, source: str) -> str:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return "oracle"  # its parser reports where
    return sniff(document, source)


def _normal(text: str) -> str:
    return " ".join(text.casefold().split())
