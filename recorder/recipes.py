"""Recipes: which rollouts a shared dataset consists of, as data."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from mango_trace.errors import BadInputError, UnknownNameError
from mango_trace.shipped import shipped
from recorder.specs import EpisodeSpec

_N_INIT_STATES = 50


class Recipe(BaseModel):
    """What ``datasets/NAME.toml`` holds.

    Attributes:
        title: What it is, in one line.
        licence: Licence of the data.
        suite: LIBERO suite.
        tasks: Indices of its tasks.
        policy: Name of the policy.
        seed: Seed of the whole recording.
        after_success: Steps recorded past the first success.
        successes: Rollouts of each task without a fault.
        faulty: Rollouts of each task with a fault, spread evenly over the faults that apply.
        at_most: For some kinds of fault, the largest number of rollouts of each fault of that kind.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    licence: str
    suite: str
    tasks: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]
    policy: str
    seed: Annotated[int, Field(ge=0)] = 0
    after_success: Annotated[int, Field(ge=0)] = 20
    successes: Annotated[int, Field(ge=0)]
    faulty: Annotated[int, Field(ge=0)]
    at_most: dict[str, Annotated[int, Field(ge=0)]] = {}

    @field_validator("at_most")
    @classmethod
    def _known_kinds(cls, at_most: dict[str, int]) -> dict[str, int]:
        from recorder.policies.scripted import FAULT_KINDS

        unknown = [kind for kind in at_most if kind not in FAULT_KINDS]
        if unknown:
            raise ValueError(f"no kind of fault: {', '.join(unknown)}; there are {', '.join(FAULT_KINDS)}")
        return at_most

    @property
    def n_rollouts(self) -> int:
        """Rollouts in all."""
        return len(self.tasks) * (self.successes + self.faulty)

    def specs(self) -> list[EpisodeSpec]:
        """Every rollout. Those with one fault start from the initial states 0, 1, 2 and so on."""
        from recorder.policies.registry import fault_names

        return [
            self._spec(task, fault, episode)
            for task in self.tasks
            for fault, episode in (
                *((None, episode) for episode in range(self.successes)),
                *self._faulty(fault_names(self.suite, task, ("all",)) if self.faulty else ()),
            )
        ]

    def _faulty(self, faults: Sequence[str | None]) -> list[tuple[str | None, int]]:
        """Pairs of fault and episode: every fault once, then once more, but for those that are few."""
        often = {fault: self.at_most.get(str(fault).partition("@")[0], self.faulty) for fault in faults}
        rounds = (
            (fault, episode) for episode in range(self.faulty) for fault in faults if episode < often[fault]
        )
        return list(islice(rounds, self.faulty))

    def _spec(self, task: int, fault: str | None, episode: int) -> EpisodeSpec:
        from recorder.adapters.libero import SUITES

        return EpisodeSpec(
            suite=self.suite,
            task_index=task,
            policy=self.policy,
            seed=self.seed,
            episode=episode,
            init_state_id=episode % _N_INIT_STATES,
            horizon=SUITES[self.suite].horizon,
            after_success=self.after_success,
            fault=fault,
        )


def recipe_names() -> tuple[str, ...]:
    """Names of the recipes that come with the program."""
    return tuple(sorted(path.stem for path in shipped("datasets").glob("*.toml")))


def read_recipe(name: str) -> Recipe:
    """Read a recipe.

    Raises:
        UnknownNameError: There is none of that name.
        BadInputError: It is malformed.
    """
    path = _file(name, ".toml")
    try:
        return Recipe.model_validate(tomllib.loads(path.read_text()))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise BadInputError(f"{path}: {error}") from error


def read_card(name: str) -> str:
    """Card of a dataset: what it is, how it was made, what is not in it.

    Raises:
        UnknownNameError: There is none of that name.
    """
    return _file(name, ".md").read_text()


def _file(name: str, suffix: str) -> Path:
    names = recipe_names()
    if name not in names:
        raise UnknownNameError("dataset", name, names)
    return shipped("datasets") / f"{name}{suffix}"
