"""What the answers of a run take, and what they depend on."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from generator.errors import ModelError
from generator.members import RULES
from generator.models.base import LanguageModel, Reply, Request, Usage, Value
from generator.models.budget import Budget, Limits
from generator.models.config import read_profile
from generator.prompting import ROLES
from generator.rules.model import RulesModel


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
