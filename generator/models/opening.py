"""From a profile to the models of a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from generator.models.base import LanguageModel
from generator.models.budget import Budget
from generator.models.calling import Calling
from generator.models.cassette import Cassette, NoModel
from generator.models.config import Profile, Role, RoleConfig
from generator.models.gemini import DEFAULT_KEY_VARIABLE, DEFAULT_URL, GeminiModel
from generator.models.keys import Key
from generator.models.openai_compatible import OpenAICompatibleModel


def open_models(
    profile: Profile,
    cassette: Path | None = None,
    *,
    replay_only: bool = False,
    budget: Budget | None = None,
    environment: Mapping[str, str] = os.environ,
) -> dict[Role, LanguageModel]:
    """Make the model of each role, with retries, and one budget and pace for all.

    Args:
        profile: The profile.
        cassette: Folder of recorded calls; what is in it is not asked, and not paid, again.
        replay_only: Whether to answer from the folder alone: no SDK, no key and no network is needed.
        budget: Budget to count in, to see afterwards what was spent; ``None`` for a new one of the profile.
        environment: Where keys are looked up.

    Raises:
        MissingKeyError: If a key is not there; it names the variable.
        MissingPackageError: If an SDK is not installed.
    """
    shared, pace = budget or Budget(profile.limits), profile.pace
    models: dict[Role, LanguageModel] = {}
    for role, config in profile.by_role.items():
        model: LanguageModel
        if replay_only:
            model = NoModel(config.model)
        else:
            model = Calling(_adapter(config, environment), shared, config.known_prices, profile.retry, pace)
        models[role] = model if cassette is None else Cassette(cassette, model, _endpoint(config))
    return models


def _endpoint(config: RoleConfig) -> str:
    """Where a model is, and how it is held to a form: models of one name may answer differently."""
    return "" if config.base_url is None else f"{config.api} {config.base_url} {config.structured}"


def _adapter(config: RoleConfig, environment: Mapping[str, str]) -> LanguageModel:
    if config.api == "gemini":
        key = Key.read(config.key_variable or DEFAULT_KEY_VARIABLE, config.model, environment)
        return GeminiModel(config.model, key, config.base_url or DEFAULT_URL)
    secret = Key.read(config.key_variable, config.model, environment) if config.key_variable else None
    assert config.base_url is not None  # checked with the profile
    return OpenAICompatibleModel(config.model, config.base_url, secret, config.structured)
