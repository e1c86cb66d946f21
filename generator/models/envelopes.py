"""What an answer must be before an SDK takes it apart.

SDKs look at little of what a server sends: a number where a text should be ends in an ``AttributeError``
somewhere, or nowhere. Here is the type of everything that is read of an answer; what else is in it does not
matter.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Count: TypeAlias = Annotated[int, Field(ge=0)]
"""A number of tokens; a negative one would give budget back."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


class _Message(_Part):
    content: str | None = None
    refusal: str | None = None


class _Choice(_Part):
    message: _Message
    finish_reason: str | None = None


class _Details(_Part):
    reasoning_tokens: Count | None = None


class _Usage(_Part):
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    completion_tokens_details: _Details | None = None


class OpenAIEnvelope(_Part):
    """A chat completion of an OpenAI-compatible server."""

    choices: list[_Choice]
    usage: _Usage | None = None


class _GeminiPart(BaseModel):
    model_config = ConfigDict(strict=True, alias_generator=to_camel)


class _Text(_GeminiPart):
    text: str | None = None
    thought: bool | None = None


class _Content(_GeminiPart):
    parts: list[_Text] | None = None


class _Rating(_GeminiPart):
    category: str | None = None
    blocked: bool | None = None


class _Candidate(_GeminiPart):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    safety_ratings: list[_Rating] | None = None


class _Feedback(_GeminiPart):
    block_reason: str | None = None
    block_reason_message: str | None = None


class _Metadata(_GeminiPart):
    prompt_token_count: Count | None = None
    candidates_token_count: Count | None = None
    thoughts_token_count: Count | None = None


class GeminiEnvelope(_GeminiPart):
    """An answer of Gemini's ``generateContent``."""

    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Metadata | None = None
