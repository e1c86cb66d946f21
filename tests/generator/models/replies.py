"""Reply types and requests of the tests."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from generator.models.base import Request, Settings
from mango_trace.oracle.document import FrozenModel

KEY = "sk-RECOGNISABLE-3f9c"
"""A key that can be found again wherever it should not be."""


class Verdict(FrozenModel):
    """What most tests ask for."""

    accepted: bool
    reason: str


class Leaf(FrozenModel):
    """A predicate of a logical tree."""

    predicate: Literal["on", "in"]
    names: tuple[str, ...]


class Node(FrozenModel):
    """A connective of a logical tree."""

    op: Literal["and", "or", "not"]
    args: tuple[Node | Leaf, ...]


class NamedNumber(FrozenModel):
    """One entry of what would be a dictionary."""

    name: str
    value: float


class Pairs(FrozenModel):
    """A dictionary as providers take it."""

    args: tuple[NamedNumber, ...]


class Dictionary(BaseModel):
    """What no response schema can say."""

    inner: list[dict[str, float]]


class Near(FrozenModel):
    """A branch of a union with a discriminator."""

    kind: Literal["near"]
    within_m: float


class At(FrozenModel):
    """The other branch."""

    kind: Literal["at"]
    position: tuple[float, float, float]


class Placed(FrozenModel):
    """Discriminator, tuple and default value in one."""

    where: Annotated[Near | At, Field(discriminator="kind")]
    negate: bool = False


def ask(reply: type[Any] = Verdict, **options: Any) -> Request[Any]:
    """Make a request; ``options`` replace its parts, those of :class:`Settings` too."""
    names = Settings.__dataclass_fields__
    settings = Settings(**{name: options.pop(name) for name in list(options) if name in names})
    parts: dict[str, Any] = {
        "role": "judge",
        "task": "oracle.judge",
        "prompt_version": "1",
        "system": "You judge.",
        "question": "Is it right?",
        "inputs": {"instruction": "open the drawer"},
        **options,
    }
    return Request(reply=reply, settings=settings, **parts)
