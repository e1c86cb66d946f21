"""A run through the modules, part by part; each is kept as soon as it is done, and none is done twice."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from generator.errors import BadReplyError, BlockedError, ModelError, TokenLimitError
from generator.folder import file_name
from generator.members import members_of
from generator.modules.oracles import LibraryOutcome, Oracles, oracles_as_data, write_oracles
from generator.modules.plans import write_plan
from generator.modules.tasks import Tasks, as_data, write_tasks
from generator.negotiation import Outcome
from generator.study.configurations import Configuration
from generator.study.members import Meter, Metered, identity_of
from generator.study.records import Part, Run, RunFolder
from generator.targets import Target
from generator.team import Team, Transcript
from mango_trace.errors import MangoTraceError
from mango_trace.oracle import parse_oracles, parse_tasks

_NO_TASKS: Final = "there is no library of atomic tasks"
_NO_ORACLES: Final = "there is no library of atomic oracles"

Progress = Callable[[], None]
"""Called after each part, also of one that was there."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Runs to be had.

    Attributes:
        config: Who answers: ``rules``, a profile or a TOML file.
        configuration: What takes part.
        targets: The tasks.
        out: Folder of the study.
    """

    config: str
    configuration: Configuration
    targets: tuple[Target, ...]
    out: Path

    @property
    def label(self) -> str:
        """What tables call it."""
        return f"{self.configuration.name} ({Path(self.config).stem})"

    @property
    def n_parts(self) -> int:
        """Parts of a run."""
        return 2 + len(self.targets)

    def folder(self, number: int) -> RunFolder:
        """Folder of a run."""
        return RunFolder(
            self.out / "runs" / Path(self.config).stem / self.configuration.name / f"{number:02d}"
        )

    def empty(self, number: int) -> Run:
        """A run as it begins."""
        about = [
            identity_of(self.config),
            asdict(self.configuration.variant),
            [[target.name, target.instruction] for target in self.targets],
        ]
        digest = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]
        return Run(config=self.config, configuration=self.configuration.name, number=number, identity=digest)


def complete(plan: Plan, number: int, progress: Progress = lambda: None) -> Run:
    """Do what is missing of a run.

    Args:
        plan: What is run.
        number: Which run of it.
        progress: Called after each part.

    Returns:
        The run.

    Raises:
        ModelError: A model could not be asked; what was done is kept.
        UsageError: Other runs lie there.
    """
    folder = plan.folder(number)
    there = folder.read(plan.empty(number))
    if _is_complete(plan, there):
        for _ in range(plan.n_parts):
            progress()
        return there
    with _writer(plan, folder) as writer:
        for run in writer.parts(there):
            if run != there:
                folder.write(run)
            there = run
            progress()
    return there


def _is_complete(plan: Plan, run: Run) -> bool:
    wanted = {target.name for target in plan.targets}
    oracles = run.oracles is not None or not plan.configuration.variant.oracle_library
    return run.tasks is not None and oracles and wanted <= set(run.plans)


@contextmanager
def _writer(plan: Plan, folder: RunFolder) -> Iterator[_Writer]:
    meter = Meter()
    members = members_of(plan.config, plan.targets, folder.calls, wrap=partial(Metered, meter=meter)).by_role
    folder.path.mkdir(parents=True, exist_ok=True)
    with Transcript(folder.transcript) as transcript:
        yield _Writer(plan, Team(members, transcript), meter)


class _Writer:
    """Writes the parts of a run."""

    def __init__(self, plan: Plan, team: Team, meter: Meter) -> None:
        self._plan, self._team, self._meter = plan, team, meter
        self._variant = plan.configuration.variant

    def parts(self, run: Run) -> Iterator[Run]:
        """The run after each part; one that is there stays as it is."""
        if run.tasks is None:
            run = run.model_copy(update={"tasks": self._measured(self._tasks)})
        yield run
        tasks = tasks_in(run)
        if run.oracles is None and self._variant.oracle_library:
            part = self._measured(lambda: self._oracles(tasks)) if tasks else _nothing(_NO_TASKS)
            run = run.model_copy(update={"oracles": part})
        yield run
        oracles = oracles_in(run)
        for target in self._plan.targets:
            if target.name not in run.plans:
                part = self._plan_part(target, tasks, oracles)
                run = run.model_copy(update={"plans": {**run.plans, target.name: part}})
            yield run

    def _plan_part(self, target: Target, tasks: Tasks, oracles: Oracles) -> Part:
        file_name(target.name)  # a name that leads elsewhere is refused before anything is paid
        if self._variant.task_library and not tasks:
            return _nothing(_NO_TASKS)
        if self._variant.oracle_library and not oracles:
            return _nothing(_NO_ORACLES)
        _ = target.scene  # reading it takes time, and is no part of writing
        return self._measured(lambda: self._oracle(target, tasks, oracles))

    def _measured(self, write: Callable[[], dict[str, Any]]) -> Part:
        self._meter.take()
        started = time.perf_counter()
        try:
            found = write()
        except MangoTraceError as error:
            if not is_answer(error):
                raise
            found = {"accepted": False, "why": str(error)}
        seconds = time.perf_counter() - started
        taken = self._meter.take()
        return Part(
            **found,
            calls=taken.usage.calls,
            tokens=taken.usage.tokens,
            usd=taken.usage.cost_usd,
            seconds=None if taken.replayed else seconds,
        )

    def _tasks(self) -> dict[str, Any]:
        instructions = list(dict.fromkeys(target.instruction for target in self._plan.targets))
        found = write_tasks(self._team, instructions, variant=self._variant)
        return _fields(found, None if found.candidate is None else as_data(found.candidate))

    def _oracles(self, tasks: Tasks) -> dict[str, Any]:
        found: LibraryOutcome = write_oracles(self._team, tasks, variant=self._variant)
        if found.errors:
            raise min(found.errors.values(), key=is_answer)  # one that is no result, if there is one
        why = "" if found.accepted else "; ".join(found.rulings[-1].corrections if found.rulings else ())
        return {
            "document": oracles_as_data(found.oracles) or None,
            "accepted": found.accepted,
            "rounds": len(found.rulings),
            "why": why,
        }

    def _oracle(self, target: Target, tasks: Tasks, oracles: Oracles) -> dict[str, Any]:
        found = write_plan(
            self._team, target.instruction, target.scene, tasks, oracles, variant=self._variant
        )
        candidate = found.candidate
        document = None if candidate is None else candidate.model_dump(mode="json", exclude_defaults=True)
        return _fields(found, document)


def is_answer(error: MangoTraceError) -> bool:
    """Whether an error is what a model, or the rules, answered, and so a result.

    Where nobody answered in time, nothing may be spent any more or a key is missing, there is none yet.
    """
    return not isinstance(error, ModelError) or isinstance(
        error, BadReplyError | BlockedError | TokenLimitError
    )


def tasks_in(run: Run) -> Tasks:
    """Library of atomic tasks that a run wrote; empty if there is none."""
    if run.tasks is None or run.tasks.document is None:
        return ()
    return parse_tasks(json.dumps({"atomic_tasks": run.tasks.document}), "run")


def oracles_in(run: Run) -> Oracles:
    """Library of atomic oracles that a run wrote; empty if there is none."""
    if run.oracles is None or run.oracles.document is None:
        return ()
    return parse_oracles(json.dumps({"atomic_oracles": run.oracles.document}), "run")


def _fields(found: Outcome[Any], document: Any) -> dict[str, Any]:
    why = found.why
    return {"document": document, "accepted": found.accepted, "rounds": len(found.rounds), "why": why}


def _nothing(why: str) -> Part:
    return Part(accepted=False, why=why)
