"""Who answers for each role: the rules, or the models of a profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from generator.models.base import LanguageModel
from generator.models.budget import Budget
from generator.models.config import read_profile
from generator.models.opening import open_models
from generator.models.pace import CONCURRENCY
from generator.prompting import ROLES
from generator.rules.model import RulesModel
from generator.targets import Scenes, Target
from generator.team import Member

RULES: Final = "rules"
"""Stands for no model at all, where a profile is asked for."""


@dataclass(frozen=True, slots=True)
class Members:
    """Who answers.

    Attributes:
        by_role: The models with their settings.
        concurrency: Most items that are negotiated about at once.
    """

    by_role: Mapping[str, Member]
    concurrency: int


def members_of(
    config: str,
    targets: Sequence[Target],
    calls: Path,
    *,
    budget: Budget | None = None,
    wrap: Callable[[LanguageModel], LanguageModel] = lambda model: model,
) -> Members:
    """Find who answers.

    Args:
        config: ``rules``, the name of a profile, or a TOML file.
        targets: Tasks whose scenes the rules may look at.
        calls: Folder of recorded calls; the rules need none.
        budget: What may be spent, where others spend of it too; ``None`` for the whole one of the profile.
        wrap: What is put around each model.

    Raises:
        UnknownNameError: There is no such profile.
        SpecificationError: The profile is wrong.
        MissingKeyError: A key is not there.
    """
    if config == RULES:
        rules = wrap(RulesModel(Scenes(targets)))
        return Members({role: Member(rules) for role in ROLES}, CONCURRENCY)
    chosen = read_profile(config)
    models = open_models(chosen, calls, budget=budget)
    members: dict[str, Member] = {
        role: Member(wrap(model), chosen.by_role[role].settings, chosen.by_role[role].prompt_version)
        for role, model in models.items()
    }
    return Members(members, chosen.concurrency)
