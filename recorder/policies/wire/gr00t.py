"""GR00T's protocol over ZeroMQ: a request names an endpoint, the reply is a map or a list.

It is that of ``gr00t.policy.server_client`` (N1.6 and later) with the server's ``--use-sim-policy-wrapper``:
observations and actions have the flat keys of GR00T's own LIBERO environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
import tenacity
import zmq
from zmq.utils.monitor import recv_monitor_message

from mango_trace.errors import UsageError, quote
from recorder.errors import (
    PolicyError,
    PolicyFailedError,
    PolicyLostError,
    PolicyReplyError,
    PolicyUnavailableError,
)
from recorder.policies.base import EpisodeContext
from recorder.policies.wire import gr00t_messages as messages
from recorder.policies.wire.deadlines import Deadlines
from recorder.policies.wire.views import AGENT, WRIST, camera, state

MOST_BYTES: Final = 64 * 2**20
"""Longest frame that is taken from a server; ZeroMQ has no bound for the frames of one message together."""

API_TOKEN: Final = "GR00T_API_TOKEN"  # noqa: S105
"""Environment variable with the token that the server asks for, if it asks for one."""

_RETRY_S: Final = 1.0
_VIDEO: Final = {"image": AGENT, "wrist_image": WRIST}
_STATE: Final = {
    "x": slice(0, 1),
    "y": slice(1, 2),
    "z": slice(2, 3),
    "roll": slice(3, 4),
    "pitch": slice(4, 5),
    "yaw": slice(5, 6),
    "gripper": slice(6, 8),
}
_ACTION: Final = ("x", "y", "z", "roll", "pitch", "yaw", "gripper")


class Gr00tModel:
    """A policy behind GR00T's protocol.

    Args:
        url: Its address, ``gr00t://host:port``.
        deadlines: How long to wait for it.
        expected: Digest of what it must say of itself; ``None`` takes any policy.

    Raises:
        UsageError: The address is none.
    """

    def __init__(self, url: str, deadlines: Deadlines, expected: str | None = None) -> None:
        self.name = shown(url)
        self._endpoint = f"tcp://{self.name.partition('://')[2]}"
        self._deadlines, self._expected = deadlines, expected
        self._socket: zmq.Socket[bytes] | None = None
        self._monitor: zmq.Socket[bytes] | None = None
        self._language = ""
        self._instruction = ""
        self._replies = 0

    def connect(self) -> tuple[str, Mapping[Any, Any]]:
        """Connect anew.

        Returns:
            Digest of the modalities that the server wants, and nothing more: it does not say which policy
            it serves.

        Raises:
            PolicyUnavailableError: Nobody answers in time, access is refused, or it wants other modalities
                than before.
            PolicyReplyError: It wants what LIBERO does not have, or speaks another protocol.
        """
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(PolicyLostError),
            stop=tenacity.stop_after_delay(self._deadlines.connect_s),
            wait=tenacity.wait_fixed(_RETRY_S),
            reraise=True,
        )
        try:
            modalities = attempts(self._attempt, time.monotonic() + self._deadlines.connect_s)
            keys = _keys(modalities)
            self._language = self._checked(keys)
            digest = hashlib.sha256(json.dumps(keys, sort_keys=True).encode()).hexdigest()[:12]
            if self._expected is not None and digest != self._expected:
                raise PolicyUnavailableError(
                    f"{self.name} serves another policy than before: it wants {quote(str(keys))}"
                )
        except (PolicyLostError, PolicyFailedError) as error:
            self.close()
            raise PolicyUnavailableError(f"no policy server at {self.name}: {error}") from error
        except PolicyError:
            self.close()
            raise
        return digest, {}

    def _attempt(self, deadline: float) -> Any:
        self.close()
        self._open()
        for endpoint in ("ping", "get_modality_config"):
            reply = self._ask(endpoint, None, max(_RETRY_S, deadline - time.monotonic()))
        return reply

    def reset(self, episode: EpisodeContext) -> None:
        """Take the instruction, connect if there is no connection, and have the server reset its policy."""
        self._instruction = episode.instruction
        if self._socket is None or self._disconnected():
            self.connect()
        self._ask("reset", {"options": None}, self._wait_s)

    def infer(self, observation: Mapping[str, Any]) -> Any:
        """Send an observation and return the actions of the reply as LIBERO takes them.

        Raises:
            PolicyLostError: The connection broke or no reply came in time.
            PolicyFailedError: The server reported an error.
            PolicyReplyError: The reply has no such actions.
        """
        numbers = state(observation).astype(np.float32)
        request: dict[str, Any] = {self._language: [self._instruction]}
        request |= {f"video.{key}": camera(observation, name)[None, None] for key, name in _VIDEO.items()}
        request |= {f"state.{key}": numbers[None, None, columns] for key, columns in _STATE.items()}
        reply = self._ask("get_action", {"observation": request, "options": None}, self._wait_s)
        self._replies += 1
        if not isinstance(reply, list) or not reply or not isinstance(reply[0], dict):
            raise PolicyReplyError(
                f"{self.name} replies with {quote(str(reply))}, expected actions and a map"
            )
        return _actions(reply[0], self.name)

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._socket is not None:
            self._socket.disable_monitor()
            self._socket.close(linger=0)
        if self._monitor is not None:
            self._monitor.close(linger=0)
        self._socket = self._monitor = None
        self._replies = 0

    @property
    def _wait_s(self) -> float:
        return self._deadlines.reply_s if self._replies else self._deadlines.first_reply_s

    def _open(self) -> None:
        self._socket = zmq.Context.instance().socket(zmq.REQ)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MOST_BYTES)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        try:
            self._socket.connect(self._endpoint)
        except zmq.ZMQError as error:
            self.close()
            raise UsageError(f"{quote(self.name)} is no address of a policy server: {error}") from error

    def _disconnected(self) -> bool:
        """Whether the server went away since the last look."""
        assert self._monitor is not None
        gone = False
        while self._monitor.poll(0):
            recv_monitor_message(self._monitor)
            gone = True
        return gone

    def _ask(self, endpoint: str, data: Mapping[str, Any] | None, wait_s: float) -> Any:
        assert self._socket is not None
        request: dict[str, Any] = {"endpoint": endpoint}
        if data is not None:
            request["data"] = data
        if token := os.environ.get(API_TOKEN):
            request["api_token"] = token
        deadline = time.monotonic() + wait_s
        try:
            self._await(zmq.POLLOUT, deadline)
            self._socket.send(messages.pack(request), zmq.NOBLOCK)
            self._await(zmq.POLLIN, deadline)
            frame = self._socket.recv(zmq.NOBLOCK)
            if self._socket.rcvmore:
                raise PolicyReplyError(f"{self.name} replies to {endpoint} with several frames, expected one")
            reply = messages.unpack(frame)
        except zmq.ZMQError as error:
            self.close()
            raise PolicyLostError(f"the connection to {self.name} broke: {error}") from error
        except TimeoutError as error:
            self.close()  # a late reply would be taken for the next one
            raise PolicyLostError(f"{self.name} did not reply to {endpoint} within {wait_s:g} s") from error
        except PolicyError:
            self.close()
            raise
        if isinstance(reply, dict) and "error" in reply:
            raise PolicyFailedError(f"{self.name} reports an error: {quote(str(reply['error']))}")
        return reply

    def _await(self, event: int, deadline: float) -> None:
        """Wait until the socket is ready; a server that goes away meanwhile will not answer any more."""
        poller = zmq.Poller()
        poller.register(self._socket, event)
        poller.register(self._monitor, zmq.POLLIN)
        while True:
            left_s = deadline - time.monotonic()
            ready = dict(poller.poll(max(0, round(left_s * 1000))))
            if self._socket in ready:
                return
            if self._monitor in ready and self._disconnected():
                raise PolicyLostError(f"the connection to {self.name} broke")
            if left_s <= 0:
                raise TimeoutError

    def _checked(self, keys: Mapping[str, tuple[list[str], int]]) -> str:
        """See that LIBERO has what the server wants, and return the key of the instruction."""
        for modality, known in (("video", _VIDEO), ("state", _STATE)):
            wanted, horizon = keys.get(modality, ([], 1))
            unknown = [key for key in wanted if key not in known]
            if unknown:
                raise PolicyReplyError(
                    f"{self.name} wants {modality} {quote(', '.join(unknown))}; there are: {', '.join(known)}"
                )
            if horizon != 1:
                raise PolicyReplyError(f"{self.name} wants {horizon} steps of {modality}; one is sent")
        wanted, _ = keys.get("language", ([], 1))
        if len(wanted) != 1:
            raise PolicyReplyError(
                f"{self.name} wants the instruction under {quote(str(wanted))}, not one key"
            )
        return wanted[0]


def shown(url: str) -> str:
    """The address as it is recorded.

    Raises:
        UsageError: It is no address.

    >>> shown("gr00t://localhost:5555/")
    'gr00t://localhost:5555'
    """
    try:
        parts = urlsplit(url)
        valid = bool(parts.hostname) and parts.port is not None and parts.port > 0 and "@" not in parts.netloc
    except ValueError:
        valid = False
    if not valid:
        raise UsageError(f"{quote(url)} is no address of a policy server; one is gr00t://host:port")
    return f"{parts.scheme}://{parts.netloc}"


def _keys(modalities: Any) -> dict[str, tuple[list[str], int]]:
    """Keys and number of steps of each modality that a server says it wants."""
    keys = {}
    if not isinstance(modalities, dict):
        raise PolicyReplyError(f"modalities come as {quote(str(modalities))}, expected a map")
    for name, config in modalities.items():
        try:
            fields = config["as_json"]
            fields = json.loads(fields) if isinstance(fields, str) else fields
            keys[str(name)] = [str(key) for key in fields["modality_keys"]], len(fields["delta_indices"])
        except (TypeError, KeyError, ValueError) as error:
            raise PolicyReplyError(f"modality {quote(str(name))} comes as {quote(str(config))}") from error
    return keys


def _actions(reply: Mapping[Any, Any], name: str) -> Any:
    """Put a batch of one together to ``(n, 7)``; the gripper comes as 0 closed to 1 open."""
    columns = []
    for key in _ACTION:
        column = reply.get(f"action.{key}")
        if not isinstance(column, np.ndarray) or column.ndim != 3 or column.shape[::2] != (1, 1):
            what = column.shape if isinstance(column, np.ndarray) else type(column).__name__
            raise PolicyReplyError(
                f"{name} replies with {what} for action.{key}, expected the shape (1, n, 1)"
            )
        columns.append(column[0, :, 0])
    if len({len(column) for column in columns}) > 1:
        raise PolicyReplyError(f"{name} replies with {[len(column) for column in columns]} steps")
    actions = np.stack(columns, axis=1).astype(np.float64)
    actions[:, 6] = -np.sign(2.0 * actions[:, 6] - 1.0)
    return actions
