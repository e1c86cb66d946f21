"""A policy server for tests, in GR00T's wire form; its policy is no model but says what it is told to.

It encodes by itself, independently of the client that it tests, and checks what GR00T's
``Gr00tSimPolicyWrapper`` checks of an observation.
"""

from __future__ import annotations

import contextlib
import io
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgpack
import numpy as np
import zmq

STATE = {"x": 1, "y": 1, "z": 1, "roll": 1, "pitch": 1, "yaw": 1, "gripper": 2}
LANGUAGE = "annotation.human.action.task_description"


def encode(value: Any) -> bytes:
    def default(item: Any) -> Any:
        file = io.BytesIO()
        np.save(file, item, allow_pickle=False)
        return {"__ndarray_class__": True, "as_npy": file.getvalue()}

    return msgpack.packb(value, default=default)


def decode(data: bytes) -> Any:
    def hook(item: dict[Any, Any]) -> Any:
        return np.load(io.BytesIO(item["as_npy"])) if "__ndarray_class__" in item else item

    return msgpack.unpackb(data, object_hook=hook)


def modalities(**changes: Any) -> dict[str, Any]:
    wanted = {"video": ["image", "wrist_image"], "state": list(STATE), "language": [LANGUAGE], **changes}
    return {
        name: {"__ModalityConfig_class__": True, "as_json": {"modality_keys": keys, "delta_indices": [0]}}
        for name, keys in wanted.items()
    }


def chunk(n: int = 16, **columns: float) -> list[Any]:
    names = ("x", "y", "z", "roll", "pitch", "yaw", "gripper")
    values = {name: np.full((1, n, 1), columns.get(name, 0.0), np.float32) for name in names}
    return [{f"action.{name}": value for name, value in values.items()}, {}]


def check(observation: dict[str, Any]) -> None:
    for name in ("image", "wrist_image"):
        video = observation[f"video.{name}"]
        assert (video.dtype, video.shape) == (np.uint8, (1, 1, 256, 256, 3)), video.shape
    for name, size in STATE.items():
        state = observation[f"state.{name}"]
        assert (state.dtype, state.shape) == (np.float32, (1, 1, size)), (name, state.shape)
    (text,) = observation[LANGUAGE]
    assert isinstance(text, str)


@dataclass
class Gr00tServer:
    """What a test sees of its server.

    Attributes:
        answer: Number of the request for actions and its observation -> reply; a tuple is sent as frames.
        config: What it says of its modalities.
        calls: Endpoints that were asked, in order.
        requests: Observations that came.
    """

    answer: Callable[[int, dict[str, Any]], Any]
    config: Any
    token: str | None = None
    url: str = ""
    calls: list[str] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)

    def reply(self, request: dict[str, Any]) -> Any:
        if self.token is not None and request.get("api_token") != self.token:
            return {"error": "Unauthorized: Invalid API token"}
        endpoint = request["endpoint"]
        self.calls.append(endpoint)
        if endpoint == "ping":
            return {"status": "ok", "message": "Server is running"}
        if endpoint == "get_modality_config":
            return self.config
        if endpoint == "reset":
            assert request["data"] == {"options": None}
            return {}
        assert endpoint == "get_action"
        observation = request["data"]["observation"]
        check(observation)
        self.requests.append(observation)
        return self.answer(len(self.requests), observation)


@contextlib.contextmanager
def gr00t_server(
    answer: Callable[[int, dict[str, Any]], Any] = lambda *_: chunk(),
    config: Any = None,
    token: str | None = None,
    port: int | None = None,
) -> Iterator[Gr00tServer]:
    """Serve in a thread until the context ends, or an answer raises ``SystemExit``, as a kill would."""
    state = Gr00tServer(answer, modalities() if config is None else config, token)
    socket = zmq.Context.instance().socket(zmq.REP)
    socket.setsockopt(zmq.LINGER, 0)
    bound = socket.bind(f"tcp://127.0.0.1:{port}") if port else socket.bind("tcp://127.0.0.1:*")
    address = bound.addr if hasattr(bound, "addr") else socket.getsockopt_string(zmq.LAST_ENDPOINT)
    state.url = f"gr00t://{address.partition('://')[2]}"
    stop = threading.Event()

    def run() -> None:
        try:
            while not stop.is_set():
                if not socket.poll(50):
                    continue
                reply = state.reply(decode(socket.recv()))
                frames = reply if isinstance(reply, tuple) else (reply,)
                socket.send_multipart(
                    [frame if isinstance(frame, bytes) else encode(frame) for frame in frames]
                )
        except SystemExit:
            pass
        finally:
            socket.close(linger=0)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield state
    finally:
        stop.set()
        thread.join()
