"""From what a server sent to a reply: the same for every API."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from generator.errors import ModelError
from generator.models.base import Reply, Request, Usage, Value
from generator.models.reading import read_reply


def answer(
    name: str,
    request: Request[Value],
    send: Callable[[], Any],
    usage_of: Callable[[Any], Usage],
    text_of: Callable[[Any, Usage], str],
) -> Reply[Value]:
    """Send a request once and read what comes.

    Args:
        name: Name of the model, for messages.
        request: The request.
        send: Sends it and returns the SDK's response.
        usage_of: Reads from a response what it took.
        text_of: Reads the text of the answer from a response, without the key; given what it took.

    Returns:
        The reply with what it took.

    Raises:
        ModelError: No usable answer; it carries what was spent all the same.
    """
    begun, usage = time.monotonic(), Usage(calls=1)
    try:
        response = send()
        usage = usage_of(response)
        text = text_of(response, usage)
        value = read_reply(text, request.reply, name)
    except ModelError as error:
        error.usage = usage + Usage(seconds=time.monotonic() - begun)
        raise
    return Reply(value, text, usage + Usage(seconds=time.monotonic() - begun))
