"""Calls on disk: recorded once, replayed as often as needed, and what lets an interrupted run go on."""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from generator.errors import BadReplyError, CassetteError, NoRecordedCallError
from generator.models.base import LanguageModel, Reply, Request, Usage, Value
from generator.models.prompt import data_part
from generator.models.reading import read_reply
from generator.models.schema import full_schema
from mango_trace.oracle.document import FrozenModel
from mango_trace.store.layout import write_atomically

_USAGE = TypeAdapter(Usage)


class _Call(FrozenModel):
    """One file: what was asked and what came.

    Attributes:
        version: Version of this form.
        request: Everything that the digest is of.
        text: Text of the reply.
        usage: What it took.
    """

    version: Literal[1]
    request: dict[str, Any]
    text: str
    usage: dict[str, int | float]


class Cassette:
    """A folder of calls before a model.

    A call that is in it is answered from it, any other is asked and kept. Only answers that passed validation
    are kept: a failed request is asked again by the next run. What several threads ask at once is asked once.
    Two runs that must not share answers have two folders.

    Args:
        folder: The folder; it is made when the first call is kept.
        model: Who answers what is not there; :class:`NoModel` to replay only.
        endpoint: Where the model is, if models of its name may be elsewhere too.
    """

    def __init__(self, folder: Path, model: LanguageModel, endpoint: str = "") -> None:
        self._folder = folder
        self._model = model
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._model.name

    def ask(self, request: Request[Value]) -> Reply[Value]:
        """Answer one request; see :class:`generator.models.base.LanguageModel`.

        Raises:
            CassetteError: If the recorded call is damaged.
        """
        identity = _identity(request, self.name, self._endpoint)
        name = _digest(identity)
        path = self._folder / f"{name}.json"
        with self._lock:
            asking = self._asking.setdefault(name, threading.Lock())
        with asking:
            if path.exists():
                return self._replay(path, request, identity)
            reply = self._model.ask(request)
            usage = _USAGE.dump_python(reply.usage)
            call = _Call(version=1, request=identity, text=reply.text, usage=usage)
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, call.model_dump_json(indent=1).encode())
        return reply

    def _replay(self, path: Path, request: Request[Value], identity: dict[str, Any]) -> Reply[Value]:
        try:
            call = _Call.model_validate_json(path.read_bytes())
            value = read_reply(call.text, request.reply, self.name)
            usage = _USAGE.validate_python(call.usage)
        except (OSError, ValidationError) as error:
            raise CassetteError(str(path), "is no recorded call; remove it to ask again") from error
        except BadReplyError as error:
            raise CassetteError(
                str(path), f"holds no valid reply; remove it to ask again: {error}"
            ) from error
        if call.request != json.loads(json.dumps(identity)):
            raise CassetteError(str(path), "holds another request than its name says; remove it to ask again")
        return Reply(value, call.text, usage, replayed=True)

    def __repr__(self) -> str:
        return f"Cassette({str(self._folder)!r}, {self._model!r})"


class NoModel:
    """Answers nothing: behind a cassette it makes a request that was not recorded an error.

    Args:
        name: Name of the model whose calls were recorded.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """Name of the model whose calls were recorded."""
        return self._name

    def ask(self, request: Request[Value]) -> Reply[Value]:
        """Refuse.

        Raises:
            NoRecordedCallError: Always; it says which request it is.
        """
        raise NoRecordedCallError(
            self._name, request.role, request.task, request.prompt_version, digest(request, self._name)
        )


def digest(request: Request[Any], model: str, endpoint: str = "") -> str:
    """Digest of all that an answer depends on: the whole request but for its deadline, and the model."""
    return _digest(_identity(request, model, endpoint))


def _digest(identity: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, ensure_ascii=True).encode()).hexdigest()


def _identity(request: Request[Any], model: str, endpoint: str) -> dict[str, Any]:
    settings = request.settings
    return {
        "model": model,
        **({"endpoint": endpoint} if endpoint else {}),
        **({"turn": request.turn} if request.turn > 1 else {}),
        "role": request.role,
        "task": request.task,
        "prompt_version": request.prompt_version,
        "system": request.system,
        "question": request.question,
        "inputs": json.loads(data_part(request.inputs)),
        # As pydantic says it: constraints that no provider is told count as well.
        "reply": full_schema(request.reply),
        "settings": {
            "temperature": settings.temperature,
            "thinking_tokens": settings.thinking_tokens,
            "reply_tokens": settings.reply_tokens,
        },
    }
