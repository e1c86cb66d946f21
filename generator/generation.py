"""A run from instructions to proven oracles: what is there is reused, what is accepted is kept at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from generator.errors import NotAcceptedError, UnwrittenError
from generator.folder import OracleFolder
from generator.gate import Gate, evidence_of
from generator.modules.oracles import Oracles, write_oracles
from generator.modules.plans import write_plan
from generator.modules.tasks import Tasks, write_tasks
from generator.modules.variant import WHOLE, Variant
from generator.negotiation import instructions_of
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
            raise self._refused("atomic tasks", found.candidate or (), instructions_of(found.rounds[-1]))
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
            corrections = found.rulings[-1].corrections if found.rulings else ()
            raise self._refused("atomic oracles", found.oracles, corrections)
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
        libraries = link(tasks, oracles, source=str(self._folder.path)) if tasks and oracles else None
        for target in targets:
            try:
                yield self._write_plan(target, tasks, oracles, libraries)
            except MangoTraceError as error:
                yield PlanResult(target.name, "error", why=str(error))

    def _write_plan(
        self, target: Target, tasks: Tasks, oracles: Oracles, libraries: Libraries | None
    ) -> PlanResult:
        gate = self._gate_of(target)
        used = libraries if self._variant.task_library and self._variant.oracle_library else None
        proofs: dict[str, Proof | None] = {}

        def evidence(oracle: FineGrainedOracle) -> list[str]:
            if gate is not None and oracle.digest not in proofs:
                proofs[oracle.digest] = gate.prove(target.name, oracle, used)
            return evidence_of(proofs.get(oracle.digest))

        found = write_plan(
            self._team,
            target.instruction,
            target.scene,
            tasks,
            oracles,
            evidence=evidence,
            variant=self._variant,
            name=target.name,
            progress=self._progress,
        )
        if found.candidate is None or not found.accepted:
            if found.candidate is not None:
                self._folder.keep_unproven(target.name, found.candidate)
            why = "; ".join(instructions_of(found.rounds[-1]))
            return PlanResult(target.name, "unproven", len(found.rounds), why=why)
        self._folder.keep_plan(target.name, found.candidate)
        evidence(found.candidate)  # a variant that asks no evidence is measured by it all the same
        proof = proofs.get(found.candidate.digest)
        if gate is None or proof is None:
            return PlanResult(target.name, "accepted", len(found.rounds))
        record = record_of(proof, evaluator=EVALUATOR, traces=str(gate.place))
        write_proofs(self._folder.path, [record])
        return PlanResult(target.name, "accepted", len(found.rounds), record, "; ".join(proof.reasons))

    def _refused(self, what: str, candidate: Tasks | Oracles, corrections: Sequence[str]) -> NotAcceptedError:
        kept = self._folder.keep_unproven(what.replace(" ", "_"), candidate) if candidate else None
        return NotAcceptedError(what, corrections, kept)
