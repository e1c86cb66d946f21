"""From what an oracle said of traces and mutants to whether it is proven."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from mango_trace.errors import UsageError
from mango_trace.evaluation.oracle_files import NamedOracle
from mango_trace.oracle.decide import Outcome
from mango_trace.proving.mutants import Kind

ProofOutcome: TypeAlias = Literal["proven", "refuted", "not_provable"]
"""What traces show of an oracle; ``not_provable`` where there are too few to show anything."""

MUTATIONS: Final = tuple(kind for kind in Kind if kind is not Kind.NO_OP)
"""Kinds that make up the mutation score; that nothing happened must never pass."""


_IDLE: Final = frozenset({"first_state", str(Kind.NO_OP)})


@dataclass(frozen=True, slots=True)
class Limits:
    """What is asked of an oracle.

    Attributes:
        min_score: Smallest share of successful traces that pass, and of mutants that are caught.
        min_successes: Fewest successful traces that show anything.

    Raises:
        UsageError: A limit makes no sense.
    """

    min_score: float = 0.95
    min_successes: int = 1

    def __post_init__(self) -> None:
        """Refuse limits that everything or nothing meets."""
        if not 0 < self.min_score <= 1:
            raise UsageError(f"the smallest score must be above 0 and at most 1, not {self.min_score}")
        if self.min_successes < 1:
            raise UsageError(f"at least one successful trace is needed, not {self.min_successes}")


@dataclass(frozen=True, slots=True)
class SourceSeen:
    """What an oracle said of a recorded trace.

    Attributes:
        trace_id: The trace.
        success: Whether it counts as successful without anybody's label.
        outcome: What the oracle said.
        state: Where it passed, or where progress stopped.
        at_start: Whether it passed in the first evaluated state, in which the task was not done.
        reason: Why it failed, for people.
        always: Actions that hold in every evaluated state.
    """

    trace_id: str
    success: bool
    outcome: Outcome
    state: int | None
    at_start: bool = False
    reason: str = ""
    always: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class MutantSeen:
    """What an oracle said of a mutant of a trace.

    Attributes:
        trace_id: The source.
        kind: How it was broken.
        what: What exactly.
        applicable: Whether it is a counterexample, which the oracle should fail.
        outcome: What the oracle said; a wrong order that it reports is a failure.
        state: Where it passed, or where progress stopped.
    """

    trace_id: str
    kind: Kind
    what: str
    applicable: bool
    outcome: Outcome
    state: int | None


@dataclass(frozen=True, slots=True)
class Finding:
    """Evidence against an oracle.

    Attributes:
        check: ``success``, ``first_state``, ``always_holds`` or the kind of a mutant.
        trace_id: The trace, or the source of the mutant.
        what: What was wrong with the trace, or with the oracle.
        outcome: What the oracle said.
        state: Where it passed, or where progress stopped.
    """

    check: str
    trace_id: str
    what: str
    outcome: Outcome
    state: int | None

    def __str__(self) -> str:
        """Write it as a sentence."""
        at = "" if self.state is None else f" at state {self.state}"
        return f"{self.check}: trace {self.trace_id}: {self.what}: {self.outcome}{at}"


@dataclass(frozen=True, slots=True)
class KindScore:
    """How many mutants of a kind an oracle caught.

    Attributes:
        kind: The kind.
        mutants: How many there are.
        applicable: How many of them are counterexamples.
        caught: How many of these failed.
        undetermined: How many of these are undetermined, and not caught.
    """

    kind: Kind
    mutants: int
    applicable: int
    caught: int
    undetermined: int

    @property
    def score(self) -> float | None:
        """Share that was caught; ``None`` where nothing was to be caught."""
        return self.caught / self.applicable if self.applicable else None


@dataclass(frozen=True, slots=True)
class Proof:
    """What traces show of an oracle.

    Attributes:
        name: Name of the oracle's file.
        source: Where it was read from.
        digest: Identity of the document.
        outcome: What is shown.
        reasons: Why it is not proven.
        n_traces: Traces that it is for and that could be judged.
        n_successes: Those of them that are successful without anybody's label.
        n_passed: Those of the successful ones that it passes.
        n_idle: Traces whose first settled state, in which the task is not done, was repeated.
        n_idle_missed: Those of them that it does not fail, or that it passes in that very state.
        kinds: Scores of mutants by kind.
        findings: Everything that speaks against it.
    """

    name: str
    source: str
    digest: str
    outcome: ProofOutcome
    reasons: tuple[str, ...]
    n_traces: int
    n_successes: int
    n_passed: int
    n_idle: int
    n_idle_missed: int
    kinds: tuple[KindScore, ...]
    findings: tuple[Finding, ...]

    @property
    def applicable(self) -> int:
        """Mutants that it should fail."""
        return sum(kind.applicable for kind in self.kinds)

    @property
    def caught(self) -> int:
        """Those of them that it does fail."""
        return sum(kind.caught for kind in self.kinds)

    @property
    def undetermined(self) -> int:
        """Those of them of which nothing is sure; they are not caught."""
        return sum(kind.undetermined for kind in self.kinds)

    @property
    def score(self) -> float | None:
        """Mutation score; ``None`` where nothing was to be caught."""
        return self.caught / self.applicable if self.applicable else None


def weigh(
    oracle: NamedOracle,
    sources: Sequence[SourceSeen],
    mutants: Sequence[MutantSeen],
    limits: Limits,
) -> Proof:
    """Say what traces show of an oracle.

    Args:
        oracle: The oracle.
        sources: What it said of recorded traces.
        mutants: What it said of their mutants.
        limits: What is asked of it.

    Returns:
        The outcome with its numbers and everything that speaks against the oracle.
    """
    successes = [seen for seen in sources if seen.success]
    passed = [seen for seen in successes if seen.outcome == "passed"]
    kinds = tuple(_score_of(kind, mutants) for kind in MUTATIONS)
    idle = _score_of(Kind.NO_OP, mutants)
    findings = tuple(_findings(oracle, sources, mutants))
    checks = {finding.check for finding in findings}
    against = []
    if successes and len(passed) < limits.min_score * len(successes):
        against.append(f"passes {len(passed)} of {len(successes)} successful traces")
    if checks & _IDLE:
        against.append("does not fail where nothing was done")
    if "always_holds" in checks:
        against.append("has an action that holds at every state of every successful trace")
    against += [
        f"catches {kind.caught} of {kind.applicable} mutants of kind {kind.kind}"
        for kind in kinds
        if kind.score is not None and kind.score < limits.min_score
    ]
    lacking = []
    if len(successes) < limits.min_successes:
        lacking.append(f"{len(successes)} successful traces, {limits.min_successes} needed")
    elif not any(kind.applicable for kind in kinds):
        lacking.append("no mutant of a trace that it passes is a counterexample")
    outcome: ProofOutcome = "refuted" if against else "not_provable" if lacking else "proven"
    return Proof(
        name=oracle.name,
        source=oracle.source,
        digest=oracle.oracle.digest,
        outcome=outcome,
        reasons=tuple(against or lacking),
        n_traces=len(sources),
        n_successes=len(successes),
        n_passed=len(passed),
        n_idle=idle.applicable,
        n_idle_missed=len({finding.trace_id for finding in findings if finding.check in _IDLE}),
        kinds=kinds,
        findings=findings,
    )


def _score_of(kind: Kind, mutants: Sequence[MutantSeen]) -> KindScore:
    made = [seen for seen in mutants if seen.kind is kind]
    due = [seen.outcome for seen in made if seen.applicable]
    return KindScore(kind, len(made), len(due), due.count("failed"), due.count("undetermined"))


def _findings(
    oracle: NamedOracle, sources: Sequence[SourceSeen], mutants: Sequence[MutantSeen]
) -> Iterator[Finding]:
    successes = [seen for seen in sources if seen.success]
    for seen in successes:
        if seen.outcome != "passed":
            yield Finding("success", seen.trace_id, seen.reason, seen.outcome, seen.state)
    for seen in sources:
        if seen.at_start:
            yield Finding("first_state", seen.trace_id, "nothing was done yet", seen.outcome, seen.state)
    if successes:
        actions = [action for step in oracle.oracle.plan for action in step.actions]
        for index in sorted(frozenset.intersection(*(seen.always for seen in successes))):
            action = actions[index]
            what = f"{action.action_id}({', '.join(action.parameters)}) says nothing"
            yield Finding("always_holds", successes[0].trace_id, what, successes[0].outcome, None)
    for mutant in mutants:
        if mutant.applicable and mutant.outcome != "failed":
            yield Finding(str(mutant.kind), mutant.trace_id, mutant.what, mutant.outcome, mutant.state)
