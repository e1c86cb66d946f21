"""What an instruction says, as parsed: clauses of verbs, noun phrases and relations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from generator.rules.lexicon import Verb


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """What a clause is about.

    Attributes:
        words: Adjectives and noun, without determiner; of a pronoun, the pronoun.
        text: As it was written.
        quantity: ``both`` or ``all`` of what fits, else ``one``.
        of: What it is a part of.
        relations: Where it is, to tell it from others of its kind.
        pronoun: Whether it stands for something said before.
        repeated: Whether it was put in place of a pronoun.
    """

    words: tuple[str, ...]
    text: str
    quantity: Literal["one", "both", "all"] = "one"
    of: NounPhrase | None = None
    relations: tuple[Relation, ...] = ()
    pronoun: bool = False
    repeated: bool = False

    @property
    def head(self) -> str:
        """The noun."""
        return self.words[-1]

    @property
    def short(self) -> str:
        """The phrase without what follows its noun."""
        return f"the {' '.join(self.words)}"

    def shown(self) -> str:
        """How a later mention is written: short if it was a pronoun, else as it stood."""
        return self.short if self.repeated else self.text

    def again(self) -> NounPhrase:
        """The same thing, said again by a pronoun."""
        return replace(self, repeated=True)


@dataclass(frozen=True, slots=True)
class Relation:
    """Where something is or shall go.

    Attributes:
        kind: ``on``, ``on_top``, ``in``, ``from``, ``under``, ``between``, ``next_to``, ``left``, ``right``,
            ``front``, ``back``, ``middle`` or ``center``.
        anchors: Landmarks; none where the place is said without one.
        text: The preposition as it was written.
    """

    kind: str
    anchors: tuple[NounPhrase, ...]
    text: str

    def shown(self) -> str:
        """Preposition and landmarks as text."""
        return " ".join([self.text, " and ".join(anchor.shown() for anchor in self.anchors)]).strip()


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing to do.

    Attributes:
        verb: What is asked for.
        word: The verb as it was written.
        objects: What it is done to, each for itself.
        destination: Where it shall go, for verbs that place something.
        then: Whether the instruction says that it comes after the clause before.
        together: Whether the objects are said as one, by ``them``.
    """

    verb: Verb
    word: str
    objects: tuple[NounPhrase, ...]
    destination: Relation | None = None
    then: bool = False
    together: bool = False
