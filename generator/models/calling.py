"""A model that is asked again when that can help, in time and within the budget of the run."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic

from generator.errors import (
    BadReplyError,
    DeadlineError,
    ModelError,
    RateLimitedError,
    ServerError,
    SetupError,
    TransportError,
)
from generator.models.base import LanguageModel, Reply, Request, Settings, Usage, Value
from generator.models.budget import Budget, Prices
from generator.models.pace import Pace
from generator.models.prompt import data_part
from generator.models.schema import reply_schema
from generator.models.transport import sdk

if TYPE_CHECKING:
    from tenacity import RetryCallState

_LOG = logging.getLogger(__name__)

_FAILED: Final = 400
"""Lowest HTTP status that says so."""

_OVERHEAD_TOKENS: Final = 256
"""What a server adds to a question: marks of roles and parts."""


@dataclass(frozen=True, slots=True)
class Retries:
    """When to ask again.

    Attributes:
        tries: Most requests for one answer, of whatever outcome.
        replies: Most replies that are looked at for one answer. The question is sent again as it was: to tell
            the model of its mistake is for who asks, and a prompt that grows with each failure has no end.
        first_wait_s: Longest wait before the second try; it doubles with every other. The wait is drawn
            between 0 and that, so that parallel callers spread out, and is not shorter than what the server
            asks for.
        longest_wait_s: Longest wait of all.
    """

    tries: int = 5
    replies: int = 2
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0


class Calling:
    """Asks a model with retries, a deadline over all of them, and a budget.

    Args:
        model: The model.
        budget: Budget of the run; several models and threads may share one.
        prices: Prices of the model; ``None`` if nothing is paid.
        retries: When to ask again; ``None`` for the defaults.
        pace: How fast the run may ask; several models may share it. ``None`` is without bounds.
    """

    def __init__(
        self,
        model: LanguageModel,
        budget: Budget,
        prices: Prices | None = None,
        retries: Retries | None = None,
        pace: Pace | None = None,
    ) -> None:
        self._model = model
        self._budget = budget
        self._prices = prices or Prices()
        self._retries = retries or Retries()
        self._pace = pace or Pace()

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._model.name

    def ask(self, request: Request[Value]) -> Reply[Value]:
        """Answer one request; see :class:`generator.models.base.LanguageModel`.

        The usage of the reply, or of the error, is that of all tries. Waiting for a turn counts neither in
        its seconds nor towards the deadline.

        Raises:
            BudgetSpentError: If a call could exceed the budget; it is not sent.
        """
        return _Answer(self._model, self._budget, self._prices, self._retries, self._pace, request).find()


class _Answer(Generic[Value]):
    """The tries for one answer."""

    def __init__(
        self,
        model: LanguageModel,
        budget: Budget,
        prices: Prices,
        retries: Retries,
        pace: Pace,
        request: Request[Value],
    ) -> None:
        self._model = model
        self._budget = budget
        self._prices = prices
        self._retries = retries
        self._pace = pace
        self._request = request
        self._most = _most(request, prices)
        self._backoff = sdk("tenacity").wait_random_exponential(
            multiplier=retries.first_wait_s, max=retries.longest_wait_s
        )
        self._begun = time.monotonic()
        self._taken = Usage()
        self._bad_replies = 0

    def find(self) -> Reply[Value]:
        tenacity = sdk("tenacity")
        tries = tenacity.Retrying(
            retry=tenacity.retry_if_exception(self._may_help),
            wait=self._wait,
            stop=tenacity.stop_any(tenacity.stop_after_attempt(self._retries.tries), self._would_be_late),
            before_sleep=self._say,
            reraise=True,
        )
        try:
            reply: Reply[Value] = tries(self._try)
        except ModelError as error:
            error.usage = self._total()
            raise
        return replace(reply, usage=self._total())

    def _try(self) -> Reply[Value]:
        settings, queued = self._request.settings, time.monotonic()
        if self._left_s() <= 0:
            raise DeadlineError(self._model.name, settings.deadline_s)
        with self._pace.slot():
            self._budget.reserve(self._most)
            self._pace.wait(self._model.name)
            self._begun += time.monotonic() - queued
            return self._send(replace(settings, deadline_s=self._left_s()))

    def _send(self, settings: Settings) -> Reply[Value]:
        """Send the request once, with what it may take set aside."""
        taken, known = Usage(calls=1), False
        try:
            reply = self._model.ask(replace(self._request, settings=settings))
            taken, known = reply.usage, reply.usage.tokens > 0
        except DeadlineError:
            # The time of this try was what was left; who asks knows the time of all.
            raise DeadlineError(self._model.name, self._request.settings.deadline_s) from None
        except ModelError as error:
            taken = error.usage or Usage(calls=0 if isinstance(error, SetupError) else 1)
            known = taken.tokens > 0 or _is_free(error)
            raise
        finally:
            taken = replace(taken, cost_usd=self._prices.cost(taken))
            self._taken += taken
            self._budget.settle(self._most, taken if known else self._most)
        return reply

    def _total(self) -> Usage:
        return replace(self._taken, seconds=time.monotonic() - self._begun)

    def _would_be_late(self, state: RetryCallState) -> bool:
        """Whether waiting would be in vain: what went wrong is then said at once."""
        return state.upcoming_sleep >= self._left_s()

    def _left_s(self) -> float:
        return self._request.settings.deadline_s - (time.monotonic() - self._begun)

    def _may_help(self, error: BaseException) -> bool:
        if isinstance(error, BadReplyError):
            self._bad_replies += 1
            return self._bad_replies < self._retries.replies
        return isinstance(error, TransportError)

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_s = error.wait_s if isinstance(error, TransportError) else 0.0
        return max(float(self._backoff(state)), asked_s)

    def _say(self, state: RetryCallState) -> None:
        error: Any = state.outcome.exception() if state.outcome else None
        _LOG.info("asking %s again (try %d): %s", self._model.name, state.attempt_number + 1, error)


def _is_free(error: ModelError) -> bool:
    """Whether a server said that it did not answer; one that was lost on the way may bill all the same."""
    if isinstance(error, ServerError):
        return error.status >= _FAILED
    return isinstance(error, SetupError | RateLimitedError)


def _most(request: Request[Any], prices: Prices) -> Usage:
    """The most that one try can take: a token is at least a byte of what is sent."""
    schema = json.dumps(reply_schema(request.reply))
    sent = "".join((request.system, request.question, data_part(request.inputs), schema))
    most = Usage(
        calls=1,
        input_tokens=len(sent.encode("utf-8", "surrogatepass")) + _OVERHEAD_TOKENS,
        reply_tokens=request.settings.reply_tokens,
    )
    return replace(most, cost_usd=prices.cost(most))
