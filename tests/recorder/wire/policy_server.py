"""A policy server for tests, in openpi's wire form; its policy is no model but says what it is told to.

It encodes by itself, independently of the client that it tests: msgpack maps with bytes keys, as
``openpi_client.msgpack_numpy`` has them. Like openpi's server it is one event loop that stands still, and
answers no ping, while the policy infers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgpack
import numpy as np
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

Answer = Callable[[int, dict[str, Any]], Any]
"""Number of the request and the observation -> reply: a map, or bytes or text that are sent as they are."""


def encode(value: Any) -> bytes:
    def default(item: Any) -> Any:
        if isinstance(item, np.ndarray):
            return {
                b"__ndarray__": True,
                b"data": item.tobytes(),
                b"dtype": item.dtype.str,
                b"shape": item.shape,
            }
        raise TypeError(type(item))

    return msgpack.packb(value, default=default)


def decode(data: bytes) -> Any:
    def hook(item: dict[Any, Any]) -> Any:
        if b"__ndarray__" in item:
            return np.ndarray(item[b"shape"], item[b"dtype"], item[b"data"])
        return item

    return msgpack.unpackb(data, object_hook=hook)


class Crash(Exception):
    """Raised by an answer: the connection is cut without a word, as when the server is killed."""


@dataclass
class PolicyServer:
    """What a test sees of its server.

    Attributes:
        url: Its address.
        requests: Every observation that came, in order.
        connections: How many connections were made.
        headers: Headers of the last one.
    """

    answer: Answer
    metadata: Any
    requests: list[dict[str, Any]] = field(default_factory=list)
    connections: int = 0
    headers: Any = None
    url: str = ""

    async def handle(self, connection: ServerConnection) -> None:
        self.connections += 1
        self.headers = connection.request.headers
        try:
            await connection.send(self._message(self.metadata))
            async for message in connection:
                self.requests.append(decode(message))
                await connection.send(self._message(self.answer(len(self.requests), self.requests[-1])))
        except Crash:
            connection.transport.abort()
        except ConnectionClosed:
            pass

    @staticmethod
    def _message(value: Any) -> bytes | str:
        return value if isinstance(value, bytes | str) else encode(value)


def still(n: int = 10) -> dict[str, Any]:
    """A chunk that stands still with the gripper closed: not the dummy action of the warm-up."""
    actions = np.zeros((n, 7))
    actions[:, 6] = 1.0
    return {"actions": actions, "server_timing": {"infer_ms": 1.0}}


@contextlib.contextmanager
def policy_server(
    answer: Answer = lambda *_: still(), metadata: Any = None, port: int = 0, **options: Any
) -> Iterator[PolicyServer]:
    """Serve in a thread until the context ends."""
    state = PolicyServer(answer, {"policy": "test fixture"} if metadata is None else metadata)
    settings = {"max_size": 64 * 2**20, "compression": None, "close_timeout": 1, **options}
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        async with serve(state.handle, "127.0.0.1", port, **settings) as server:
            state.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    try:
        assert ready.wait(10)
        yield state
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def main(port: int, first_reply_s: float, slow_reply_s: float, dies_at: int) -> None:
    """Serve as a process of its own; says ``ready`` when it serves.

    Args:
        port: Where.
        first_reply_s: How long the first reply takes.
        slow_reply_s: How long every tenth takes.
        dies_at: Request at which the process is killed, as by the kernel when memory is out; 0 for none.
    """

    def answer(n: int, _: dict[str, Any]) -> Any:
        if n == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(first_reply_s if n == 1 else slow_reply_s if n % 10 == 0 else 0)
        return still()

    with policy_server(answer, port=port) as server:
        print("ready", server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
