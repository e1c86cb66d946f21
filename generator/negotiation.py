"""The loop of all modules: propose, assess, judge, propose again.

The assessors look at a candidate independently of each other and at the same time. The judge accepts it or
asks for corrections, which, with what the program itself found wrong, are the instructions of the next round.
What the program refuses is never accepted, whatever the judge says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from generator.replies import Assessment, Ruling

Candidate = TypeVar("Candidate")


@dataclass(frozen=True, slots=True)
class Feedback(Generic[Candidate]):
    """What the generator is told beside its task.

    Attributes:
        previous: The last candidate, or ``None`` in the first round.
        instructions: What to change in it.
        turn: Number of the round that it is for.
    """

    previous: Candidate | None = None
    instructions: tuple[str, ...] = ()
    turn: int = 1


@dataclass(frozen=True, slots=True)
class Round(Generic[Candidate]):
    """One round.

    Attributes:
        candidate: What was proposed, or ``None`` if no usable reply came.
        problems: What the program itself found wrong.
        assessments: What the assessors said, by their names.
        ruling: What the judge decided, or ``None`` where there is no judge or nothing to judge.
        accepted: Whether the candidate was accepted.
    """

    candidate: Candidate | None
    problems: tuple[str, ...]
    assessments: Mapping[str, Assessment]
    ruling: Ruling | None
    accepted: bool = False

    @property
    def score(self) -> float:
        """Mean score of the assessors, lowered for every problem; below 0 without a candidate."""
        if self.candidate is None:
            return -1.0
        scores = [assessment.score for assessment in self.assessments.values()]
        mean = sum(scores) / len(scores) if scores else 10.0
        return mean / (1 + len(self.problems))


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Candidate]):
    """What came of a negotiation.

    Attributes:
        candidate: The accepted candidate, or the best one where the budget was spent; ``None`` if none was
            usable.
        accepted: Whether it was accepted; a candidate that was not is unproven.
        rounds: What happened.
    """

    candidate: Candidate | None
    accepted: bool
    rounds: tuple[Round[Candidate], ...]

    @property
    def why(self) -> str:
        """What is wrong with a candidate that was not accepted; of the last round where there is none."""
        if self.accepted or not self.rounds:
            return ""
        own = [one for one in self.rounds if one.candidate is not None and one.candidate is self.candidate]
        return "; ".join(instructions_of((own or self.rounds)[-1]))


Write = Callable[[Feedback[Candidate]], tuple[Candidate | None, Sequence[str]]]
"""Proposes a candidate, or says why its reply was none."""

Check = Callable[[Candidate], Sequence[str]]
"""What the program itself finds wrong with a candidate."""

Assess = Callable[[Candidate], Assessment]
Judge = Callable[[Candidate, Mapping[str, Assessment], Sequence[str]], Ruling]


def negotiate(
    write: Write[Candidate],
    check: Check[Candidate],
    assessors: Mapping[str, Assess[Candidate]],
    judge: Judge[Candidate] | None,
    *,
    budget: int,
    progress: Callable[[int, Round[Candidate]], None] | None = None,
) -> Outcome[Candidate]:
    """Negotiate until a candidate is accepted or the budget is spent.

    Args:
        write: The generator.
        check: What code can see: structure, names, whether it compiles, whether traces refute it.
        assessors: Assessors by name; none for a baseline.
        judge: The judge; without one a candidate is taken when the program finds nothing wrong.
        budget: Most rounds.
        progress: Called after each round with its number, from 1.

    Returns:
        The outcome.

    Raises:
        ModelError: A model could not be asked, and so no round can be had.
    """
    feedback: Feedback[Candidate] = Feedback()
    rounds: list[Round[Candidate]] = []
    with ThreadPoolExecutor(max(1, len(assessors)), thread_name_prefix="assessor") as pool:
        for number in range(1, budget + 1):
            found = _round(write, check, assessors, judge, feedback, pool)
            rounds.append(found)
            if progress is not None:
                progress(number, found)
            if found.accepted:
                return Outcome(found.candidate, True, tuple(rounds))
            feedback = Feedback(found.candidate or feedback.previous, instructions_of(found), number + 1)
    best = max(rounds, key=lambda one: one.score, default=None)
    return Outcome(best.candidate if best else None, False, tuple(rounds))


def instructions_of(found: Round[Candidate]) -> tuple[str, ...]:
    """What the next round is told: what the program refuses, then the judge's corrections, each once."""
    corrections = found.ruling.corrections if found.ruling else ()
    issues = (
        ()
        if found.ruling
        else (issue for assessment in found.assessments.values() for issue in assessment.issues)
    )
    return tuple(dict.fromkeys((*found.problems, *corrections, *issues)))


def _round(
    write: Write[Candidate],
    check: Check[Candidate],
    assessors: Mapping[str, Assess[Candidate]],
    judge: Judge[Candidate] | None,
    feedback: Feedback[Candidate],
    pool: ThreadPoolExecutor,
) -> Round[Candidate]:
    candidate, problems = write(feedback)
    if candidate is None:
        return Round(None, tuple(problems), {}, None)
    # Independent of each other and of the check: the round takes as long as the slowest of them.
    asked = {name: pool.submit(assess, candidate) for name, assess in assessors.items()}
    refused = (*problems, *check(candidate))
    assessments = {name: future.result() for name, future in asked.items()}
    ruling = judge(candidate, assessments, refused) if judge is not None else None
    accepted = not refused and (ruling is None or ruling.accepted)
    return Round(candidate, refused, assessments, ruling, accepted)
