"""Modules take as long as the longest chain of calls that need each other, and no longer."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from generator.modules.oracles import write_oracles
from generator.modules.plans import write_plans
from generator.modules.tasks import write_tasks
from generator.team import Team
from tests.generator.models.server import ModelServer
from tests.generator.modules.answers import (
    FOOLED,
    Question,
    RulesAnswers,
    attempt,
    instructions,
    open_team,
    profile,
)
from tests.generator.rules.scenes import libraries

Result = TypeVar("Result")

MOST = 1.2
"""Most wall time, as a multiple of the critical path."""

N_PLANS = 3
DELAYS_S = {
    "tasks.write": 0.3,
    "tasks.assess.atomicity": 0.1,
    "tasks.assess.redundancy": 0.2,
    "tasks.assess.repetition": 0.3,
    "tasks.judge": 0.3,
    "oracles.write": 0.3,
    "oracles.assess.hacker": 0.3,
    "oracles.judge.library": 0.3,
    "plan.write": 0.3,
    "plan.assess.logic": 0.3,
    "plan.assess.compliance": 0.2,
    "plan.assess.grounding": 0.1,
    "plan.judge": 0.3,
}
"""Seconds that the server takes for each question."""


def critical_path(questions: Iterable[Question]) -> float:
    """Seconds of the longest chain: items beside each other, in an item round after round.

    A round is a proposal, the slowest of its assessors, its judge; what is about a library of oracles comes
    after all items.
    """
    items: dict[str, float] = {}
    slowest: dict[str, float] = {}
    last = 0.0
    for one in questions:
        took = DELAYS_S[one.what]
        if one.what == "oracles.judge.library":
            last += took
        elif ".assess." in one.what:
            items[one.item] += max(0.0, took - slowest[one.item])
            slowest[one.item] = max(took, slowest[one.item])
        else:
            items[one.item] = items.get(one.item, 0.0) + took
            slowest[one.item] = 0.0
    return max(items.values()) + last


def ratios(answers: RulesAnswers, team: Team) -> dict[str, float]:
    """Run the three modules; gives the wall time of each as a multiple of the critical path of its calls."""
    found = {}

    def timed(module: str, work: Callable[[], Result]) -> Result:
        answers.questions.clear()
        begun = time.monotonic()
        result = work()
        took = time.monotonic() - begun
        found[module] = took / critical_path(answers.questions)
        return result

    answers.instead("tasks.write", [attempt(1)])
    answers.instead("tasks.assess.redundancy", [FOOLED])
    answers.instead("oracles.write", [attempt(1), attempt(2)], item="close")
    answers.instead("oracles.assess.hacker", [FOOLED, FOOLED], item="close")
    given, known = instructions(N_PLANS), libraries()
    for number, one in enumerate(given[:2], 1):
        answers.instead("plan.write", map(attempt, range(number)), item=one.name)
        answers.instead("plan.assess.logic", [FOOLED] * number, item=one.name)
    tasks = timed("I", lambda: write_tasks(team, [one.text for one in instructions(4)]))
    assert (tasks.accepted, len(tasks.rounds)) == (True, 2)
    library = timed("II", lambda: write_oracles(team, tasks.candidate or ()))
    assert library.accepted
    assert len(library.of_tasks["close"].rounds) == 3
    plans = timed("III", lambda: list(write_plans(team, given, known.tasks, known.oracles)))
    assert [len(plan.outcome.rounds) for plan in plans if plan.outcome] == [2, 3, 1, 1][:N_PLANS]
    return found


@pytest.fixture
def settled() -> Iterator[None]:
    """As the command does: what is there and stays is not looked through for garbage."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.slow
@pytest.mark.usefixtures("settled")
def test_wall_time_is_that_of_the_critical_path(kind: str, server: ModelServer, tmp_path: Path) -> None:
    """Of some runs the best: what else this machine does makes some longer, and none shorter.

    The first is no measurement: SDKs import most of themselves with the first call, and read certificates.
    """
    server.script = answers = RulesAnswers(kind)
    best: dict[str, float] = {}
    for number in range(4):
        with open_team(profile(kind, server, "concurrency = 32"), tmp_path / str(number)) as team:
            answers.delays = DELAYS_S if number else dict.fromkeys(DELAYS_S, 0.0)
            found = ratios(answers, team)
        if number:
            best = {module: min(ratio, best.get(module, ratio)) for module, ratio in found.items()}
            if max(best.values()) <= MOST:
                break
    assert min(best.values()) >= 1.0
    assert max(best.values()) <= MOST, best


def test_the_critical_path_of_known_questions() -> None:
    asked = [
        ("oracles.write", "a"),
        ("oracles.write", "b"),
        ("oracles.assess.hacker", "b"),
        ("oracles.assess.hacker", "a"),
        ("oracles.write", "a"),
        ("oracles.assess.hacker", "a"),
        ("oracles.judge.library", ""),
    ]
    questions = [Question(what, item, {}, None) for what, item in asked]  # type: ignore[arg-type]
    assert critical_path(questions) == pytest.approx(2 * (0.3 + 0.3) + 0.3)
    plan = [
        ("plan.write", "a"),
        *((f"plan.assess.{name}", "a") for name in ("grounding", "logic", "compliance")),
    ]
    questions = [Question(what, item, {}, None) for what, item in [*plan, ("plan.judge", "a")]]  # type: ignore[arg-type]
    assert critical_path(questions) == pytest.approx(0.3 + 0.3 + 0.3)
