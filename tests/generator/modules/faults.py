"""What a server does wrong for ever, and what a module makes of it: for all modules and both APIs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from generator.errors import (
    ConnectionFailedError,
    DeadlineError,
    EmptyReplyError,
    MalformedReplyError,
    ModelError,
    OversizedAnswerError,
    PromptBlockedError,
    ProseError,
    RateLimitedError,
    RequestRefusedError,
    SafetyBlockError,
    ServerError,
    TokenLimitError,
    UnfinishedReplyError,
)
from tests.generator.models.server import Answer, gemini_answer, openai_answer
from tests.generator.modules.answers import Told

TRIES, REPLIES = 4, 2
"""Most requests, and most replies that are looked at, for one answer: as the profile of the tests says."""


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong.

    Attributes:
        make: Makes what is answered for ever, given the API.
        kind: Class of the error that it ends in.
        says: What the error says, among other things.
        asked: How often the question is sent.
    """

    make: Callable[[str], Told]
    kind: type[ModelError]
    says: str
    asked: int


def _plain(answer: Told) -> Callable[[str], Told]:
    return lambda _: answer


def _cut(kind: str) -> Answer:
    text = '{"success":[1], "failure":'
    if kind == "gemini":
        return gemini_answer(text, finish="MAX_TOKENS", thoughts=1986)
    return openai_answer(text, finish="length", thoughts=1986)


def _thought_only(kind: str) -> Answer:
    if kind == "gemini":
        return gemini_answer({"text": "Let me see.", "thought": True}, finish="MAX_TOKENS", thoughts=1986)
    return openai_answer(None, finish="length", thoughts=1986, reasoning_content="Let me see.")


def _safety(kind: str) -> Answer:
    rating = {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True}
    if kind == "gemini":
        return gemini_answer(finish="SAFETY", safetyRatings=[rating])
    return openai_answer(None, refusal="I cannot: SAFETY.")


def _blocked_prompt(kind: str) -> Answer:
    if kind == "gemini":
        return Answer({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})
    return Answer({"error": {"message": "PROHIBITED_CONTENT", "code": "content_filter"}}, 400)


def _stopped(kind: str) -> Answer:
    if kind == "gemini":
        return gemini_answer(finish="MALFORMED_FUNCTION_CALL")
    return openai_answer("", finish="tool_calls")


def _bytes(kind: str, old: bytes, new: bytes) -> Answer:
    said: Any = gemini_answer("fits") if kind == "gemini" else openai_answer("fits")
    return Answer(json.dumps(said.body).encode().replace(old, new))


FAULTS: Final = {
    "safety": Fault(_safety, SafetyBlockError, "the reply was blocked", 1),
    "prompt blocked": Fault(_blocked_prompt, PromptBlockedError, "PROHIBITED_CONTENT", 1),
    "thinking only": Fault(_thought_only, TokenLimitError, "1986 went into thinking", 1),
    "cut off": Fault(_cut, TokenLimitError, "cut off at the limit", 1),
    "stopped": Fault(_stopped, UnfinishedReplyError, "stopped early", REPLIES),
    "empty": Fault(_plain(""), EmptyReplyError, "empty", REPLIES),
    "prose": Fault(
        _plain(lambda reply: f"Okay: {reply}"),
        ProseError,
        "'Okay: ' before it",
        REPLIES,
    ),
    "wrong schema": Fault(_plain('{"success": []}'), MalformedReplyError, "success", REPLIES),
    "nested": Fault(_plain("[" * 100_000), MalformedReplyError, "nested", REPLIES),
    "huge": Fault(
        _plain(lambda reply: reply[:-1] + " " * (2 << 20) + "}"), MalformedReplyError, "larger", REPLIES
    ),
    "endless": Fault(_plain(Answer(b"a" * (17 << 20))), OversizedAnswerError, "larger than 16 MiB", REPLIES),
    "429": Fault(_plain(Answer({"error": {"message": "quota"}}, 429)), RateLimitedError, "429", TRIES),
    "429 soon": Fault(
        _plain(Answer("", 429, {"retry-after": "0.05"})), RateLimitedError, "asks to wait 0.05 s", TRIES
    ),
    "429 much later": Fault(
        _plain(Answer("", 429, {"retry-after": "3600"})), RateLimitedError, "asks to wait 3600 s", 1
    ),
    "503": Fault(_plain(Answer({"error": {"message": "overloaded"}}, 503)), ServerError, "503", TRIES),
    "401": Fault(_plain(Answer({"error": {"message": "who?"}}, 401)), RequestRefusedError, "401", 1),
    "HTML": Fault(_plain(Answer("<html>hello</html>")), ServerError, "none of this API", TRIES),
    "invalid UTF-8": Fault(lambda kind: _bytes(kind, b"fits", b"\xff\xfe"), ServerError, "unicode", TRIES),
    "hangs up": Fault(_plain(Answer(hang_up=True)), ConnectionFailedError, "no connection", TRIES),
    "reset": Fault(_plain(Answer("a" * 1000, reset=True)), ConnectionFailedError, "no connection", TRIES),
}
"""By what goes wrong."""

LATE: Final = {
    "silent": Fault(_plain(Answer(wait_s=60.0)), DeadlineError, "no answer within 2 s", 1),
    "slow body": Fault(_plain(Answer("a" * 10_000, drip_s=0.05)), DeadlineError, "no answer within 2 s", 1),
}
"""What takes too long, with a deadline of 2 s."""
