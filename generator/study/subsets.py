"""The fourth question: how few instructions give the same library of atomic tasks."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import Field

from generator.members import members_of
from generator.modules.tasks import Tasks, write_tasks
from generator.study.embedding import Embedding, library_similarity
from generator.study.members import Meter, Metered, budget_of, identity_of
from generator.study.records import Amount, Count, read_document, write_document
from generator.study.running import is_answer
from generator.study.search import Limits, Subset, smallest_subset
from generator.team import Team, Transcript
from mango_trace.errors import MangoTraceError, UsageError
from mango_trace.oracle.document import FrozenModel
from mango_trace.oracle.model import Name, Text

RUNS: Final = 3
"""Runs of module I for the fitness of a subset."""

MEASURES: Final = (
    "instructions", "instructions_min", "trr", "similarity", "tasks", "tasks_missing", "generations",
    "evaluations", "calls", "tokens", "usd", "seconds",
)  # fmt: skip
"""What is measured of a repetition, in the order of tables."""


class Repetition(FrozenModel):
    """One search.

    Attributes:
        version: Version of this form.
        identity: Digest of everything that it depends on.
        subset: The instructions that are enough.
        n_instructions: How many there are in all.
        similarity: How similar their library is to that of all.
        feasible: Whether that is similar enough; only all instructions together may not be.
        tasks: Tasks in the library of all.
        missing: Those of them, by id, that the library of the subset has not, in its first run.
        generations: Generations that passed.
        evaluations: Subsets that were tried.
        calls: Calls of models.
        tokens: Their tokens.
        usd: Their price.
        seconds: Wall time; ``None`` where it was interrupted.
    """

    version: Literal[1] = 1
    identity: Name
    subset: tuple[Text, ...]
    n_instructions: Count
    similarity: Annotated[float, Field(ge=0, le=1)]
    feasible: bool
    tasks: tuple[Name, ...]
    missing: tuple[Name, ...]
    generations: Count
    evaluations: Count
    calls: Count
    tokens: Count
    usd: Amount
    seconds: Amount | None

    def scores(self) -> Mapping[str, float | None]:
        """Its measures."""
        return {
            "instructions": self.n_instructions,
            "instructions_min": len(self.subset),
            "trr": 1 - len(self.subset) / self.n_instructions,
            "similarity": self.similarity,
            "tasks": len(self.tasks),
            "tasks_missing": len(self.missing),
            "generations": self.generations,
            "evaluations": self.evaluations,
            "calls": self.calls,
            "tokens": self.tokens,
            "usd": self.usd,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class Searches:
    """Searches to be had.

    Attributes:
        config: Who answers: ``rules``, a profile or a TOML file.
        instructions: All instructions, each once.
        embedding: Name of the embedding.
        seed: Where chance begins; each repetition has its own.
        limits: When a search ends.
        out: Folder of the searches.
    """

    config: str
    instructions: tuple[str, ...]
    embedding: str
    seed: int
    limits: Limits
    out: Path

    def folder(self, number: int) -> Path:
        """Folder of a repetition."""
        return self.out / f"{Path(self.config).stem}-{self.embedding}-seed-{self.seed}" / f"{number:02d}"

    @property
    def identity(self) -> str:
        """Digest of everything that a repetition depends on."""
        about = [identity_of(self.config), self.instructions, self.embedding, self.seed, asdict(self.limits)]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]


def search(
    plan: Searches, number: int, embed: Embedding, progress: Callable[[Subset], None] = lambda _: None
) -> Repetition:
    """Do one search, or take the one that is there.

    Answers of models are kept apart for each run of module I: an interrupted search takes the same way again
    and asks only what it had not asked.

    Args:
        plan: The search.
        number: Which repetition, from 1.
        embed: The embedding that the plan names.
        progress: Called after each generation.

    Raises:
        ModelError: A model could not be asked; what it answered is kept.
        UsageError: Another search lies there.
    """
    folder, identity = plan.folder(number), plan.identity
    path = folder / "search.json"
    if path.exists():
        found = read_document(path, Repetition)
        if found.identity != identity:
            raise UsageError(
                f"{path}: a search with other models, instructions or limits than now; choose another --out, "
                "or remove the folder"
            )
        return found
    folder.mkdir(parents=True, exist_ok=True)
    with Transcript(folder / "transcript.jsonl") as transcript:
        repetition = _Search(plan, folder, embed, transcript).run(number, identity, progress)
    write_document(path, repetition)
    return repetition


class _Search:
    """A search with the libraries that it has seen."""

    def __init__(self, plan: Searches, folder: Path, embed: Embedding, transcript: Transcript) -> None:
        self._plan, self._folder, self._embed, self._transcript = plan, folder, embed, transcript
        self._meter, self._budget = Meter(), budget_of(plan.config)
        self._whole: Tasks = ()
        self._first: dict[Subset, Tasks] = {}

    def run(self, number: int, identity: str, progress: Callable[[Subset], None]) -> Repetition:
        plan, n, started = self._plan, len(self._plan.instructions), time.perf_counter()
        self._whole = self._library(plan.instructions, "whole")
        found = smallest_subset(
            n, self._fitness, np.random.default_rng([plan.seed, number]), plan.limits, progress
        )
        there = {task.id for task in self._first[found.subset]}
        taken = self._meter.take()
        return Repetition(
            identity=identity,
            subset=tuple(plan.instructions[index] for index in found.subset),
            n_instructions=n,
            similarity=found.fitness,
            feasible=found.feasible,
            tasks=tuple(task.id for task in self._whole),
            missing=tuple(task.id for task in self._whole if task.id not in there),
            generations=found.generations,
            evaluations=found.evaluations,
            calls=taken.usage.calls,
            tokens=taken.usage.tokens,
            usd=taken.usage.cost_usd,
            seconds=None if taken.replayed else time.perf_counter() - started,
        )

    def _fitness(self, subset: Subset) -> float:
        instructions = [self._plan.instructions[index] for index in subset]
        name = f"{len(self._first):04d}"
        libraries = [self._library(instructions, f"{name}-{run}") for run in range(1, RUNS + 1)]
        self._first[subset] = libraries[0]
        return fmean(library_similarity(self._whole, library, self._embed) for library in libraries)

    def _library(self, instructions: Sequence[str], name: str) -> Tasks:
        """A run of module I; empty where no usable library came."""
        calls = self._folder / "calls" / name
        members = members_of(
            self._plan.config, (), calls, budget=self._budget, wrap=partial(Metered, meter=self._meter)
        ).by_role
        try:
            found: Any = write_tasks(Team(members, self._transcript), instructions)
        except MangoTraceError as error:
            if not is_answer(error):
                raise
            return ()
        return found.candidate or ()
