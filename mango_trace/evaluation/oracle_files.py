"""Finding oracles in files and folders, and which traces each is for."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

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

PROOFS: Final = "proofs.json"
"""What traces show of the oracles of a folder lies in it under this name, and is no oracle."""

_NEARLY: Final = 0.9  # similarity of two instructions from which on one is taken for a slip of the other


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
        """Oracles that judge a trace."""
        return self.for_task(metadata.task, metadata.instruction)

    def for_task(self, task: str, instruction: str) -> tuple[NamedOracle, ...]:
        """Oracles that judge traces of a task.

        An oracle belongs to the traces with its instruction. Several scenes may share an
        instruction: a file that is named after a task is for that task only.
        """
        text = _normal(instruction)
        return tuple(
            named
            for named in self.oracles
            if named.name == task
            or (_normal(named.oracle.instruction) == text and named.name not in self._tasks)
        )

    def only(self, oracles: Iterable[NamedOracle]) -> OracleSet:
        """The same with some of its oracles alone, in their order, and no problems."""
        names = {(named.source, named.name) for named in oracles}
        kept = tuple(named for named in self.oracles if (named.source, named.name) in names)
        return replace(self, oracles=kept, problems=())


def unused_oracles(
    oracles: OracleSet, paths: Sequence[Path], traces: Sequence[TraceMetadata]
) -> list[tuple[str, str]]:
    """Oracles that look as if they were meant for the data and judge none of it.

    That a folder holds oracles of other tasks is no problem. One that was named alone is, and so is
    one whose instruction is nearly that of a task for which there is no oracle.

    Args:
        oracles: What was read.
        paths: Where from.
        traces: What is to be judged.

    Returns:
        File and what is wrong, for each.
    """
    tasks = {(trace.task, _normal(trace.instruction)): trace for trace in traces}
    used = {key: oracles.for_trace(trace) for key, trace in tasks.items()}
    found = []
    for named in oracles.oracles:
        if any(named in fitting for fitting in used.values()):
            continue
        text = _normal(named.oracle.instruction)
        alone = any(path.is_file() and str(path) == named.source for path in paths)
        lacking = sorted({instruction for (_, instruction), fitting in used.items() if alone or not fitting})
        near = difflib.get_close_matches(text, lacking, n=1, cutoff=_NEARLY)
        if alone or near:
            hint = f"; did you mean {near[0]!r}?" if near else ""
            message = f"judges no trace: none has the instruction {named.oracle.instruction!r}{hint}"
            found.append((named.source, message))
    return found


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
            found = sorted(one for one in path.rglob("*.json") if one.name != PROOFS)
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
