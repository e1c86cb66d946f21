"""What a role asks of a language model, and what it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

Value = TypeVar("Value", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model is to answer.

    Attributes:
        temperature: Sampling temperature.
        thinking_tokens: Budget for thinking, where a model has one; ``None`` leaves it to the model.
        reply_tokens: Most tokens of a reply, thinking included.
        deadline_s: Seconds until a call is given up, retries included.
    """

    temperature: float = 0.0
    thinking_tokens: int | None = None
    reply_tokens: int = 8192
    deadline_s: float = 120.0


@dataclass(frozen=True, slots=True)
class Request(Generic[Value]):
    """One question.

    Attributes:
        role: Who asks: ``generator``, ``assessor`` or ``judge``.
        task: What is asked, e.g. ``oracle.write`` or ``oracle.assess.grounding``.
        prompt_version: Version of the prompt's text.
        system: What the model is told about its role; text of ours.
        question: What it is asked to do; text of ours.
        inputs: What it is about: instructions, names, libraries, earlier replies. Untrusted: it reaches a
            model as JSON data, apart from our text, and is never formatted into it.
        reply: Type of the reply.
        settings: How to answer.
        turn: Which time this is asked in a negotiation. It is not sent: what is asked again is answered anew,
            and not from the record of the time before.
    """

    role: str
    task: str
    prompt_version: str
    system: str
    question: str
    inputs: Mapping[str, Any]
    reply: type[Value]
    settings: Settings = field(default_factory=Settings)
    turn: int = 1


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call took.

    Attributes:
        calls: Requests that were sent, retries included.
        input_tokens: Tokens of the questions.
        reply_tokens: Tokens of the replies, without thinking.
        thinking_tokens: Tokens of thinking.
        seconds: Wall time, waiting between retries included.
        cost_usd: Price, where the configuration knows it.
    """

    calls: int = 0
    input_tokens: int = 0
    reply_tokens: int = 0
    thinking_tokens: int = 0
    seconds: float = 0.0
    cost_usd: float = 0.0

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.input_tokens + self.reply_tokens + self.thinking_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.reply_tokens + other.reply_tokens,
            self.thinking_tokens + other.thinking_tokens,
            self.seconds + other.seconds,
            self.cost_usd + other.cost_usd,
        )


@dataclass(frozen=True, slots=True)
class Reply(Generic[Value]):
    """One answer.

    Attributes:
        value: The reply, validated.
        text: Its text as it came, thoughts left out.
        usage: What it took.
        replayed: Whether it comes from a cassette; ``usage`` is then what it took when it was recorded, and
            nothing was spent now.
    """

    value: Value
    text: str
    usage: Usage
    replayed: bool = False


class LanguageModel(Protocol):
    """Answers requests."""

    @property
    def name(self) -> str:
        """Name with version, as transcripts call it."""

    def ask(self, request: Request[Value]) -> Reply[Value]:
        """Answer one request.

        Raises:
            ModelError: It was refused, blocked, cut off, malformed, or no server answered in time; each is a
                class of its own (:mod:`generator.errors`).
        """
