"""What each role is told: the texts of ``generator/prompts/VERSION.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from mango_trace.errors import UnknownNameError

ROLES: Final = ("generator", "assessor", "judge")

LATEST: Final = "2"
"""Version that is used when none is chosen."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Texts of one kind of question.

    Attributes:
        role: Who is asked.
        system: What the role is.
        question: What it is to do with the data.
    """

    role: str
    system: str
    question: str


def check_version(version: str) -> None:
    """See that there are texts of a version.

    Raises:
        UnknownNameError: There are none.
    """
    known = sorted(
        path.name.removesuffix(".toml")
        for path in (files("generator") / "prompts").iterdir()
        if path.name.endswith(".toml")
    )
    if version not in known:
        raise UnknownNameError("version of the prompts", version, known)


@cache
def prompts(version: str = LATEST) -> dict[str, Prompt]:
    """All texts of a version, by what is asked.

    Raises:
        UnknownNameError: There is no such version.
    """
    check_version(version)
    path = files("generator") / "prompts" / f"{version}.toml"
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    system = {role: _flat(text) for role, text in document["system"].items()}
    return {
        name: Prompt(entry["role"], system[entry["role"]], _flat(entry["text"]))
        for name, entry in document["question"].items()
    }


def mentions(version: str, name: str) -> bool:
    """Whether every role is told, in a version, what to make of some part of the data.

    Args:
        version: Version of the texts.
        name: Name of the part.

    Raises:
        UnknownNameError: There is no such version.
    """
    return all(f"`{name}`" in prompt.system for prompt in prompts(version).values())


def _flat(text: str) -> str:
    return " ".join(text.split())
