"""The gate: an oracle is done when recorded traces and their mutants bear it out."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from mango_trace.errors import BadInputError
from mango_trace.evaluation.oracle_files import NamedOracle, OracleSet
from mango_trace.oracle import FineGrainedOracle, Libraries
from mango_trace.proving import Finding, Limits, Proof, prove_all
from mango_trace.store import Dataset

_SHOWN: Final = 10
"""Findings that a judge is told of, at most; each kind of check once before any twice."""


class Gate:
    """Puts oracles to the test on the traces of a dataset.

    Args:
        place: The dataset.
        limits: What is asked of an oracle.

    Attributes:
        problems: Traces and scenes that could not be read: subject and reason, each once.

    Raises:
        DatasetError: There is no such dataset.
    """

    def __init__(self, place: Path, limits: Limits | None = None) -> None:
        self.place = place
        self._dataset = Dataset(place)
        self._limits = limits or Limits()
        self._lock = threading.Lock()
        self.problems = [(str(one).split(":", 1)[0], str(one)) for one in self._dataset.problems]

    def prove(self, task: str, oracle: FineGrainedOracle, libraries: Libraries | None) -> Proof | None:
        """What the traces of a task show of an oracle.

        Args:
            task: Name of the task.
            oracle: The oracle; it compiles against the task's scene.
            libraries: The libraries that it refers to.

        Returns:
            The proof, or ``None`` if there is no trace of the task.

        Raises:
            BadInputError: There are traces, and none of them could be judged.
        """
        named = NamedOracle(task, f"{task}.json", oracle)
        with self._lock:  # a proof keeps all cores' caches busy, and scenes are not shared between threads
            report = prove_all(
                self._dataset, OracleSet((named,), libraries, (), frozenset({task})), limits=self._limits
            )
            self.problems += [one for one in report.problems if one not in self.problems]
        (proof,) = report.proofs
        if not proof.n_traces and report.problems:
            raise BadInputError(f"{self.place}: no trace of the task can be judged: {report.problems[0][1]}")
        return proof if proof.n_traces else None


def evidence_of(proof: Proof | None) -> list[str]:
    """What speaks against an oracle, as a judge is told of it.

    Args:
        proof: What traces show; ``None`` for nothing.

    Returns:
        Nothing where the oracle is not refuted.
    """
    if proof is None or proof.outcome != "refuted":
        return []
    first: dict[str, Finding] = {}
    for finding in proof.findings:
        first.setdefault(finding.check, finding)
    others = [finding for finding in proof.findings if first[finding.check] is not finding]
    return [*proof.reasons, *map(str, [*first.values(), *others][:_SHOWN])]
