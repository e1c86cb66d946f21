"""The folder that a run writes: libraries, oracles and proofs; and, beside it, what the run needs to go on.

A folder of oracles is judged by whole, so nothing else lies in it. ``OUT.work`` has the transcript, the calls
of models, candidates that nobody accepted, and which instructions the library of atomic tasks is for.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from generator.modules.oracles import Oracles, oracles_as_data
from generator.modules.tasks import Tasks, as_data
from generator.rules.readings import Reading
from mango_trace.errors import BadInputError, UsageError
from mango_trace.evaluation.oracle_files import PROOFS
from mango_trace.oracle import AtomicTask, FineGrainedOracle, read_oracle, read_oracles, read_tasks
from mango_trace.oracle.document import FrozenModel, load, read_text, validate
from mango_trace.oracle.model import Text
from mango_trace.proving import forget_proof
from mango_trace.store.layout import write_atomically

_TASKS: Final = "atomic_tasks.json"
_ORACLES: Final = "atomic_oracles.json"
_RESERVED: Final = frozenset({_TASKS, _ORACLES, PROOFS})
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,()'-]{0,199}")


class _Covered(FrozenModel):
    """What the library of atomic tasks is for.

    Attributes:
        library: Digest of the library.
        instructions: The instructions that it was written for.
        reading: How well things have to be done.
    """

    library: Text
    instructions: tuple[Text, ...]
    reading: Text = Reading.DEFAULT.value


class OracleFolder:
    """A folder with oracles and their libraries.

    Args:
        path: The folder; it is made when something is written.
        reading: How well things have to be done.

    Raises:
        UsageError: What is there is of another reading.
    """

    def __init__(self, path: Path, reading: Reading = Reading.DEFAULT) -> None:
        self.path = path if path.name else path.resolve()  # of "." nothing could lie beside
        self._reading = reading.value
        there = self._covered().reading
        if there != self._reading and (self.path / _TASKS).exists():
            raise UsageError(f"{path}: its libraries are of the {there} reading, not of the {reading} one")

    @property
    def work(self) -> Path:
        """The folder beside it."""
        return self.path.with_name(f"{self.path.name}.work")

    @property
    def transcript(self) -> Path:
        """Everything that was asked and answered."""
        return self.work / "transcript.jsonl"

    @property
    def calls(self) -> Path:
        """Answers of models, which are not asked again."""
        return self.work / "calls"

    def tasks(self) -> Tasks:
        """The library of atomic tasks, empty if there is none.

        Raises:
            SpecificationError: It is damaged.
        """
        path = self.path / _TASKS
        return read_tasks(path) if path.exists() else ()

    def oracles(self) -> Oracles:
        """The library of atomic oracles, empty if there is none.

        Raises:
            SpecificationError: It is damaged.
        """
        path = self.path / _ORACLES
        return read_oracles(path) if path.exists() else ()

    def not_covered(self, instructions: Sequence[str]) -> list[str]:
        """Those of some instructions that the library, as it is now, was not written for."""
        covered = self._covered()
        if covered.library != _digest(self.tasks()):
            return list(dict.fromkeys(instructions))
        return [one for one in dict.fromkeys(instructions) if one not in covered.instructions]

    def keep_tasks(self, tasks: Tasks, instructions: Sequence[str]) -> None:
        """Write an accepted library of atomic tasks.

        Args:
            tasks: The library.
            instructions: What it was written for, or extended for.
        """
        covered = self._covered()
        old = covered.instructions if covered.library == _digest(self.tasks()) else ()
        new = _Covered(
            library=_digest(tasks),
            instructions=tuple(dict.fromkeys((*old, *instructions))),
            reading=self._reading,
        )
        # First what it is for: killed between the two, a run finds the old library and asks as before.
        _write(self.work / "covered.json", new.model_dump(mode="json"))
        _write(self.path / _TASKS, {"atomic_tasks": as_data(tasks)})

    def keep_oracles(self, oracles: Oracles) -> None:
        """Write an accepted library of atomic oracles."""
        _write(self.path / _ORACLES, {"atomic_oracles": oracles_as_data(oracles)})

    def keep_plan(self, task: str, oracle: FineGrainedOracle) -> Path:
        """Write the oracle of a task.

        Returns:
            The file.

        Raises:
            BadInputError: The name of the task cannot be that of a file.
        """
        return _write(self.path / file_name(task), _data(oracle))

    def plan(self, task: str) -> FineGrainedOracle | None:
        """The oracle of a task, ``None`` if there is none.

        Raises:
            SpecificationError: It is damaged.
            BadInputError: The name of the task cannot be that of a file.
        """
        path = self.path / file_name(task)
        return read_oracle(path) if path.exists() else None

    def withdraw_plan(self, task: str) -> None:
        """Put the oracle of a task, which traces refute, where nothing judges by it; its proof goes.

        Raises:
            BadInputError: The name of the task cannot be that of a file.
        """
        there = self.path / file_name(task)
        withdrawn = self.work / "refuted"
        withdrawn.mkdir(parents=True, exist_ok=True)
        there.replace(withdrawn / there.name)
        forget_proof(self.path, task)

    def keep_unproven(self, task: str, candidate: FineGrainedOracle) -> Path:
        """Write the best oracle that nobody accepted; nothing reads it again.

        Returns:
            The file.

        Raises:
            BadInputError: The name of the task cannot be that of a file.
        """
        return _write(self.work / "unproven" / file_name(task), _data(candidate))

    def keep_refused(self, library: Tasks | Oracles) -> Path:
        """Write a library that nobody accepted; nothing reads it again.

        Returns:
            The file.
        """
        name = _TASKS if isinstance(library[0], AtomicTask) else _ORACLES
        return _write(self.work / "unproven" / name, [_data(one) for one in library])

    def _covered(self) -> _Covered:
        path = self.work / "covered.json"
        if not path.exists():
            return _Covered(library="", instructions=())
        return validate(_Covered, load(read_text(path), str(path)), str(path))


def file_name(task: str) -> str:
    """Name of the file with a task's oracle.

    Raises:
        BadInputError: The name of the task leads elsewhere or nowhere, or is that of another file.
    """
    name = f"{task}.json"
    if _FILE_NAME.fullmatch(task) is None or name.casefold() in _RESERVED:
        raise BadInputError(f"task {task!r}: no oracle's file can have this name")
    return name


def _digest(tasks: Tasks) -> str:
    text = json.dumps(as_data(tasks), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _data(entry: BaseModel) -> Any:
    return entry.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode())
    return path
