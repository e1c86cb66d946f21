"""Any server that speaks OpenAI's chat completions: vLLM, Ollama, OpenAI itself."""

from __future__ import annotations

import json
from typing import Any, Final, Literal, TypeAlias

from generator.errors import (
    EmptyReplyError,
    ModelError,
    PromptBlockedError,
    SafetyBlockError,
    ServerError,
    SetupError,
    TokenLimitError,
    UnfinishedReplyError,
)
from generator.models.answering import answer
from generator.models.base import Reply, Request, Settings, Usage, Value
from generator.models.envelopes import OpenAIEnvelope
from generator.models.keys import Key
from generator.models.prompt import data_part
from generator.models.schema import Schema, reply_schema
from generator.models.transport import (
    asked_to_wait,
    http_client,
    network_error,
    run_within,
    sdk,
    status_error,
)

Structured: TypeAlias = Literal["json_schema", "json_object", "none"]
"""What the server can hold a model to: a schema, JSON of any form, or nothing."""

_NO_KEY: Final = "none"


class OpenAICompatibleModel:
    """A model behind an OpenAI-compatible endpoint. One question is one request.

    Args:
        name: Name of the model as the server has it.
        base_url: The endpoint, e.g. ``http://localhost:8000/v1``.
        key: The key; ``None`` for a server that asks for none.
        structured: What the server can hold the model to. Without ``json_schema`` the schema is a text.

    Raises:
        MissingPackageError: If the SDK is not installed.
    """

    def __init__(
        self, name: str, base_url: str, key: Key | None = None, structured: Structured = "json_schema"
    ) -> None:
        sdk("openai")
        self._name = name
        self._base_url = base_url
        self._key = key
        self._structured = structured

    @property
    def name(self) -> str:
        """Name as the server has it."""
        return self._name

    def ask(self, request: Request[Value]) -> Reply[Value]:
        """Answer one request; see :class:`generator.models.base.LanguageModel`.

        Raises:
            SetupError: If a thinking budget is asked for: this API has none.
        """
        if request.settings.thinking_tokens is not None:
            raise SetupError(f"{self._name}: an OpenAI-compatible endpoint takes no thinking_tokens")
        question = self._question(request, reply_schema(request.reply))
        return answer(
            self._name,
            request,
            lambda: self._send(question, request.settings),
            _usage,
            lambda completion, usage: self._redact(self._text(completion, request.settings, usage)),
        )

    def _question(self, request: Request[Value], schema: Schema) -> dict[str, Any]:
        """Make what is sent: messages, and the form of the reply as far as the server takes it."""
        parts = [request.question]
        form: dict[str, Any] = {}
        if self._structured == "json_schema":
            named = {"name": request.reply.__name__, "schema": schema}
            form = {"response_format": {"type": "json_schema", "json_schema": named}}
        else:
            parts.append(f"Answer with JSON alone, of this schema: {json.dumps(schema)}")
            if self._structured == "json_object":
                form = {"response_format": {"type": "json_object"}}
        parts.append(data_part(request.inputs))
        return {
            "messages": [
                {"role": "system", "content": request.system},
                # Parts of one message: some chat templates refuse two messages of a user in a row.
                {"role": "user", "content": [{"type": "text", "text": part} for part in parts]},
            ],
            **form,
        }

    def _send(self, question: dict[str, Any], settings: Settings) -> Any:
        openai = sdk("openai")

        async def complete() -> Any:
            async with (
                http_client(OpenAIEnvelope) as http,
                openai.AsyncOpenAI(
                    base_url=self._base_url,
                    api_key=self._key.reveal() if self._key else _NO_KEY,
                    max_retries=0,
                    http_client=http,
                ) as client,
            ):
                return await client.chat.completions.create(
                    model=self._name,
                    temperature=settings.temperature,
                    max_tokens=settings.reply_tokens,
                    **question,
                )

        failure: ModelError | None
        # Raised only below: the SDK's exception holds the request with its key and must not be in the chain.
        try:
            completion = run_within(settings.deadline_s, self._name, complete)
            if hasattr(completion, "choices"):
                return completion
            failure = ServerError(self._name, 200, "the answer is none of this API")
        except openai.APIStatusError as error:
            failure = self._refused(error)
        except openai.APIConnectionError as error:
            reason = error.__cause__ if isinstance(error.__cause__, Exception) else error
            failure = network_error(reason, self._name, self._base_url)
            if failure is None:
                raise
        except json.JSONDecodeError:
            failure = ServerError(self._name, 200, "the answer is none of this API")
        except Exception as error:
            failure = network_error(error, self._name, self._base_url)
            if failure is None:
                raise
        raise failure

    def _refused(self, error: Any) -> ModelError:
        if error.code == "content_filter":
            return PromptBlockedError(self._name, error.code, self._redact(error.message))
        wait_s = asked_to_wait(error.response.headers)
        return status_error(self._name, error.status_code, self._redact(error.message), wait_s)

    def _text(self, completion: Any, settings: Settings, usage: Usage) -> str:
        """Text of the answer; what a server keeps apart as reasoning is not in it."""
        if not completion.choices:
            raise EmptyReplyError(self._name)
        choice = completion.choices[0]
        if choice.message.refusal:
            raise SafetyBlockError(self._name, "refusal", self._redact(choice.message.refusal))
        match choice.finish_reason:
            case "stop":
                return choice.message.content or ""
            case "content_filter":
                raise SafetyBlockError(self._name, "content_filter")
            case "length":
                spent = (usage.thinking_tokens, usage.reply_tokens)
                raise TokenLimitError(self._name, settings.reply_tokens, *spent)
            case reason:
                raise UnfinishedReplyError(self._name, self._redact(str(reason)))

    def _redact(self, text: str) -> str:
        return self._key.redact(text) if self._key else text

    def __repr__(self) -> str:
        return f"OpenAICompatibleModel({self._name!r}, {self._base_url!r})"


def _usage(completion: Any) -> Usage:
    counted = completion.usage
    if counted is None:
        return Usage(calls=1)
    details = counted.completion_tokens_details
    thinking = (details and details.reasoning_tokens) or 0
    return Usage(
        calls=1,
        input_tokens=counted.prompt_tokens or 0,
        reply_tokens=max(0, (counted.completion_tokens or 0) - thinking),  # some servers count apart
        thinking_tokens=thinking,
    )
