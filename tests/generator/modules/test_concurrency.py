"""Laws of many items at once: their order and how many there are at once change nothing but the time."""

from __future__ import annotations

import itertools
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from generator.errors import BudgetSpentError, SafetyBlockError, StoppedError
from generator.modules.oracles import LibraryOutcome, write_oracles
from generator.modules.parallel import each
from generator.modules.plans import PlanOutcome, write_plans
from generator.modules.tasks import write_tasks
from generator.progress import RoundReport
from generator.replies import Assessment
from generator.team import Team, Transcript
from tests.generator.models.server import Answer, ModelServer
from tests.generator.modules.answers import (
    FOOLED,
    FOR_EVER,
    RulesAnswers,
    attempt,
    blocked,
    content_of,
    instructions,
    open_team,
    profile,
    team_of_rules,
    transcript_of,
)
from tests.generator.rules.scenes import libraries

BUSY = Answer("", 503)
N_PLANS = 5


def libraries_of_both(team: Team, *, shuffled: bool = False) -> LibraryOutcome:
    """Modules I and II for some instructions."""
    texts = [one.text for one in instructions(N_PLANS)]
    tasks = write_tasks(team, texts).candidate
    assert tasks is not None
    if shuffled:
        tasks = tuple(random.Random(0).sample(tasks, len(tasks)))
    return write_oracles(team, tasks)


def plans_of(team: Team, progress: Any = None) -> list[PlanOutcome]:
    """Module III for the same."""
    known = libraries()
    return list(write_plans(team, instructions(N_PLANS), known.tasks, known.oracles, progress=progress))


def make_difficult(answers: RulesAnswers) -> None:
    """Second rounds, bad replies and failures for some of the items."""
    answers.instead("oracles.write", [attempt(1), attempt(2)], item="close")
    answers.instead("oracles.assess.hacker", [FOOLED] * 2, item="close")
    answers.instead("oracles.write", ["no JSON", BUSY, None], item="turn_on")
    answers.instead("oracles.judge.library", [BUSY, None])
    for number, one in enumerate(instructions(N_PLANS)):
        answers.instead("plan.write", map(attempt, range(number)), item=one.name)
        answers.instead("plan.assess.logic", [FOOLED] * number, item=one.name)
        answers.instead("plan.judge", [BUSY] * (number % 2), item=one.name)


def test_how_many_at_once_changes_nothing(kind: str, server: ModelServer, tmp_path: Path) -> None:
    """Candidates, rounds, and the transcript but for its order."""
    found = []
    for concurrency in (1, 8):
        folder = tmp_path / str(concurrency)
        server.script = answers = RulesAnswers(kind)
        make_difficult(answers)
        with open_team(profile(kind, server, f"concurrency = {concurrency}"), folder) as team:
            found.append((libraries_of_both(team), plans_of(team), content_of(folder)))
    assert found[0] == found[1]
    library, plans, _ = found[0]
    assert library.accepted
    assert len(library.of_tasks["close"].rounds) == 3
    assert [len(plan.outcome.rounds) for plan in plans if plan.outcome] == [1, 2, 3, 4, 5]
    assert all(plan.outcome and plan.outcome.accepted for plan in plans)


def test_the_order_of_the_items_changes_nothing() -> None:
    one, other = (libraries_of_both(team_of_rules(), shuffled=shuffled) for shuffled in (False, True))
    assert one.of_tasks == other.of_tasks
    assert set(one.oracles) == set(other.oracles)
    assert one.oracles != other.oracles  # they are in the order of the tasks


def test_tasks_are_written_at_the_same_time(kind: str, server: ModelServer, tmp_path: Path) -> None:
    """And outcomes come in the order of the items, whichever is done first."""
    server.script = answers = RulesAnswers(kind)
    answers.delays = {"oracles.write": 0.2, "plan.write": 0.2}
    answers.instead("plan.write", [BUSY, BUSY], item=instructions(1)[0].name)
    with open_team(profile(kind, server), tmp_path) as team:
        library = libraries_of_both(team)
        assert server.most_at_once == len(library.of_tasks) > 3
        assert list(library.of_tasks) == list(dict.fromkeys(one.task_id for one in library.oracles))
        names = [plan.instruction.name for plan in plans_of(team)]
    assert names == [one.name for one in instructions(N_PLANS)]


def test_no_more_at_once_than_the_profile_says(kind: str, server: ModelServer, tmp_path: Path) -> None:
    server.script = answers = RulesAnswers(kind)
    answers.delays = dict.fromkeys(("oracles.write", "plan.write", "plan.assess.logic"), 0.05)
    with open_team(profile(kind, server, "concurrency = 2"), tmp_path) as team:
        libraries_of_both(team)
        plans_of(team)
    assert server.most_at_once == 2


def test_an_error_about_one_task_loses_nothing_of_the_others(
    kind: str, server: ModelServer, tmp_path: Path
) -> None:
    """They are there, the judge is not asked about a part, and a second run asks only what failed."""
    server.script = answers = RulesAnswers(kind)
    answers.instead("oracles.write", FOR_EVER(blocked(kind)), item="close")
    with open_team(profile(kind, server), tmp_path) as team:
        found = libraries_of_both(team)
    assert list(found.errors) == ["close"]
    assert isinstance(found.errors["close"], SafetyBlockError)
    written = {one.task_id for one in found.oracles}
    assert written == set(found.of_tasks) == {one.task_id for one in libraries().oracles} & written
    assert len(written) > 3
    assert not found.accepted
    assert answers.count("oracles.judge.library") == 0
    assert answers.count("oracles.write", "close") == 1  # asking again cannot help
    n_asked, n_kept = len(answers.questions), len(list((tmp_path / "calls").iterdir()))
    assert n_kept == n_asked - 1

    answers.instead("oracles.write", [], item="close")
    with open_team(profile(kind, server), tmp_path) as team:
        again = libraries_of_both(team)
    assert again.accepted
    assert [one.what for one in answers.questions[n_asked:]] == [
        "oracles.write", "oracles.assess.hacker", "oracles.judge.library"
    ]  # fmt: skip
    assert set(again.oracles) > set(found.oracles)


@pytest.mark.parametrize("limit", ["calls = 9", "tokens = 10700"])
def test_the_budget_holds(kind: str, server: ModelServer, tmp_path: Path, limit: str) -> None:
    """Whatever the number of threads: what is refused is not sent, what was answered is kept."""
    server.script = answers = RulesAnswers(kind)
    answers.delays = {"oracles.write": 0.05}
    text = profile(kind, server, reply_tokens=1000) + f"\n[budget]\n{limit}\n"
    with open_team(text, tmp_path) as team:
        found = libraries_of_both(team)
        used = team.usage()
    assert found.errors
    assert all(isinstance(error, BudgetSpentError) for error in found.errors.values())
    n_kept = len(list((tmp_path / "calls").iterdir()))
    assert len(server.asked) == n_kept == sum(one.calls for one in used.values())
    name, most = limit.split(" = ")
    assert sum(getattr(one, name) for one in used.values()) <= int(most)


def test_names_of_oracles_are_given_once(kind: str, server: ModelServer, tmp_path: Path) -> None:
    """Tasks that are written at once do not know each other's names; the program sees it, and it is told."""
    server.script = answers = RulesAnswers(kind)
    with open_team(profile(kind, server), tmp_path / "first") as team:
        library = libraries_of_both(team)
    first, second = list(library.of_tasks)[:2]
    taken = next(one.oracle_id for one in library.oracles if one.task_id == first)
    name = next(one.oracle_id for one in library.oracles if one.task_id == second)
    right = next(
        answers.by_rules(one)
        for one in answers.questions
        if (one.what, one.item) == ("oracles.write", second)
    )
    answers.questions.clear()
    answers.instead("oracles.write", [right.replace(f'"{name}"', f'"{taken}"')], item=second)
    with open_team(profile(kind, server), tmp_path / "second") as team:
        mended = libraries_of_both(team)
    assert mended.accepted
    assert len(mended.rulings) == 2
    told = [one.inputs.get("corrections", []) for one in answers.questions if one.item == second]
    assert any(f"the name of an oracle of task {first!r}" in text for texts in told for text in texts)


def test_progress_is_told_from_one_thread_at_a_time(kind: str, server: ModelServer, tmp_path: Path) -> None:
    server.script = answers = RulesAnswers(kind)
    make_difficult(answers)
    reports: list[RoundReport] = []
    inside = threading.Lock()

    def seen(report: RoundReport) -> None:
        assert inside.acquire(blocking=False), "two at once"
        time.sleep(0.005)
        reports.append(report)
        inside.release()

    with open_team(profile(kind, server), tmp_path) as team:
        texts = [one.text for one in instructions(N_PLANS)]
        tasks = write_tasks(team, texts, progress=seen).candidate
        assert tasks is not None
        library = write_oracles(team, tasks, progress=seen)
        plans_of(team, seen)
    assert [str(one) for one in reports if one.module == "I"] == [
        "I library: round 1, atomicity 10.0, redundancy 10.0, repetition 10.0, accepted"
    ]
    assert [str(one) for one in reports if one.item == "close"] == [
        "II close: round 1, hacker 6.0",
        "II close: round 2, hacker 6.0",
        "II close: round 3, hacker 10.0, accepted",
    ]
    assert [str(one) for one in reports if (one.module, one.item) == ("II", "library")] == [
        "II library: round 1, accepted"
    ]
    assert {one.item for one in reports if one.module == "II"} == {*library.of_tasks, "library"}
    last = instructions(N_PLANS)[-1].name
    rounds = [one for one in reports if one.item == last]
    assert [one.scores["logic"] for one in rounds] == [6.0] * 4 + [10.0]
    assert [one.accepted for one in rounds] == [False] * 4 + [True]


def test_results_are_in_the_order_of_the_items() -> None:
    team = Team({}, Transcript(None), concurrency=8)
    seconds = [0.05, 0.0, 0.03, 0.0, 0.01] * 4

    def work(item: tuple[int, float]) -> int:
        time.sleep(item[1])
        return item[0]

    assert list(each(team, work, enumerate(seconds))) == list(range(20))


def test_an_interruption_stops_what_is_in_progress() -> None:
    """Items that wait are not begun; those in progress ask nothing more."""
    team = team_of_rules(2)
    begun, interrupted = itertools.count(), threading.Event()
    refused: list[Exception] = []

    def work(item: int) -> int:
        next(begun)
        if item == 0:
            raise KeyboardInterrupt
        assert interrupted.wait(10)
        try:
            team.ask("tasks.judge", {}, Assessment)
        except StoppedError as error:
            refused.append(error)
        return item

    stop = team.stop

    def stopped() -> None:
        stop()
        interrupted.set()

    team.stop = stopped  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        list(each(team, work, range(50)))
    assert next(begun) <= 3
    assert 1 <= len(refused) <= 2


def test_who_takes_only_the_first_may_go_on_with_the_team(tmp_path: Path) -> None:
    team = Team({}, Transcript(None), concurrency=2)
    results = each(team, str, range(10))
    assert next(results) == "0"
    results.close()  # type: ignore[attr-defined]
    assert list(each(team, str, range(3))) == ["0", "1", "2"]


def test_every_call_of_a_transcript_is_whole(kind: str, server: ModelServer, tmp_path: Path) -> None:
    """Threads write into one file."""
    server.script = RulesAnswers(kind)
    with open_team(profile(kind, server, "concurrency = 16"), tmp_path) as team:
        plans_of(team)
    assert len(transcript_of(tmp_path)) == len(server.asked) == 5 * N_PLANS
