"""From noun phrases to names of the scene."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from generator.rules.errors import AmbiguousError, NoReferentError
from generator.rules.lexicon import ALIASES, COLOURS, COMPARTMENTS, DOORS, IMPLIED, PARTS, SIDES
from generator.rules.placement import Placement
from generator.rules.syntax import NounPhrase
from mango_trace.scene.bddl import Problem
from mango_trace.scene.model import Region, Scene, SceneObject

_WORD: Final = re.compile(r"[a-z]+")


class Grounding:
    """What the phrases of an instruction mean in one scene.

    Words are matched with those of categories; where several instances fit, sides and relations decide by
    where things start.

    Args:
        scene: The scene.
        problem: The task's BDDL; its goal is not looked at.
    """

    def __init__(self, scene: Scene, problem: Problem) -> None:
        self.scene = scene
        self._placement = Placement(scene, problem)

    def one(self, phrase: NounPhrase) -> str:
        """The one thing that a phrase names.

        Raises:
            NoReferentError: Nothing fits.
            AmbiguousError: Several things fit.
        """
        found = self.candidates(phrase)
        if len(found) > 1:
            raise AmbiguousError(phrase.text, found)
        return found[0]

    def each(self, phrase: NounPhrase) -> tuple[str, ...]:
        """Everything that a phrase names: one thing, or what ``both`` and ``all`` ask for.

        Raises:
            NoReferentError: Nothing fits, or not two for ``both``.
            AmbiguousError: More fit than the phrase asks for.
        """
        if phrase.quantity == "one":
            return (self.one(phrase),)
        found = self.candidates(phrase)
        if phrase.quantity == "both" and len(found) > 2:
            raise AmbiguousError(phrase.text, found)
        if phrase.quantity == "both" and len(found) < 2:
            raise NoReferentError(phrase.text, f"only {found[0]} fits", self._known())
        return found

    def candidates(self, phrase: NounPhrase) -> tuple[str, ...]:
        """All things that fit a phrase, at least one, in scene order.

        Raises:
            NoReferentError: Nothing fits.
        """
        if phrase.head in DOORS and phrase.of is not None:
            return self.candidates(phrase.of)  # a door has no name of its own
        is_part = phrase.head in PARTS
        sides = () if is_part else tuple(word for word in phrase.words[:-1] if word in SIDES)
        words = tuple(word for word in phrase.words if word not in sides and word != "and")
        found = self._parts(words, phrase) if is_part else self._things(words)
        if not found:
            raise NoReferentError(phrase.text, "nothing in the scene is called so", self._known())
        for kind, anchors in [
            *((side, ()) for side in sides),
            *((relation.kind, relation.anchors) for relation in phrase.relations),
        ]:
            if len(found) == 1:
                break
            landmarks = [name for anchor in anchors for name in self.each(anchor)]
            left = self._placement.select(kind, found, landmarks)
            if not left:
                reason = f"none of {', '.join(found)} starts there"
                raise NoReferentError(phrase.text, reason, found)
            found = left
        return found

    def regions_of(self, name: str) -> dict[str, Region]:
        """Regions of an object or fixture by what their names say beyond its own, e.g. ``top_side``."""
        return {
            region.name.removeprefix(f"{name}_"): region
            for region in self.scene.regions
            if region.parent == name
        }

    def beside(self, name: str, side: str, phrase: str) -> str:
        """The region of a surface that is named after a side of a thing.

        Args:
            name: The thing.
            side: ``left``, ``right``, ``front`` or ``back``.
            phrase: The phrase, for messages.

        Raises:
            NoReferentError: The scene has no such region.
            AmbiguousError: It has several.
        """
        item = self.scene.object(name)
        own = set(item.category.split("_"))
        known = {
            region.name: set(region.name.removeprefix(f"{region.surface}_").split("_")) - {"region"}
            for region in self.scene.regions
            if region.surface is not None
        }
        found = [
            region
            for region, words in known.items()
            if side in words and words - {side} and words - {side} <= own
        ]
        if not found:
            raise NoReferentError(phrase, f"no region is {side} of {name}", tuple(known))
        if len(found) > 1:
            raise AmbiguousError(phrase, found)
        return found[0]

    def region(self, name: str) -> Region | None:
        """The region of that name, if it is one."""
        return next((region for region in self.scene.regions if region.name == name), None)

    def owner(self, name: str) -> str:
        """What a region belongs to; anything else is its own."""
        region = self.region(name)
        return name if region is None or region.parent is None else region.parent

    def _things(self, words: Sequence[str]) -> tuple[str, ...]:
        fitting = [item for item in self.scene.objects if _fits(words, item, aliases=False)]
        fitting = fitting or [item for item in self.scene.objects if _fits(words, item, aliases=True)]
        # Of a white mug and a yellow and white one, the white mug is the one that is only white.
        colours = COLOURS & set(words)
        exact = [item for item in fitting if _colours(item) == colours] if colours else []
        return tuple(item.name for item in exact or fitting)

    def _parts(self, words: Sequence[str], phrase: NounPhrase) -> tuple[str, ...]:
        """Drawers, which move, and compartments, which do not."""
        if phrase.of is None:
            owners: Iterable[str] = [item.name for item in self.scene.objects]
        else:
            # A drawer of the drawers: what has them is meant.
            owners = dict.fromkeys(map(self.owner, self.candidates(phrase.of)))
        adjectives = set(words[:-1])
        return tuple(
            region.name
            for owner in owners
            for rest, region in self.regions_of(owner).items()
            if bool(region.joints) != (phrase.head in COMPARTMENTS)
            and (region.joints or "contain" in rest)
            and adjectives <= set(rest.split("_")) | _words(self.scene.object(owner))
        )

    def _known(self) -> tuple[str, ...]:
        return tuple(item.name for item in self.scene.objects)


def _fits(words: Sequence[str], item: SceneObject, *, aliases: bool) -> bool:
    """Whether words describe a category: its noun last, and no word that it does not have."""
    noun = _nouns(item)[-1:]
    heads = {*noun, *(word for part in noun for word in _implied(part))}
    known = _words(item)
    if aliases:
        also = {ALIASES[word] for word in noun if word in ALIASES}
        heads |= also
        known |= also
    return words[-1] in heads and set(words) <= known


def _nouns(item: SceneObject) -> list[str]:
    return _WORD.findall(item.category)


def _words(item: SceneObject) -> set[str]:
    own = _nouns(item)
    return {*own, *(word for part in own for word in _implied(part))}


def _implied(word: str) -> tuple[str, ...]:
    return IMPLIED.get(word, ())


def _colours(item: SceneObject) -> set[str]:
    return _words(item) & COLOURS
