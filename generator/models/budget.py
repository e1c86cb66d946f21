"""What a run may spend, held for all of its threads together."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from generator.errors import BudgetSpentError
from generator.models.base import Usage

_MILLION: Final = 1e6


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a model.

    Attributes:
        input_usd: Dollars for a million tokens of questions.
        output_usd: Dollars for a million tokens of replies; thinking costs the same.
    """

    input_usd: float = 0.0
    output_usd: float = 0.0

    def cost(self, usage: Usage) -> float:
        """Dollars for the tokens of a call."""
        written = usage.reply_tokens + usage.thinking_tokens
        return (usage.input_tokens * self.input_usd + written * self.output_usd) / _MILLION


@dataclass(frozen=True, slots=True)
class Limits:
    """Most that a run may spend; ``None`` is no limit.

    Attributes:
        calls: Requests that are sent, retries included.
        tokens: Tokens of questions, replies and thinking.
        usd: Dollars.
    """

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None


class Budget:
    """Counts what a run spends, and says no before a call that could exceed it.

    A call reserves the most that it can take before it is sent, and gives back what it did not take. So the
    limits hold whatever the number of threads, as far as servers keep to the limit of tokens they are given.
    A call that fits once others have given back waits for them: calls at the same time are refused no sooner
    than one after the other.

    Args:
        limits: The limits.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Condition()
        self._spent = Usage()
        self._reserved = Usage()

    @property
    def spent(self) -> Usage:
        """What finished calls took; one that ended without saying so counts with the most it could take."""
        with self._lock:
            return self._spent

    def reserve(self, most: Usage) -> None:
        """Set aside the most that a call can take.

        Raises:
            BudgetSpentError: If it might exceed a limit, whatever calls in flight give back; nothing is set
                aside then.
        """
        with self._lock:
            while self._refusal(self._spent + self._reserved, most) is not None:
                refusal = self._refusal(self._spent, most)
                if refusal is not None:
                    raise refusal
                self._lock.wait()
            self._reserved = self._reserved + most

    def settle(self, most: Usage, taken: Usage) -> None:
        """Replace what a call had set aside by what it took."""
        with self._lock:
            left = self._reserved + _negative(most)
            # Sums of dollars leave a rest; with nothing in flight nobody would give it back.
            self._reserved = left if left.calls > 0 else Usage()
            self._spent = self._spent + taken
            self._lock.notify_all()

    def _refusal(self, used: Usage, most: Usage) -> BudgetSpentError | None:
        """Say which limit a call might exceed."""
        for what, limit, spent, needed in (
            ("calls", self._limits.calls, used.calls, most.calls),
            ("tokens", self._limits.tokens, used.tokens, most.tokens),
            ("usd", self._limits.usd, used.cost_usd, most.cost_usd),
        ):
            if limit is not None and spent + needed > limit:
                return BudgetSpentError(what, limit, spent, needed)
        return None


def _negative(usage: Usage) -> Usage:
    return Usage(
        -usage.calls,
        -usage.input_tokens,
        -usage.reply_tokens,
        -usage.thinking_tokens,
        -usage.seconds,
        -usage.cost_usd,
    )
