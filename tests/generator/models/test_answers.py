"""Answers that are none, for both adapters: each ends in an error of ours, and none in one of the SDK's."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, TypeAlias

import pytest

from generator.errors import (
    ConnectionFailedError,
    EmptyReplyError,
    MalformedReplyError,
    ModelError,
    OversizedAnswerError,
    RateLimitedError,
    RequestRefusedError,
    ServerError,
)
from generator.models.transport import MOST_BYTES
from tests.generator.models.conftest import Api
from tests.generator.models.replies import ask
from tests.generator.models.server import Answer

Make: TypeAlias = Callable[[Api], Answer]

GOOD = '{"accepted": true, "reason": "fits"}'
DEEP = "[" * 100_000


def envelope(api: Api, text: str = GOOD) -> bytes:
    """The whole answer with a reply, as it is sent."""
    return json.dumps(api.said(text).body).encode()


def changed(**fields: Any) -> Make:
    """A good answer but for some fields: ``candidates`` is Gemini's, ``choices`` is OpenAI's, and so on."""
    return lambda api: Answer({**api.said(GOOD).body, **fields})


def said(reason: str) -> Make:
    """A reply with this instead of a reason."""
    return lambda api: api.said(GOOD.replace("fits", reason))


CASES: dict[str, tuple[Make, type[ModelError], str]] = {
    "invalid UTF-8 in the reply": (
        lambda api: Answer(envelope(api).replace(b"fits", b"\xff\xfe")),
        ServerError,
        "invalid unicode",
    ),
    "UTF-16": (lambda api: Answer(envelope(api).decode().encode("utf-16")), ServerError, "none of this API"),
    "HTML": (lambda _: Answer("<html>hello</html>"), ServerError, "none of this API"),
    "HTML of a proxy": (lambda _: Answer("<html>bad gateway</html>", 502), ServerError, "502"),
    "Latin-1 of a proxy": (lambda _: Answer("überlastet".encode("latin-1"), 503), ServerError, "503"),
    "nothing": (lambda _: Answer(""), ServerError, "none of this API"),
    "no content": (lambda _: Answer("", 204), ServerError, "204"),
    "null": (lambda _: Answer("null"), ServerError, "should be an object"),
    "a number": (lambda _: Answer("17"), ServerError, "should be an object"),
    "a text": (lambda _: Answer('"text"'), ServerError, "should be an object"),
    "a list": (lambda _: Answer("[]"), ServerError, "should be an object"),
    "cut off": (lambda api: Answer(envelope(api)[:-9]), ServerError, "EOF while parsing"),
    "deep": (lambda _: Answer(DEEP), ServerError, "recursion limit"),
    "deep error": (lambda _: Answer(DEEP, 500), ServerError, "500"),
    "deep reply": (lambda api: api.said(DEEP), MalformedReplyError, "nested"),
    "replies are a number": (changed(candidates=7, choices=7), ServerError, "should be a valid array"),
    "a reply is a number": (changed(candidates=[7], choices=[7]), ServerError, "Input should be an object"),
    "a text is a number": (
        changed(
            candidates=[{"finishReason": "STOP", "content": {"parts": [{"text": 7}]}}],
            choices=[{"finish_reason": "stop", "message": {"content": 7}}],
        ),
        ServerError,
        "should be a valid string",
    ),
    "a text is null": (
        changed(
            candidates=[{"finishReason": "STOP", "content": {"parts": [{"text": None}]}}],
            choices=[{"finish_reason": "stop", "message": {"content": None}}],
        ),
        EmptyReplyError,
        "empty",
    ),
    "usage is a text": (changed(usageMetadata="many", usage="many"), ServerError, "usage"),
    "usage is negative": (
        changed(usageMetadata={"promptTokenCount": -5}, usage={"prompt_tokens": -5}),
        ServerError,
        "greater than or equal to 0",
    ),
    "half a surrogate pair": (said("\\ud800"), MalformedReplyError, "JSON"),
    "another reply": (lambda api: api.said('{"oracle": 1}'), MalformedReplyError, "accepted"),
    "huge reply": (said("a" * (2 << 20)), MalformedReplyError, "larger than 1048576"),
    "huge answer": (said("a" * MOST_BYTES), OversizedAnswerError, "larger than 16 MiB"),
    "huge error": (lambda _: Answer("a" * (MOST_BYTES + 1), 500), OversizedAnswerError, "larger than 16 MiB"),
    "huge header": (
        lambda api: Answer(envelope(api), headers={"x": "a" * 200_000}),
        ConnectionFailedError,
        "Protocol",
    ),
    "reset": (lambda api: Answer(envelope(api), reset=True), ConnectionFailedError, "ReadError"),
    "reset error": (lambda _: Answer("x" * 100, 500, reset=True), ConnectionFailedError, "ReadError"),
    "not modified": (lambda _: Answer("", 304), RequestRefusedError, "304"),
    "an error that is a list": (
        lambda _: Answer([{"error": {"message": "no", "code": 429}}], 429),
        RateLimitedError,
        "429",
    ),
    "an error of another form": (lambda _: Answer({"error": {"message": {"a": 1}}}, 500), ServerError, "500"),
}


@pytest.mark.parametrize("case", CASES)
def test_an_answer_that_is_none(api: Api, case: str) -> None:
    make, kind, text = CASES[case]
    api.answers(make(api))
    with pytest.raises(ModelError, match=text) as error:
        api.model.ask(ask())
    assert type(error.value) is kind
    assert len(str(error.value)) < 1000
    assert len(api.server.asked) == 1


def test_fields_that_nobody_reads_do_not_matter(api: Api) -> None:
    more = {"system_fingerprint": None, "service_tier": "new", "x": [1]}
    api.answers(changed(**more)(api))
    assert api.model.ask(ask()).text == GOOD


def test_wait_until_a_date(api: Api) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    api.answers(Answer("", 429, {"retry-after": later}), Answer("", 503, {"retry-after": "soon"}))
    waits = []
    for _ in range(2):
        with pytest.raises((RateLimitedError, ServerError)) as error:
            api.model.ask(ask())
        waits.append(error.value.wait_s)
    assert 80 < waits[0] <= 90
    assert waits[1] == 0.0


def test_a_huge_answer_is_not_read_to_its_end(api: Api) -> None:
    """A server that never ends is left after what would be too much, long before the deadline."""
    api.answers(Answer(b"a" * (16 * MOST_BYTES)))
    begun = time.monotonic()
    with pytest.raises(OversizedAnswerError):
        api.model.ask(ask(deadline_s=60.0))
    assert time.monotonic() - begun < 20
    assert api.server.answered == []
