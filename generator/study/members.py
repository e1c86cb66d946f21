"""Who answers in a run, and what the answers took."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from generator.errors import ModelError
from generator.models.base import LanguageModel, Reply, Request, Usage, Value
from generator.models.budget import Budget, Limits
from generator.models.config import read_profile
from generator.models.opening import open_models
from generator.prompting import ROLES
from generator.rules.model import RulesModel
from generator.targets import Scenes, Target
from generator.team import Member

RULES: Final = "rules"


@dataclass(frozen=True, slots=True)
class Taken:
    """What some answers took.

    Attributes:
        usage: Calls, tokens, dollars; also of answers that were recorded, by what they took then.
        replayed: How many were recorded.
    """

    usage: Usage
    replayed: int


class Meter:
    """Adds up what answers take, for all threads of a run.

    A team counts what a process spends; a study wants to know what a run takes, interrupted or not.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usage, self._replayed = Usage(), 0

    def add(self, usage: Usage | None, *, replayed: bool = False) -> None:
        """Add an answer; ``None`` if nothing was sent."""
        with self._lock:
            self._usage += usage or Usage()
            self._replayed += replayed

    def take(self) -> Taken:
        """What was added since the last time."""
        with self._lock:
            taken = Taken(self._usage, self._replayed)
            self._usage, self._replayed = Usage(), 0
        return taken


class Metered:
    """A model whose answers are counted.

    Args:
        model: The model.
        meter: Where they are counted.
    """

    def __init__(self, model: LanguageModel, meter: Meter) -> None:
        self._model, self._meter = model, meter

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._model.name

    def ask(self, request: Request[Value]) -> Reply[Value]:
        """Answer one request; see :class:`generator.models.base.LanguageModel`."""
        try:
            reply = self._model.ask(request)
        except ModelError as error:
            self._meter.add(error.usage)
            raise
        self._meter.add(reply.usage, replayed=reply.replayed)
        return reply


def members_of(
    config: str, targets: Sequence[Target], calls: Path, meter: Meter, budget: Budget | None = None
) -> dict[str, Member]:
    """Who answers for each role.

    Args:
        config: ``rules``, the name of a profile, or a TOML file.
        targets: Tasks whose scenes the rules may look at.
        calls: Folder of recorded calls.
        meter: Where answers are counted.
        budget: What may be spent, where others spend of it too; ``None`` for the whole one of the profile.

    Raises:
        UnknownNameError: There is no such profile.
        SpecificationError: The profile is wrong.
        MissingKeyError: A key is not there.
    """
    if config == RULES:
        rules = Metered(RulesModel(Scenes(targets)), meter)
        return {role: Member(rules) for role in ROLES}
    chosen = read_profile(config)
    return {
        role: Member(
            Metered(model, meter), chosen.by_role[role].settings, chosen.by_role[role].prompt_version
        )
        for role, model in open_models(chosen, calls, budget=budget).items()
    }


def identity_of(config: str) -> str:
    """All that an answer depends on but for the question; what may be spent and waited for is no part of it.

    Raises:
        UnknownNameError: There is no such profile.
        SpecificationError: The profile is wrong.
    """
    if config == RULES:
        return RulesModel({}).name
    not_said = {"prices", "deadline_s", "calls_per_minute", "key_variable"}
    return read_profile(config).roles.model_dump_json(exclude=dict.fromkeys(ROLES, not_said))


def budget_of(config: str) -> Budget:
    """What a profile allows to spend, untouched.

    Raises:
        UnknownNameError: There is no such profile.
        SpecificationError: The profile is wrong.
    """
    return Budget(Limits() if config == RULES else read_profile(config).limits)
