"""openpi's websocket protocol: the server says what it is, then answers observations with chunks."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import tenacity
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    WebSocketException,
)
from websockets.sync.client import ClientConnection, connect

from mango_trace.errors import UsageError, quote
from recorder.errors import PolicyFailedError, PolicyLostError, PolicyReplyError, PolicyUnavailableError
from recorder.policies.base import EpisodeContext
from recorder.policies.wire import openpi_messages as messages
from recorder.policies.wire.deadlines import Deadlines
from recorder.policies.wire.views import AGENT, SENT, WRIST, camera, resize_with_pad, state

MOST_BYTES: Final = 64 * 2**20
"""Longest message that is taken from a server; a longer one ends the connection with code 1009."""

API_KEY: Final = "OPENPI_API_KEY"
"""Environment variable with the key that the server asks for, if it asks for one."""

_LOG = logging.getLogger(__name__)
_RETRY_S: Final = 1.0
_CLOSE_S: Final = 2.0
_FINAL_STATUS: Final = (401, 403, 404)


class OpenpiModel:
    """A policy behind openpi's websocket protocol.

    The connection is kept from one episode to the next. One that broke is made anew before the next
    episode, never in the middle of one: what the server knew of the episode is gone.

    Args:
        url: Its address, ``ws://`` or ``wss://``.
        deadlines: How long to wait for it.
        expected: Digest of what it must say of itself; ``None`` takes any policy.

    Raises:
        UsageError: The address is none.
    """

    def __init__(self, url: str, deadlines: Deadlines, expected: str | None = None) -> None:
        self.name = shown(url)
        self._url, self._deadlines, self._expected = url, deadlines, expected
        self._connection: ClientConnection | None = None
        self._held = contextlib.ExitStack()
        self._replies = 0
        self._instruction = ""

    def connect(self) -> tuple[str, Mapping[Any, Any]]:
        """Connect anew.

        Returns:
            Digest of what the server says of itself, and what it says.

        Raises:
            PolicyUnavailableError: Nobody answers in time, access is refused, or it is another policy
                than the expected one.
            PolicyReplyError: It speaks another protocol.
        """
        self.close()
        greeting = self._greeted()
        metadata = messages.unpack(self._binary(greeting))
        if not isinstance(metadata, dict):
            raise PolicyReplyError(f"{self.name} says of itself {quote(str(metadata))}, expected a map")
        digest = hashlib.sha256(self._binary(greeting)).hexdigest()[:12]
        if self._expected is not None and digest != self._expected:
            self.close()
            raise PolicyUnavailableError(
                f"{self.name} serves another policy than before: it says {quote(str(metadata))} of itself"
            )
        return digest, metadata

    def reset(self, episode: EpisodeContext) -> None:
        """Take the instruction, and connect if there is no connection; see :meth:`connect`."""
        self._instruction = episode.instruction
        if self._connection is None or self._connection.close_code is not None:
            self.connect()

    def infer(self, observation: Mapping[str, Any]) -> Any:
        """Send an observation and return the ``actions`` of the reply.

        Raises:
            PolicyLostError: The connection broke or no reply came in time.
            PolicyFailedError: The server reported an error.
            PolicyReplyError: The reply is no map with actions.
        """
        request = {
            "observation/image": resize_with_pad(camera(observation, AGENT), SENT, SENT),
            "observation/wrist_image": resize_with_pad(camera(observation, WRIST), SENT, SENT),
            "observation/state": state(observation),
            "prompt": self._instruction,
        }
        reply = messages.unpack(self._binary(self._asked(messages.pack(request))))
        if not isinstance(reply, dict) or "actions" not in reply:
            what = f"the keys {list(reply)}" if isinstance(reply, dict) else quote(str(reply))
            raise PolicyReplyError(f"{self.name} replies with {what}, expected 'actions' among them")
        return reply["actions"]

    def close(self) -> None:
        """End the connection, if there is one."""
        self._connection = None
        with contextlib.suppress(OSError, WebSocketException):
            self._held.close()

    def _greeted(self) -> str | bytes:
        """Connect, again and again until the deadline, and return the server's first message."""
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_may_pass),
            stop=tenacity.stop_after_delay(self._deadlines.connect_s),
            wait=tenacity.wait_fixed(_RETRY_S),
            before_sleep=self._say_once,
            reraise=True,
        )
        try:
            return attempts(self._attempt, time.monotonic() + self._deadlines.connect_s)
        except (OSError, EOFError, WebSocketException) as error:
            raise PolicyUnavailableError(
                f"no policy server at {self.name} within {self._deadlines.connect_s:g} s: "
                f"{type(error).__name__}: {error}"
            ) from error

    def _attempt(self, deadline: float) -> str | bytes:
        key = os.environ.get(API_KEY)
        left_s = max(_RETRY_S, deadline - time.monotonic())
        try:
            self._connection = self._held.enter_context(
                connect(
                    self._url,
                    additional_headers={"Authorization": f"Api-Key {key}"} if key else None,
                    compression=None,
                    max_size=MOST_BYTES,
                    open_timeout=left_s,
                    close_timeout=_CLOSE_S,
                    # A server is deaf while it infers: pings would end the connection with code 1011.
                    ping_interval=None,
                )
            )
            return self._connection.recv(timeout=left_s)
        except BaseException:
            self.close()
            raise

    def _say_once(self, attempt: tenacity.RetryCallState) -> None:
        if attempt.attempt_number == 1:
            _LOG.warning("waiting for a policy server at %s", self.name)

    def _asked(self, request: bytes) -> str | bytes:
        assert self._connection is not None
        wait_s = self._deadlines.reply_s if self._replies else self._deadlines.first_reply_s
        # A server that reads nothing would hold the sender up without end.
        watchdog = threading.Timer(wait_s, _cut, (self._connection.socket,))
        started = time.monotonic()
        watchdog.start()
        try:
            self._connection.send(request)
            watchdog.cancel()
            reply = self._connection.recv(timeout=max(0.0, wait_s - (time.monotonic() - started)))
        except TimeoutError as error:
            self.close()
            raise PolicyLostError(f"{self.name} did not reply within {wait_s:g} s") from error
        except (OSError, EOFError, ConnectionClosed) as error:
            self.close()
            late = " and read nothing in time" if time.monotonic() - started >= wait_s else ""
            raise PolicyLostError(f"the connection to {self.name} broke{late}: {error}") from error
        finally:
            watchdog.cancel()
        self._replies += 1
        return reply

    def _binary(self, message: str | bytes) -> bytes:
        """Messages are binary; a text is the server's own error."""
        if isinstance(message, str):
            self.close()
            last = message.strip().rpartition("\n")[2]
            raise PolicyFailedError(f"{self.name} reports an error: {quote(last)}")
        return message


def shown(url: str) -> str:
    """The address without what may be secret in it; openpi's key is in the environment.

    Raises:
        UsageError: It is no address, or it has a password in it.

    >>> shown("ws://localhost:8000/?token=1")
    'ws://localhost:8000/'
    """
    try:
        parts = urlsplit(url)
        valid = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise UsageError(f"{quote(url)} is no address of a policy server; one is ws://host:port")
    if parts.username or parts.password:
        raise UsageError(f"a password in an address would be recorded; {API_KEY} in the environment is not")
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))


def _cut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it may be closed by now
        connected.shutdown(socket.SHUT_RDWR)


def _may_pass(error: BaseException) -> bool:
    """Whether trying again may help: not with an unknown host, a refused key or a bad certificate."""
    if isinstance(error, socket.gaierror | ssl.SSLCertVerificationError):
        return False
    if isinstance(error, InvalidStatus):
        return error.response.status_code not in _FINAL_STATUS
    return isinstance(error, OSError | EOFError | InvalidHandshake | ConnectionClosed)
