"""A server of this process that speaks enough of both APIs and misbehaves as told; no language model."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One HTTP answer.

    Attributes:
        body: A JSON document, or text or bytes that are sent as they are.
        status: HTTP status.
        headers: Further headers.
        wait_s: Seconds before anything is sent.
        drip_s: Seconds between one byte of the body and the next; 0 sends it at once.
        hang_up: Whether to close the connection instead of answering.
        reset: Whether to reset the connection in the middle of the body.
    """

    body: Any = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    drip_s: float = 0.0
    hang_up: bool = False
    reset: bool = False


@dataclass(frozen=True)
class Asked:
    """One request as it arrived, and when by the monotonic clock."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float = 0.0


class ModelServer:
    """Gives the answers of its script in order, the last one for ever, and keeps what it was asked.

    Attributes:
        script: The answers, or a function that makes the answer to a request.
        asked: The requests in the order in which they arrived.
        answered: Of these, those whose answers were sent to the end.
        most_at_once: Most requests that were there at one moment.
        on_answered: Called after each answer, with how many there were.
    """

    def __init__(self) -> None:
        self.script: Sequence[Answer] | Callable[[Asked], Answer] = ()
        self.asked: list[Asked] = []
        self.answered: list[Asked] = []
        self.most_at_once = 0
        self.on_answered: Callable[[int], None] = lambda _: None
        self._here = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                server._answer(self, self.rfile.read(length))

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            request_queue_size = 128  # more at once than the usual 5 would wait a second each

        self._http = Server(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = False
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        headers = {name.lower(): text for name, text in handler.headers.items()}
        asked = Asked(handler.path, headers, json.loads(content), time.monotonic())
        with self._lock:
            number = len(self.asked)
            self.asked.append(asked)
            self._here += 1
            self.most_at_once = max(self.most_at_once, self._here)
        script = self.script
        answer = script(asked) if callable(script) else script[min(number, len(script) - 1)]
        handler.close_connection = True
        self._closing.wait(answer.wait_s)
        with self._lock:
            self._here -= 1
        if not answer.hang_up and self._send(handler, answer):
            with self._lock:
                self.answered.append(asked)
                self.on_answered(len(self.answered))

    def _send(self, handler: BaseHTTPRequestHandler, answer: Answer) -> bool:
        """Send an answer; says whether all of it went out."""
        text = answer.body if isinstance(answer.body, str | bytes) else json.dumps(answer.body)
        body = text.encode() if isinstance(text, str) else text
        try:
            handler.send_response(answer.status)
            for name, value in answer.headers.items():
                handler.send_header(name, value)
            handler.send_header("content-length", str(len(body)))
            handler.send_header("content-type", "application/json")
            handler.end_headers()
            if answer.reset:
                handler.wfile.write(body[: len(body) // 2])
                # Closing throws away what is not sent and says so: no orderly end.
                handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                handler.connection.close()
                return False
            for start in range(0, len(body), 1 if answer.drip_s else max(1, len(body))):
                handler.wfile.write(body[start : start + (1 if answer.drip_s else len(body))])
                if answer.drip_s and self._closing.wait(answer.drip_s):
                    return False
        except (BrokenPipeError, ConnectionResetError):
            return False  # who asked has given up
        return True


def gemini_answer(
    *parts: str | dict[str, Any], finish: str = "STOP", thoughts: int = 0, **candidate: Any
) -> Answer:
    """An answer of Gemini; a part that is a text is part of the reply."""
    content = {
        "role": "model",
        "parts": [{"text": part} if isinstance(part, str) else part for part in parts],
    }
    return Answer(
        {
            "candidates": [{"content": content, "finishReason": finish, "index": 0, **candidate}],
            "usageMetadata": {
                "promptTokenCount": 100,
                "candidatesTokenCount": 10,
                "thoughtsTokenCount": thoughts,
                "totalTokenCount": 110 + thoughts,
            },
        }
    )


def openai_answer(text: str | None, finish: str = "stop", thoughts: int = 0, **message: Any) -> Answer:
    """An answer of an OpenAI-compatible server."""
    return Answer(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "served",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish,
                    "message": {"role": "assistant", "content": text, **message},
                }
            ],
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 10 + thoughts,
                "total_tokens": 110 + thoughts,
                "completion_tokens_details": {"reasoning_tokens": thoughts},
            },
        }
    )
