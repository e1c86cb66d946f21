"""Retries that end, a deadline over all of them, and a budget that holds across threads."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.errors import (
    BudgetSpentError,
    DeadlineError,
    MalformedReplyError,
    ModelError,
    RateLimitedError,
    RequestRefusedError,
    ServerError,
    TokenLimitError,
)
from generator.models.base import Usage
from generator.models.budget import Budget, Limits, Prices
from generator.models.calling import Calling, Retries
from tests.generator.models.conftest import Api
from tests.generator.models.replies import Verdict, ask
from tests.generator.models.server import Answer

GOOD = '{"accepted": true, "reason": "fits"}'
BUSY = Answer({"error": {"message": "overloaded", "code": 503}}, 503)
LIMITED = Answer({"error": {"message": "quota", "code": 429}}, 429)
QUICK = Retries(tries=4, replies=2, first_wait_s=0.01, longest_wait_s=0.02)


def calling(api: Api, limits: Limits | None = None, retries: Retries = QUICK) -> Calling:
    return Calling(api.model, Budget(limits or Limits()), Prices(10.0, 100.0), retries)


def test_o77_busy_twice(api: Api) -> None:
    api.answers(BUSY, BUSY, GOOD)
    reply = calling(api).ask(ask())
    assert reply.value == Verdict(accepted=True, reason="fits")
    assert len(api.server.asked) == reply.usage.calls == 3
    assert (reply.usage.tokens, reply.usage.cost_usd) == (110, pytest.approx((100 * 10 + 10 * 100) / 1e6))


def test_o77_limited_for_ever(api: Api) -> None:
    """One of five items fails, and says so; the others are there."""
    model = calling(api)
    written: list[Any] = []
    failed: list[ModelError] = []
    for script in ((GOOD,), (GOOD,), (LIMITED,), (GOOD,), (GOOD,)):
        api.server.asked.clear()
        api.answers(*script)
        try:
            written.append(model.ask(ask()).value)
        except ModelError as error:
            assert len(api.server.asked) == 4
            failed.append(error)
    assert f"{len(written)} of {len(written) + len(failed)}" == "4 of 5"
    assert isinstance(failed[0], RateLimitedError)
    assert failed[0].exit_code != 0
    assert "after 4 calls" in str(failed[0])


def test_o75_the_same_question_again(api: Api) -> None:
    """At most so many replies, and the prompt does not grow."""
    api.answers('{"accepted": 1}')
    with pytest.raises(MalformedReplyError) as error:
        calling(api, retries=Retries(9, 3, 0.01, 0.02)).ask(ask())
    first, *others = api.server.asked
    assert [one.body for one in others] == [first.body] * 2
    assert error.value.usage is not None
    assert (error.value.usage.calls, error.value.usage.tokens) == (3, 330)


def test_a_bad_reply_then_a_good_one(api: Api) -> None:
    api.answers("well", BUSY, GOOD)
    reply = calling(api).ask(ask())
    assert (reply.usage.calls, reply.usage.tokens) == (3, 220)


@pytest.mark.parametrize("kind", [TokenLimitError, RequestRefusedError])
def test_what_asking_again_cannot_help(api: Api, kind: type[ModelError]) -> None:
    api.answers(api.said("", finish=api.cut) if kind is TokenLimitError else Answer("", 401))
    with pytest.raises(kind):
        calling(api).ask(ask())
    assert len(api.server.asked) == 1


def test_one_deadline_over_all_tries(api: Api) -> None:
    api.answers(BUSY, Answer(wait_s=60.0))
    begun = time.monotonic()
    with pytest.raises(DeadlineError, match="within 1 s") as error:
        calling(api).ask(ask(deadline_s=1.0))
    assert time.monotonic() - begun < 5
    assert error.value.usage is not None
    assert error.value.usage.calls == 2


def test_no_wait_past_the_deadline(api: Api) -> None:
    """A server that asks for more time than there is: what went wrong is said at once."""
    api.answers(Answer("", 503, {"retry-after": "600"}))
    begun = time.monotonic()
    with pytest.raises(ServerError):
        calling(api).ask(ask(deadline_s=30.0))
    assert time.monotonic() - begun < 5


def test_waits_as_long_as_the_server_asks(api: Api) -> None:
    api.answers(Answer("", 429, {"retry-after": "0.6"}), GOOD)
    assert calling(api).ask(ask()).usage.seconds >= 0.6


@pytest.mark.parametrize(
    ("limits", "what"),
    [(Limits(calls=5), "calls"), (Limits(tokens=2000), "tokens"), (Limits(usd=0.04), "usd")],
)
def test_budget_across_threads(api: Api, limits: Limits, what: str) -> None:
    """Never more than the limit, however many ask at once; who is refused has sent nothing."""
    api.answers(GOOD)
    budget = Budget(limits)
    model = Calling(api.model, budget, Prices(10.0, 100.0), QUICK)

    def one(_: int) -> str | None:
        try:
            model.ask(ask(reply_tokens=100))
        except BudgetSpentError as error:
            return error.what
        return None

    with ThreadPoolExecutor(8) as threads:
        refusals = list(threads.map(one, range(24)))
    assert set(refusals) == {None, what}
    answered = refusals.count(None)
    assert answered == len(api.server.asked) == budget.spent.calls
    assert budget.spent.calls <= (limits.calls or 24)
    assert budget.spent.tokens <= (limits.tokens or 1e9)
    assert budget.spent.cost_usd <= (limits.usd or 1e9)


def test_retries_count(api: Api) -> None:
    api.answers(BUSY)
    with pytest.raises(BudgetSpentError, match="budget of 2 calls"):
        calling(api, Limits(calls=2)).ask(ask())
    assert len(api.server.asked) == 2


def test_a_call_without_an_answer_counts_with_its_most(api: Api) -> None:
    api.answers(Answer(wait_s=60.0))
    budget = Budget(Limits())
    with pytest.raises(DeadlineError):
        Calling(api.model, budget, retries=QUICK).ask(ask(deadline_s=0.5, reply_tokens=1000))
    assert budget.spent.tokens > 1000


def spend(budget: Budget, calls: list[tuple[int, int]], threads: int) -> list[bool]:
    """Reserve and settle calls; says of each whether it was let through."""

    def one(call: tuple[int, int]) -> bool:
        most = Usage(1, reply_tokens=call[0])
        try:
            budget.reserve(most)
        except BudgetSpentError:
            return False
        budget.settle(most, Usage(1, reply_tokens=min(call)))
        return True

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, calls))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=30), st.integers(1, 200))
def test_the_budget_is_never_exceeded(calls: list[tuple[int, int]], limit: int) -> None:
    budget = Budget(Limits(tokens=limit))
    let_through = spend(budget, calls, threads=4)
    assert budget.spent.calls == sum(let_through)
    assert budget.spent.tokens <= limit


@given(st.integers(1, 50), st.integers(0, 50), st.integers(1, 30), st.integers(1, 200))
def test_calls_at_once_are_refused_no_sooner_than_one_by_one(
    most: int, taken: int, n_calls: int, limit: int
) -> None:
    answered = [
        sum(spend(Budget(Limits(tokens=limit)), [(most, taken)] * n_calls, threads)) for threads in (1, 6)
    ]
    assert answered[0] == answered[1]


def test_a_call_waits_for_what_others_give_back() -> None:
    """What they could have taken, not what they took, would have refused it."""
    budget, most = Budget(Limits(tokens=100)), Usage(1, reply_tokens=80)
    budget.reserve(most)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(budget.reserve, most)
        with pytest.raises(TimeoutError):
            waiting.result(0.1)
        budget.settle(most, Usage(1, reply_tokens=10))
        waiting.result(10)
        budget.settle(most, most)
    with pytest.raises(BudgetSpentError, match="90 are used"):
        budget.reserve(Usage(1, reply_tokens=11))


@pytest.mark.parametrize("script", [(Answer({}, hang_up=True),), (Answer({"candidates": 3, "choices": 3}),)])
def test_what_was_lost_on_the_way_counts_with_the_most_it_could_take(api: Api, script: Any) -> None:
    """A server that answered bills, whether or not its answer arrived or can be used."""
    api.answers(*script)
    budget = Budget(Limits())
    with pytest.raises(ModelError):
        Calling(api.model, budget, Prices(10.0, 100.0), Retries(2, 1, 0.01, 0.02)).ask(ask())
    assert budget.spent.calls == 2
    assert budget.spent.tokens > 2 * ask().settings.reply_tokens
    assert budget.spent.cost_usd > 0


def test_with_nothing_in_flight_nothing_is_set_aside() -> None:
    """Sums of dollars leave a rest, and nobody would give it back."""
    budget, most = Budget(Limits(usd=0.0615)), Usage(calls=1, cost_usd=0.0123)
    for _ in range(4):
        budget.reserve(most)
    for _ in range(4):
        budget.settle(most, most)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(budget.reserve, most).result(timeout=10)
