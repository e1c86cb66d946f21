"""Laws of the loop of proposing, assessing and judging."""

from __future__ import annotations

import threading
import time

import pytest

from generator.negotiation import Feedback, negotiate
from generator.replies import Assessment, Ruling


def assessment(score=10.0, *issues):
    return Assessment(issues=list(issues), justification="", score=score)


def ruling(accepted, *corrections):
    return Ruling(accepted=accepted, corrections=list(corrections), justification="")


def run(proposals, *, check=lambda _: (), assess=None, judge=lambda *_: ruling(True), budget=10):
    """Negotiate over numbers; gives the outcome and the feedback of every round."""
    told: list[Feedback[int]] = []

    def write(feedback):
        told.append(feedback)
        proposal = proposals[min(len(told), len(proposals)) - 1]
        return (None, [proposal]) if isinstance(proposal, str) else (proposal, ())

    outcome = negotiate(write, check, assess or {}, judge, budget=budget)
    assert len(told) == len(outcome.rounds)
    return outcome, told


def test_what_the_judge_accepts_ends_it():
    outcome, _ = run([1, 2], judge=lambda candidate, *_: ruling(candidate == 2, "more"))
    assert (outcome.candidate, outcome.accepted, len(outcome.rounds)) == (2, True, 2)


def test_what_the_program_refuses_is_never_accepted():
    outcome, told = run([1], check=lambda _: ["no such object"], budget=3)
    assert (outcome.accepted, outcome.candidate, len(outcome.rounds)) == (False, 1, 3)
    assert told[1].instructions == ("no such object",)
    assert told[1].previous == 1


def test_the_next_round_is_told_problems_and_corrections_each_once():
    _, told = run(
        [1],
        check=lambda _: ["a", "a"],
        assess={"x": lambda _: assessment(3, "not for the generator")},
        judge=lambda *_: ruling(False, "b", "a"),
        budget=2,
    )
    assert told[1].instructions == ("a", "b")


def test_an_unusable_reply_costs_a_round_and_keeps_the_last_candidate():
    outcome, told = run([1, "plan: needs at least one entry", 2], judge=lambda one, *_: ruling(one == 2))
    assert (outcome.candidate, outcome.accepted) == (2, True)
    assert told[2].previous == 1
    assert told[2].instructions == ("plan: needs at least one entry",)


def test_a_spent_budget_keeps_the_best_candidate_unproven():
    scores = {1: 4.0, 2: 9.0, 3: 6.0}
    outcome, _ = run(
        [1, 2, 3], assess={"x": lambda one: assessment(scores[one])}, judge=lambda *_: ruling(False), budget=3
    )
    assert (outcome.candidate, outcome.accepted) == (2, False)
    outcome, _ = run(["nothing"], budget=4)
    assert (outcome.candidate, outcome.accepted, len(outcome.rounds)) == (None, False, 4)


def test_without_a_judge_the_program_decides():
    outcome, _ = run([1, 2], check=lambda one: [] if one == 2 else ["wrong"], judge=None)
    assert (outcome.candidate, outcome.accepted, len(outcome.rounds)) == (2, True, 2)


def test_assessors_work_at_the_same_time():
    together = threading.Barrier(3, timeout=10)

    def assess(_):
        together.wait()
        return assessment()

    started = time.monotonic()
    outcome, _ = run([1], assess=dict.fromkeys("abc", assess))
    assert outcome.accepted
    assert time.monotonic() - started < 10


def test_a_model_that_cannot_be_asked_ends_it():
    def judge(*_):
        raise OSError("no server")

    with pytest.raises(OSError, match="no server"):
        run([1], judge=judge)
