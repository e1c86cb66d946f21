"""A run from instructions to proven oracles: what is there is reused, what is accepted is kept at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from generator.errors import NotAcceptedError, UnwrittenError
from generator.folder import OracleFolder, file_name
from generator.gate import Gate, evidence_of
from generator.modules.oracles import Oracles, write_oracles
from generator.modules.plans import Instruction, PlanOutcome, write_plans
from generator.modules.tasks import Tasks, write_tasks
from generator.modules.variant import WHOLE, Variant
from generator.progress import Progress
from generator.rules.errors import NotUnderstoodError
from generator.targets import Target
from generator.team import Team
from mango_trace.errors import MangoTraceError, UsageError
from mango_trace.evaluation.shard import EVALUATOR
from mango_trace.oracle import FineGrainedOracle, Libraries, link
from mango_trace.proving import Proof, ProofRecord, record_of, write_proofs

PlanState: TypeAlias = Literal["accepted", "unproven", "error"]
"""``unproven``: the budget was spent, the best candidate is kept apart; ``error``: it could not be asked."""


@dataclass(frozen=True, slots=True)
class PlanResult:
    """What came of a task.

    Attributes:
        task: The task.
        outcome: Whether its oracle was accepted.
        rounds: How many rounds it took.
        proof: What traces show of the oracle; ``None`` where there are no traces of the task.
        why: Why there is no accepted oracle, or why it is not proven.
    """

    task: str
    outcome: PlanState
    rounds: int = 0
    proof: ProofRecord | None = None
    why: str = ""


class Generation:
    """Writes libraries and oracles into a folder.

    Args:
        team: Who is asked.
        folder: Where everything is kept.
        variant: What takes part.
        gate_of: Where the traces of a task are, if there are any.
        progress: Told of every round.

    Attributes:
        problems: Instructions that were left out of the library, each with the reason.
    """

    def __init__(
        self,
        team: Team,
        folder: OracleFolder,
        *,
        variant: Variant = WHOLE,
        gate_of: Callable[[Target], Gate | None] = lambda _: None,
        progress: Progress | None = None,
    ) -> None:
        self._team, self._folder, self._variant = team, folder, variant
        self._gate_of, self._progress = gate_of, progress
        self.problems: list[tuple[str, str]] = []

    def write_tasks(self, instructions: Sequence[str]) -> Tasks:
        """Module I: the library of atomic tasks, extended for instructions that it was not written for.

        Args:
            instructions: What robots are told.

        Returns:
            The library as it is then.

        Raises:
            NotAcceptedError: No library was accepted within the budget of rounds.
            ModelError: A model could not be asked.
        """
        existing, missing = self._folder.tasks(), self._folder.not_covered(instructions)
        found = None
        while missing and found is None:
            try:
                found = write_tasks(
                    self._team,
                    missing,
                    existing=existing,
                    variant=self._variant,
                    progress=self._progress,
                )
            except NotUnderstoodError as error:  # the library is for the others
                self.problems.append((error.instruction, str(error)))
                missing.remove(error.instruction)
        if found is None:
            return existing
        if found.candidate is None or not found.accepted:
            raise self._refused("atomic tasks", found.candidate or (), found.why)
        self._folder.keep_tasks(found.candidate, missing)
        return found.candidate

    def write_oracles(self) -> Oracles:
        """Module II: atomic oracles for every atomic task that has none.

        Returns:
            The library as it is then.

        Raises:
            UsageError: There are no atomic tasks.
            NotAcceptedError: No library was accepted within the budget of rounds.
            UnwrittenError: A model could not be asked about some of the tasks.
            ModelError: The judge could not be asked.
        """
        tasks, existing = self._folder.tasks(), self._folder.oracles()
        if not tasks:
            raise UsageError(f"{self._folder.path}: no library of atomic tasks there; module I writes it")
        if {task.id for task in tasks} <= {oracle.task_id for oracle in existing}:
            return existing
        found = write_oracles(
            self._team,
            tasks,
            existing=existing,
            variant=self._variant,
            progress=self._progress,
        )
        if found.errors:
            raise UnwrittenError("oracles of atomic tasks", found.errors, len(tasks))
        if not found.accepted:
            why = "; ".join(found.rulings[-1].corrections) if found.rulings else ""
            raise self._refused("atomic oracles", found.oracles, why)
        self._folder.keep_oracles(found.oracles)
        return found.oracles

    def write_plans(self, targets: Iterable[Target]) -> Iterator[PlanResult]:
        """Module III: the oracle of every task.

        Args:
            targets: The tasks.

        Yields:
            What came of each, in their order; what is accepted is kept, and so is the best of what is not.

        Raises:
            UsageError: A library is missing.
        """
        tasks, oracles = self._folder.tasks(), self._folder.oracles()
        if (self._variant.task_library and not tasks) or (self._variant.oracle_library and not oracles):
            raise UsageError(
                f"{self._folder.path}: no libraries there; mango-trace generate library writes them"
            )
        whole = self._variant.task_library and self._variant.oracle_library
        libraries = link(tasks, oracles, source=str(self._folder.path)) if whole else None
        targets, unread = tuple(targets), dict[str, MangoTraceError]()
        shown = {target.name: _Evidence(target, self._gate_of(target), libraries) for target in targets}
        written = write_plans(
            self._team,
            _instructions(targets, shown, unread),
            tasks,
            oracles,
            variant=self._variant,
            progress=self._progress,
        )
        found = next(written, None)  # with the first, all scenes were read, or could not be
        for target in targets:
            if target.name in unread or found is None:
                yield PlanResult(target.name, "error", why=str(unread[target.name]))
                continue
            try:
                yield self._keep(found, shown[target.name])
            except MangoTraceError as error:
                yield PlanResult(target.name, "error", why=str(error))
            found = next(written, None)

    def _keep(self, found: PlanOutcome, shown: _Evidence) -> PlanResult:
        """Write what came of a task."""
        if found.outcome is None:
            return PlanResult(found.instruction.name, "error", why=str(found.error))
        task, outcome = found.instruction.name, found.outcome
        if outcome.candidate is None or not outcome.accepted:
            if outcome.candidate is not None:
                self._folder.keep_unproven(task, outcome.candidate)
            earlier = self._folder.plan(task)
            if earlier is not None and shown(earlier):
                self._folder.withdraw_plan(task)
            return PlanResult(task, "unproven", len(outcome.rounds), why=outcome.why)
        self._folder.keep_plan(task, outcome.candidate)
        # A variant that asks for no evidence is measured by it all the same.
        proof = shown.proof(outcome.candidate)
        if proof is None:
            return PlanResult(task, "accepted", len(outcome.rounds))
        record = record_of(proof, evaluator=EVALUATOR, traces=shown.traces)
        write_proofs(self._folder.path, [record])
        return PlanResult(task, "accepted", len(outcome.rounds), record, "; ".join(proof.reasons))

    def _refused(self, what: str, candidate: Tasks | Oracles, why: str) -> NotAcceptedError:
        kept = self._folder.keep_refused(candidate) if candidate else None
        return NotAcceptedError(what, why, kept)


class _Evidence:
    """What the traces of a task say against an oracle; each oracle is tried once.

    Args:
        target: The task.
        gate: Where its traces are, if there are any.
        libraries: The libraries that oracles refer to.
    """

    def __init__(self, target: Target, gate: Gate | None, libraries: Libraries | None) -> None:
        self._task, self._gate, self._libraries = target.name, gate, libraries
        self._proofs: dict[str, Proof | None] = {}

    @property
    def traces(self) -> str:
        """Where the traces are."""
        return "" if self._gate is None else str(self._gate.place)

    def proof(self, oracle: FineGrainedOracle) -> Proof | None:
        """What traces show of an oracle; ``None`` if there are none."""
        if self._gate is not None and oracle.digest not in self._proofs:
            self._proofs[oracle.digest] = self._gate.prove(self._task, oracle, self._libraries)
        return self._proofs.get(oracle.digest)

    def __call__(self, oracle: FineGrainedOracle) -> list[str]:
        """What speaks against an oracle."""
        return evidence_of(self.proof(oracle))


def _instructions(
    targets: Iterable[Target], shown: Mapping[str, _Evidence], unread: dict[str, MangoTraceError]
) -> Iterator[Instruction]:
    """Read the scenes of tasks, one after the other: a simulator may not be made in two threads at once.

    Args:
        targets: The tasks.
        shown: What traces say, by task.
        unread: Gets the tasks that have no scene, or no name for a file, with the reason.

    Yields:
        The instructions of the others.
    """
    for target in targets:
        try:
            file_name(target.name)  # before anything is paid for it
            scene = target.scene
        except MangoTraceError as error:
            unread[target.name] = error
        else:
            yield Instruction(target.name, target.instruction, scene, shown[target.name])
