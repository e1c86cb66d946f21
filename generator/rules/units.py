"""Clauses in a scene: one unit for each thing that is done to each object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from generator.rules.errors import InstructionError
from generator.rules.grounding import Grounding
from generator.rules.lexicon import ORDINALS, Verb
from generator.rules.places import Destination, destination
from generator.rules.syntax import Clause, NounPhrase

MAX_UNITS: Final = 100
"""Most things that one instruction may ask for."""

_RULES: Final = {"open": "open", "close": "close", "turn_on": "turnon", "turn_off": "turnoff"}


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that is done to one object.

    Attributes:
        verb: What is done.
        thing: What it is done to: a movable object, or a fixture or its part that is operated.
        text: What it is, for people.
        place: Where the thing goes, for verbs that place something.
        phase: How often the instruction said "then" before: all of a phase comes after the one before.
        laden: Whether something lies on the thing and is moved with it.
    """

    verb: Verb
    thing: str
    text: str
    place: Destination | None = None
    phase: int = 0
    laden: bool = False

    @property
    def moves(self) -> bool:
        """Whether the thing is moved, not operated."""
        return self.verb not in _RULES


def units_of(clauses: Sequence[Clause], grounding: Grounding) -> tuple[Unit, ...]:
    """Find what clauses are about.

    Args:
        clauses: The instruction.
        grounding: Names of the scene.

    Returns:
        Units in the order of the instruction.

    Raises:
        InstructionError: A phrase names nothing or too much, or the thing cannot be moved or operated so.
    """
    units: list[Unit] = []
    phase = 0
    for clause in clauses:
        phase += clause.then
        things = [named for phrase in clause.objects for named in _named(phrase, grounding)]
        carried: set[str] = set()
        if clause.together:
            # What lies on another one of them goes with it.
            names = {name for name, _ in things}
            carried = {
                unit.thing for unit in units if unit.place and {unit.thing, unit.place.target} <= names
            }
        label = " and ".join(label for _, label in things) if carried else ""
        for name, own_label in things:
            if name not in carried:
                unit = _unit(clause, name, label or own_label, grounding, laden=bool(carried))
                units.append(replace(unit, phase=phase))
        if len(units) > MAX_UNITS:
            raise InstructionError(f"asks for more than {MAX_UNITS} things")
    return tuple(units)


def _named(phrase: NounPhrase, grounding: Grounding) -> list[tuple[str, str]]:
    """Names that a phrase means, each with how a text calls it."""
    names = grounding.each(phrase)
    if len(names) == 1:
        return [(names[0], phrase.shown())]
    words = " ".join(phrase.words)
    return [(name, f"the {_ordinal(index)} {words}") for index, name in enumerate(names)]


def _ordinal(index: int) -> str:
    return ORDINALS[index] if index < len(ORDINALS) else f"{index + 1}th"


def _unit(clause: Clause, name: str, label: str, grounding: Grounding, *, laden: bool) -> Unit:
    text = f"{clause.word} {label}"
    place = None
    if clause.destination is not None:
        text = f"{text} {clause.destination.shown()}"
        place = destination(clause.verb, clause.destination, grounding)
        if place.anchor == name:
            raise InstructionError(f"{text!r}: {name} cannot be put on or in itself")
    unit = Unit(clause.verb, name, text, place, laden=laden)
    item = grounding.scene.object(grounding.owner(name))
    if unit.moves and (item.kind != "object" or name != item.name):
        movable = ", ".join(item.name for item in grounding.scene.objects if item.kind == "object")
        raise InstructionError(f"{text!r}: {name} cannot be moved; what can be: {movable or 'nothing'}")
    if not unit.moves and getattr(item.articulation, rule := _RULES[clause.verb]) is None:
        has = [each.name for each in grounding.scene.objects if getattr(each.articulation, rule) is not None]
        raise InstructionError(
            f"{text!r}: {item.name} has no rule for {rule!r}; what has: {', '.join(has) or 'nothing'}"
        )
    return unit
