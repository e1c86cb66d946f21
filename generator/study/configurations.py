"""What is compared: the whole, one pass, and the whole without a part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from generator.modules.variant import ABLATIONS, BASELINE, WHOLE, Variant


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to write oracles.

    Attributes:
        name: What the study calls it; part of a file's name.
        variant: What takes part.
    """

    name: str
    variant: Variant


MANGO: Final = Configuration("mango", WHOLE)
RQ1: Final = (MANGO, Configuration("baseline", BASELINE))
RQ3: Final = (
    MANGO,
    *(Configuration(f"without-{part}", variant) for part, variant in ABLATIONS.items()),
)
