"""Proofs on disk: beside the oracles that they are about, by name and digest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from mango_trace.evaluation.oracle_files import PROOFS
from mango_trace.oracle.document import FrozenModel, load, read_text, validate
from mango_trace.oracle.model import Name, Text
from mango_trace.proving.gate import Proof, ProofOutcome
from mango_trace.store.layout import write_atomically

Count = Annotated[int, Field(ge=0)]


class ProofRecord(FrozenModel):
    """What traces showed of an oracle when it was proven.

    Attributes:
        oracle: Name of its file.
        digest: Identity of the document; of a changed one nothing is shown.
        evaluator: Version of the program and of MuJoCo.
        traces: Where the traces are.
        outcome: What they show.
        reasons: Why it is not proven.
        n_traces: How many traces it is for.
        successes: Those that are successful.
        passed: Those of them that it passes.
        mutants: Mutants that it should fail.
        caught: Those of them that it does fail.
        kinds: The same by kind of mutant: caught, and how many there are.
    """

    oracle: Name
    digest: Name
    evaluator: Name
    traces: Text
    outcome: ProofOutcome
    reasons: tuple[Text, ...] = ()
    n_traces: Count
    successes: Count
    passed: Count
    mutants: Count
    caught: Count
    kinds: dict[Name, tuple[Count, Count]]

    @property
    def mutation_score(self) -> float | None:
        """Share of the mutants that it fails; ``None`` where there are none."""
        return self.caught / self.mutants if self.mutants else None


class _Records(FrozenModel):
    version: Literal[1]
    proofs: tuple[ProofRecord, ...]


def record_of(proof: Proof, *, evaluator: str, traces: str) -> ProofRecord:
    """A proof as it is kept.

    Args:
        proof: The proof.
        evaluator: Version of the program and of MuJoCo.
        traces: Where the traces are, as they were given.
    """
    return ProofRecord(
        oracle=proof.name,
        digest=proof.digest,
        evaluator=evaluator,
        traces=traces,
        outcome=proof.outcome,
        reasons=proof.reasons,
        n_traces=proof.n_traces,
        successes=proof.n_successes,
        passed=proof.n_passed,
        mutants=proof.applicable,
        caught=proof.caught,
        kinds={str(kind.kind): (kind.caught, kind.applicable) for kind in proof.kinds},
    )


def read_proofs(folder: Path) -> tuple[ProofRecord, ...]:
    """Proofs that lie in a folder of oracles.

    Args:
        folder: The folder.

    Returns:
        The proofs; none if none were kept.

    Raises:
        SpecificationError: With everything that is wrong in the file, and where.
    """
    path = folder / PROOFS
    if not path.exists():
        return ()
    return validate(_Records, load(read_text(path), str(path)), str(path)).proofs


def write_proofs(folder: Path, records: Iterable[ProofRecord]) -> None:
    """Keep proofs beside their oracles; those of other oracles stay.

    Args:
        folder: The folder of the oracles.
        records: The proofs.

    Raises:
        SpecificationError: What is there already is damaged.
    """
    kept = {record.oracle: record for record in read_proofs(folder)}
    kept.update((record.oracle, record) for record in records)
    _write(folder, kept)


def forget_proof(folder: Path, oracle: str) -> None:
    """Remove what was kept about an oracle, if anything.

    Args:
        folder: The folder of the oracles.
        oracle: Name of the oracle's file.

    Raises:
        SpecificationError: What is there is damaged.
    """
    kept = {record.oracle: record for record in read_proofs(folder)}
    if kept.pop(oracle, None) is not None:
        _write(folder, kept)


def _write(folder: Path, kept: Mapping[str, ProofRecord]) -> None:
    document = _Records(version=1, proofs=tuple(kept[name] for name in sorted(kept)))
    write_atomically(folder / PROOFS, (document.model_dump_json(indent=1) + "\n").encode())
