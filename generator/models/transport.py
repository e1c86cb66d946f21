"""What both adapters share: a deadline that holds, one HTTP client, and statuses as errors."""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from ssl import SSLContext
from types import ModuleType
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from generator.errors import (
    ConnectionFailedError,
    DeadlineError,
    MissingPackageError,
    ModelError,
    OversizedAnswerError,
    RateLimitedError,
    RequestRefusedError,
    ServerError,
)

Answer = TypeVar("Answer")

MOST_BYTES: Final = 16 << 20
"""Most of an answer that is read; no reply that is taken needs as much."""

_TIMEOUT_STATUS = 408


def sdk(name: str) -> ModuleType:
    """Import an SDK when it is needed, so that everything else works without.

    Raises:
        MissingPackageError: If it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingPackageError(name) from None


def run_within(seconds: float, model: str, start: Callable[[], Awaitable[Answer]]) -> Answer:
    """Run a coroutine to its end, or cancel it when its time is over.

    A client's own timeouts are for one read each: a server that sends a byte now and then passes them all.

    Args:
        seconds: How long it may take.
        model: Name of the model, for the message.
        start: Makes the coroutine.

    Raises:
        DeadlineError: If it took longer.
    """

    async def bounded() -> tuple[Answer] | None:
        timeout = asyncio.timeout(seconds)
        try:
            async with timeout:
                return (await start(),)
        except TimeoutError:
            if not timeout.expired():
                raise
            return None

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        answer = asyncio.run(bounded())
    else:  # a notebook has a loop of its own
        with ThreadPoolExecutor(1) as beside:
            answer = beside.submit(asyncio.run, bounded()).result()
    if answer is None:
        raise DeadlineError(model, seconds)
    return answer[0]


def http_client(envelope: type[BaseModel]) -> Any:
    """Make the HTTP client that an SDK is to use.

    It follows no redirect: one to another host would carry the key there, in a header that HTTP libraries do
    not know to be secret. Time is kept by :func:`run_within`.

    Args:
        envelope: What the JSON of an answer must be; one that is not does not reach the SDK.
    """
    http = sdk("httpx2")
    # At DEBUG these log the headers of answers, and some servers repeat a key there.
    for name in ("httpcore2", "openai"):
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.INFO))

    async def check(response: Any) -> None:
        # As the response itself would keep it, but for the limit: there is no public way to set one.
        response._content = _usable(await _read(response), response, envelope)

    return http.AsyncClient(
        follow_redirects=False, timeout=None, verify=trusted(), event_hooks={"response": [check]}
    )


class _UnusableError(Exception):
    """An answer that an SDK is not to see.

    Args:
        make: Makes the error of ours, of the name of the model.
    """

    def __init__(self, make: Callable[[str], ModelError]) -> None:
        super().__init__()
        self.make = make


async def _read(response: Any) -> bytes:
    """Read an answer to its end, or to where it is too large to be one."""
    content = bytearray()
    async for part in response.aiter_bytes():
        content += part
        if len(content) > MOST_BYTES:
            raise _UnusableError(lambda model: OversizedAnswerError(model, MOST_BYTES))
    return bytes(content)


def _usable(content: bytes, response: Any, envelope: type[BaseModel]) -> bytes:
    if not response.is_success:  # its text is quoted, whatever it is
        try:
            from_json(content)
        except ValueError as error:
            return b"" if "recursion" in str(error) else content.decode(errors="replace").encode()
        return content
    try:
        envelope.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        said = f"the answer is none of this API: {place and f'{place}: '}{first['msg']}"
        raise _UnusableError(partial(ServerError, status=response.status_code, text=said)) from None
    return content


@cache
def trusted() -> SSLContext:
    """Whom connections trust, read once: SDKs read it for every client, longer than a short call takes."""
    return cast("SSLContext", sdk("httpx2").create_ssl_context())


def network_error(error: Exception, model: str, url: str) -> ModelError | None:
    """Make an error of ours of what an HTTP library raised, if it is that."""
    http = sdk("httpx2")
    if isinstance(error, _UnusableError):
        return error.make(model)
    if isinstance(error, http.HTTPError | http.InvalidURL | OSError):
        return ConnectionFailedError(model, url, type(error).__name__)
    return None


def status_error(model: str, status: int, text: str, wait_s: float) -> ModelError:
    """Make an error of an HTTP status.

    Args:
        model: Name of the model.
        status: HTTP status.
        text: What the server says, without the key.
        wait_s: Seconds that it asks to wait.
    """
    if status == 429:
        return RateLimitedError(model, text, wait_s)
    if status == _TIMEOUT_STATUS or status >= 500:
        return ServerError(model, status, text, wait_s)
    return RequestRefusedError(model, status, text)


def asked_to_wait(headers: Mapping[str, str], text: str = "") -> float:
    """Read how many seconds a server asks to wait: ``Retry-After``, or ``retryDelay`` in its text.

    >>> asked_to_wait({"retry-after": "2.5"})
    2.5
    >>> asked_to_wait({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})  # that is over
    0.0
    """
    found = re.search(r"retryDelay['\"]?: ?['\"]([0-9]{1,6}(?:\.[0-9]{1,9})?)s", text)
    given = headers.get("retry-after", found[1] if found else "")
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,9})?", given):
        return float(given)
    try:
        until = parsedate_to_datetime(given)
    except ValueError:
        return 0.0
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())
