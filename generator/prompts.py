"""What each role is told: the texts of ``prompts.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

GENERATOR: Final = "generator"
ASSESSOR: Final = "assessor"
JUDGE: Final = "judge"
ROLES: Final = (GENERATOR, ASSESSOR, JUDGE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """Texts of one kind of question.

    Attributes:
        role: Who is asked.
        version: Version of the texts.
        system: What the role is.
        question: What it is to do with the data.
    """

    role: str
    version: str
    system: str
    question: str


@cache
def prompts() -> dict[str, Prompt]:
    """All texts, by what is asked."""
    document = tomllib.loads((files("generator") / "prompts.toml").read_text(encoding="utf-8"))
    system = {role: _flat(text) for role, text in document["system"].items()}
    return {
        name: Prompt(entry["role"], entry["version"], system[entry["role"]], _flat(entry["text"]))
        for name, entry in document["question"].items()
    }


def _flat(text: str) -> str:
    return " ".join(text.split())
