"""Gemini, by Google's own SDK."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final

from pydantic import ValidationError

from generator.errors import (
    EmptyReplyError,
    MalformedReplyError,
    ModelError,
    PromptBlockedError,
    SafetyBlockError,
    ServerError,
    TokenLimitError,
    UnfinishedReplyError,
)
from generator.models.answering import answer
from generator.models.base import Reply, Request, Settings, Usage, Value
from generator.models.envelopes import GeminiEnvelope
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
    trusted,
)
from mango_trace.errors import Problem

DEFAULT_URL: Final = "https://generativelanguage.googleapis.com"
"""Google's endpoint. Given in full, so that no environment variable leads elsewhere."""

DEFAULT_KEY_VARIABLE: Final = "GEMINI_API_KEY"
"""Where the key is, as the SDK's documentation has it."""

_API_VERSION: Final = "v1beta"  # has the preview models; the SDK's own default changes with its version

_BLOCKED: Final = {
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT", "ESCALATION", "PUP_LIMITED_DISABLED", "MODEL_ARMOR",
}  # fmt: skip


class GeminiModel:
    """A Gemini model. One question is one request; trying again is :mod:`generator.models.calling`'s.

    Args:
        name: Name of the model with its version.
        key: The key.
        base_url: The endpoint.

    Raises:
        MissingPackageError: If the SDK is not installed.
    """

    def __init__(self, name: str, key: Key, base_url: str = DEFAULT_URL) -> None:
        sdk("google.genai")
        self._name = name
        self._key = key
        self._base_url = base_url

    @property
    def name(self) -> str:
        """Name with version."""
        return self._name

    def ask(self, request: Request[Value]) -> Reply[Value]:
        """Answer one request; see :class:`generator.models.base.LanguageModel`."""
        schema = _sdk_schema(request.reply)
        data = data_part(request.inputs)
        return answer(
            self._name,
            request,
            lambda: self._send(request, schema, data),
            _usage,
            lambda response, usage: self._key.redact(self._text(response, request.settings, usage)),
        )

    def _send(self, request: Request[Value], schema: Any, data: str) -> Any:
        genai = sdk("google.genai")
        types = genai.types
        settings = request.settings
        thinking: dict[str, Any] = {"include_thoughts": False}
        if settings.thinking_tokens is not None:
            thinking["thinking_budget"] = settings.thinking_tokens
        config = types.GenerateContentConfig(
            system_instruction=request.system,
            temperature=settings.temperature,
            max_output_tokens=settings.reply_tokens,
            response_mime_type="application/json",
            response_schema=schema,
            thinking_config=types.ThinkingConfig(**thinking),
        )
        content = types.Content(role="user", parts=[types.Part(text=request.question), types.Part(text=data)])

        async def generate() -> Any:
            async with http_client(GeminiEnvelope) as http:
                client = genai.Client(
                    vertexai=False,
                    api_key=self._key.reveal(),
                    http_options=types.HttpOptions(
                        base_url=self._base_url,
                        api_version=_API_VERSION,
                        httpx_async_client=http,
                        # What the SDK also prepares and nothing here uses.
                        client_args={"verify": trusted()},
                        async_client_args={"ssl": trusted()},
                    ),
                )
                try:
                    return await client.aio.models.generate_content(
                        model=self._name, contents=[content], config=config
                    )
                finally:
                    client.close()

        failure: ModelError | None
        # Raised only below: the SDK's exception holds the request with its key and must not be in the chain.
        try:
            return run_within(settings.deadline_s, self._name, generate)
        except genai.errors.APIError as error:
            failure = self._refused(error)
        except (json.JSONDecodeError, ValidationError, genai.errors.UnknownApiResponseError):
            failure = ServerError(self._name, 200, "the answer is none of this API")
        except RecursionError:  # of the reply, which the SDK reads too; the answer around it was seen before
            nested = Problem("", "nested too deeply")
            failure = MalformedReplyError(self._name, request.reply.__name__, [nested])
        except Exception as error:
            failure = network_error(error, self._name, self._base_url)
            if failure is None:
                raise
        raise failure

    def _refused(self, error: Any) -> ModelError:
        headers = getattr(error.response, "headers", {})
        wait_s = asked_to_wait(headers, str(error.details))
        said = self._key.redact(str(error.message or error.status))
        return status_error(self._name, error.code, said, wait_s)

    def _text(self, response: Any, settings: Settings, usage: Usage) -> str:
        """Text of the answer, its thoughts left out; the SDK's own is None in three different cases."""
        feedback = response.prompt_feedback
        if feedback is not None and feedback.block_reason is not None:
            message = self._key.redact(feedback.block_reason_message or "")
            raise PromptBlockedError(self._name, feedback.block_reason.value, message)
        if not response.candidates:
            raise EmptyReplyError(self._name)
        candidate = response.candidates[0]
        reason = candidate.finish_reason.value if candidate.finish_reason else "no reason is given"
        if reason in _BLOCKED:
            ratings = candidate.safety_ratings or []
            blocked = [one.category.value for one in ratings if one.blocked and one.category]
            message = self._key.redact(candidate.finish_message or ", ".join(blocked))
            raise SafetyBlockError(self._name, reason, message)
        if reason == "MAX_TOKENS":
            spent = (usage.thinking_tokens, usage.reply_tokens)
            raise TokenLimitError(self._name, settings.reply_tokens, *spent)
        if reason != "STOP":
            raise UnfinishedReplyError(self._name, self._key.redact(reason))
        parts = (candidate.content and candidate.content.parts) or []
        return "".join(part.text for part in parts if part.text and not part.thought)

    def __repr__(self) -> str:
        return f"GeminiModel({self._name!r})"


@cache  # every question of that type needs it
def _sdk_schema(reply: Any) -> Any:
    """A reply type as the SDK has schemas; it changes none."""
    return sdk("google.genai").types.Schema.model_validate(gemini_schema(reply_schema(reply)))


def gemini_schema(schema: Schema) -> Schema:
    """Say a JSON schema in Gemini's dialect: nullable types, no additional properties, enums of texts only.

    >>> gemini_schema({"anyOf": [{"type": "integer"}, {"type": "null"}]})
    {'type': 'integer', 'nullable': True}
    """
    said: Schema = {}
    for keyword, content in schema.items():
        match keyword:
            case "properties":
                said[keyword] = {name: gemini_schema(field) for name, field in content.items()}
            case "items":
                said[keyword] = gemini_schema(content)
            case "anyOf":
                branches = [gemini_schema(branch) for branch in content if branch != {"type": "null"}]
                said |= branches[0] if len(branches) == 1 else {"anyOf": branches}
                if len(branches) < len(content):
                    said["nullable"] = True
            case "enum":
                if schema["type"] == "string":
                    said[keyword] = content
            case "additionalProperties":
                pass
            case _:
                said[keyword] = content
    return said


def _usage(response: Any) -> Usage:
    counted = response.usage_metadata
    return Usage(
        calls=1,
        input_tokens=(counted and counted.prompt_token_count) or 0,
        reply_tokens=(counted and counted.candidates_token_count) or 0,
        thinking_tokens=(counted and counted.thoughts_token_count) or 0,
    )
