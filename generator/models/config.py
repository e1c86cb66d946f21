"""Profiles: one TOML file that says which model answers for each role, and what a run may spend."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from generator.models.base import Settings
from generator.models.budget import Limits, Prices
from generator.models.calling import Retries
from generator.models.openai_compatible import Structured
from generator.models.pace import CONCURRENCY, Pace
from mango_trace.errors import Problem, SpecificationError, UnknownNameError
from mango_trace.oracle.document import WHOLE, FrozenModel, read_text, validate
from mango_trace.oracle.model import Name

Role: TypeAlias = Literal["generator", "assessor", "judge"]
"""Who asks."""

Url: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^https?://[^\s/@?#]+(/[^\s@?#]*)?$", max_length=500)
]
"""An endpoint; keys have no place in it."""

Variable: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]
"""Name of an environment variable."""

Dollars: TypeAlias = Annotated[float, Field(ge=0, le=1_000_000)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]
Tokens: TypeAlias = Annotated[int, Field(ge=1, le=10_000_000)]


class PriceConfig(FrozenModel):
    """Prices of a model, in dollars for a million tokens.

    Attributes:
        input_usd: Of questions.
        output_usd: Of replies and thinking.
    """

    input_usd: Dollars
    output_usd: Dollars


class RoleConfig(FrozenModel):
    """Who answers for a role, and how.

    Attributes:
        api: ``gemini`` or ``openai``, which any compatible server speaks.
        model: Name of the model.
        base_url: The endpoint; ``gemini`` has Google's as default.
        key_variable: Environment variable with the key; an ``openai`` endpoint without it gets none.
        structured: What an ``openai`` endpoint can hold the model to.
        prompt_version: Version of the prompts of this role.
        temperature: Sampling temperature.
        thinking_tokens: Budget for thinking; without it the model decides.
        reply_tokens: Most tokens of a reply, thinking included.
        deadline_s: Seconds until a call is given up, retries included.
        calls_per_minute: Most requests a minute to the model, whatever the roles that it has.
        prices: Prices; needed if the run has a budget in dollars.
    """

    api: Literal["gemini", "openai"]
    model: Name
    base_url: Url | None = None
    key_variable: Variable | None = None
    structured: Structured = "json_schema"
    prompt_version: Name
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    thinking_tokens: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    reply_tokens: Tokens = 8192
    deadline_s: Seconds = 120.0
    calls_per_minute: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    prices: PriceConfig | None = None

    @model_validator(mode="after")
    def _check_api(self) -> RoleConfig:
        if self.api == "openai" and self.base_url is None:
            raise PydanticCustomError(WHOLE, "api 'openai' needs a base_url, e.g. 'http://localhost:8000/v1'")
        if self.api == "openai" and self.thinking_tokens is not None:
            raise PydanticCustomError(WHOLE, "api 'openai' has no thinking_tokens; remove them")
        if self.api == "gemini" and self.structured != "json_schema":
            raise PydanticCustomError(WHOLE, "structured is for api 'openai'; gemini always has a schema")
        if self.thinking_tokens is not None and self.thinking_tokens >= self.reply_tokens:
            raise PydanticCustomError(WHOLE, "thinking_tokens must leave room in reply_tokens for a reply")
        return self

    @property
    def settings(self) -> Settings:
        """How the model is to answer."""
        return Settings(self.temperature, self.thinking_tokens, self.reply_tokens, self.deadline_s)

    @property
    def known_prices(self) -> Prices:
        """Prices, zero where none are given."""
        return Prices(self.prices.input_usd, self.prices.output_usd) if self.prices else Prices()


class Roles(FrozenModel):
    """The three roles.

    Attributes:
        generator: Proposes.
        assessor: Examines; several at once.
        judge: Accepts, or asks for changes.
    """

    generator: RoleConfig
    assessor: RoleConfig
    judge: RoleConfig


class BudgetConfig(FrozenModel):
    """Most that one call of the command may spend; what was answered before is kept, and costs nothing again.

    Attributes:
        calls: Requests, retries included.
        tokens: Tokens, thinking included.
        usd: Dollars.
    """

    calls: Annotated[int, Field(ge=1)] | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None
    usd: Annotated[float, Field(gt=0)] | None = None


class RetryConfig(FrozenModel):
    """When to ask again; see :class:`generator.models.calling.Retries`."""

    tries: Annotated[int, Field(ge=1, le=20)] = 5
    replies: Annotated[int, Field(ge=1, le=20)] = 2
    first_wait_s: Seconds = 1.0
    longest_wait_s: Seconds = 30.0


class Profile(FrozenModel):
    """A profile.

    Attributes:
        roles: Who answers for each role.
        concurrency: Most requests in flight at once, and most items that are negotiated at once.
        budget: Budget of a run.
        retries: When to ask again.
    """

    roles: Roles
    concurrency: Annotated[int, Field(ge=1, le=256)] = CONCURRENCY
    budget: BudgetConfig = BudgetConfig()
    retries: RetryConfig = RetryConfig()

    @model_validator(mode="after")
    def _check_prices(self) -> Profile:
        unpriced = [role for role, config in self.by_role.items() if config.prices is None]
        if self.budget.usd is not None and unpriced:
            raise PydanticCustomError(
                WHOLE, "budget.usd needs the prices of {roles}", {"roles": ", ".join(unpriced)}
            )
        return self

    @cached_property
    def by_role(self) -> Mapping[Role, RoleConfig]:
        """The roles by name."""
        return {"generator": self.roles.generator, "assessor": self.roles.assessor, "judge": self.roles.judge}

    @property
    def limits(self) -> Limits:
        """The budget of a run."""
        return Limits(self.budget.calls, self.budget.tokens, self.budget.usd)

    @property
    def pace(self) -> Pace:
        """How fast a run may ask; the lowest rate counts where roles share a model."""
        rates: dict[str, float] = {}
        for config in self.by_role.values():
            if config.calls_per_minute is not None:
                lowest = rates.get(config.model, config.calls_per_minute)
                rates[config.model] = min(lowest, config.calls_per_minute)
        return Pace(self.concurrency, rates)

    @property
    def retry(self) -> Retries:
        """When to ask again."""
        config = self.retries
        return Retries(config.tries, config.replies, config.first_wait_s, config.longest_wait_s)


DEFAULT: Final = "gemini"
"""The profile that is taken when none is named."""


def shipped_profiles() -> tuple[str, ...]:
    """Names of the profiles that come along."""
    folder = files("generator") / "profiles"
    return tuple(
        sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml"))
    )


def read_profile(name: str = DEFAULT) -> Profile:
    """Read a profile.

    Args:
        name: Name of one that comes along, or path of a TOML file (it ends in ``.toml``).

    Raises:
        UnknownNameError: If none of that name comes along.
        SpecificationError: With everything that is wrong in it, and where.
    """
    if name.endswith(".toml"):
        return parse_profile(read_text(Path(name)), name)
    if name not in shipped_profiles():
        raise UnknownNameError("profile", name, shipped_profiles())
    return parse_profile((files("generator") / "profiles" / f"{name}.toml").read_bytes(), name)


def parse_profile(content: bytes, source: str) -> Profile:
    """Read a profile's text.

    Args:
        content: TOML in UTF-8.
        source: Its name in messages.

    Raises:
        SpecificationError: With everything that is wrong in it, and where.
    """
    try:
        document: dict[str, Any] = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecificationError(source, [Problem("", f"not TOML: {error}")]) from error
    except RecursionError as error:
        raise SpecificationError(source, [Problem("", "nested too deeply")]) from error
    return validate(Profile, document, source)
