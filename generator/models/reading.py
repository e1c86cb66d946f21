"""From the text of a reply to its value, by our own validation: whatever a provider says it has checked."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from generator.errors import EmptyReplyError, MalformedReplyError, ProseError
from generator.models.base import Value
from mango_trace.errors import Problem, SpecificationError
from mango_trace.oracle.document import describe, load, shorten

_QUOTED_KINDS = ("literal_error", "enum", "int_parsing", "float_parsing", "bool_parsing")


def read_reply(text: str, reply: type[Value], model: str) -> Value:
    """Validate a reply.

    Nothing is mended or cut out: a reply that was cut off and closed by a repair would lose what was to come.

    Args:
        text: What the model wrote.
        reply: What it should be.
        model: Name of the model, for messages.

    Returns:
        The value.

    Raises:
        EmptyReplyError: If there is nothing.
        ProseError: If there is one JSON value with words around it.
        MalformedReplyError: If it is not JSON, too large or deep, or not of that type, with all paths.
    """
    if not text.strip():
        raise EmptyReplyError(model)
    try:
        document = load(text, "reply")
    except SpecificationError as error:
        around = _around(text)
        if around is not None:
            raise ProseError(model, *around) from None
        raise MalformedReplyError(model, reply.__name__, error.problems) from None
    try:
        return reply.model_validate_json(text)
    except ValidationError as error:
        details = error.errors(include_url=False)
    found = dict.fromkeys(Problem(_path(document, detail["loc"]), _message(detail)) for detail in details)
    raise MalformedReplyError(model, reply.__name__, shorten(list(found)))


def _around(text: str) -> tuple[str, str] | None:
    """Find words before and after a JSON object; ``None`` if there is no whole object, or no words."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (json.JSONDecodeError, RecursionError):
        return None
    before, after = text[:start], text[end:]
    return (before, after) if before.strip() or after.strip() else None


def _path(document: object, location: tuple[str | int, ...]) -> str:
    """Write where a problem is, as in ``args[1].args[0].op``.

    Pydantic also names the branch of a union; only what is a place in the document is kept.
    """
    path = ""
    node: Any = document
    for position, part in enumerate(location):
        last = position == len(location) - 1
        if isinstance(part, int):
            if not isinstance(node, list) or part >= len(node):
                continue
            path, node = f"{path}[{part}]", node[part]
        elif isinstance(node, dict) and (part in node or last):
            name = part if part.isidentifier() else repr(part[:60])
            path, node = f"{path}.{name}" if path else name, node.get(part)
    return path


def _message(detail: ErrorDetails) -> str:
    """Say what pydantic found, with what was there instead where it does not say so."""
    message = detail["msg"]
    return f"{message}, not {describe(detail['input'])}" if detail["type"] in _QUOTED_KINDS else message
