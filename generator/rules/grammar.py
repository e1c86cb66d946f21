"""From an instruction to clauses, by recursive descent over its words.

::

    instruction = clause (("," | "and" | "then")+ clause)*
    clause      = verb? nouns? location* (preposition nouns location*)*
    nouns       = noun ("and" noun)*
    noun        = ("both" | "all")? ("the" | "a")? (word+ "'s")? word+ ("of" noun)? | "it" | "them"
    location    = "at the back" | "on the left" | "in the middle" | ...

The last preposition of a verb that places something says where to; those before it describe the object. A
pronoun has no description, so there the first one does. A verb that is left out is that of the clause before,
an object that is left out is "it". Words are read and compared, nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal, TypeVar, cast

from generator.rules.errors import NotUnderstoodError
from generator.rules.lexicon import (
    COLOURS,
    DETERMINERS,
    LOCATIONS,
    PLACING,
    PREPOSITIONS,
    PRONOUNS,
    QUANTITIES,
    SPLIT_VERBS,
    VERBS,
    Verb,
    singular,
)
from generator.rules.pronouns import resolve_pronouns
from generator.rules.syntax import Clause, NounPhrase, Relation

MAX_WORDS: Final = 200
"""Longest instruction that is read, in words."""

MAX_CHARACTERS: Final = 4000
"""Longest instruction that is read, in characters."""

_TOKEN: Final = re.compile(r"[\w']+|[^\w\s-]")
_JOINTS: Final = frozenset({",", "and", "then"})
_A_VERB: Final = "a verb: " + ", ".join(sorted(" ".join(words) for words in VERBS))
_A_PLACE: Final = "where to, with " + ", ".join(sorted({" ".join(words) for words in PREPOSITIONS}))
_STOPS: Final = DETERMINERS | QUANTITIES | PRONOUNS | {"of", "up", "off"}
_IT: Final = NounPhrase(("it",), "it", pronoun=True)
_A_NOUN: Final = "a thing, such as 'the black bowl', 'both mugs' or 'it'"

Value = TypeVar("Value")


def parse_instruction(instruction: str) -> tuple[Clause, ...]:
    """Read an instruction.

    Args:
        instruction: The text; upper and lower case are alike.

    Returns:
        Its clauses in order, pronouns replaced by what they stand for.

    Raises:
        NotUnderstoodError: With the word where reading stopped and what is understood there.
    """
    return resolve_pronouns(_Parser(instruction).parse(), instruction)


class _Parser:
    def __init__(self, instruction: str) -> None:
        self.instruction = instruction
        self.words: list[str] = []
        self.at = 0
        if len(instruction) > MAX_CHARACTERS:
            raise self.refusal(f"at most {MAX_CHARACTERS} characters")
        text = instruction.casefold().replace("\u2019", "'").strip().rstrip(".!")
        self.words = _TOKEN.findall(text)
        if len(self.words) > MAX_WORDS:
            self.at = MAX_WORDS
            raise self.refusal(f"at most {MAX_WORDS} words")

    def parse(self) -> tuple[Clause, ...]:
        clauses = [self.clause(None, then=False)]
        while self.at < len(self.words):
            start = self.at
            while self.word in _JOINTS:
                self.at += 1
            if self.at == start:
                raise self.refusal("',' or 'and' with a further clause, or the end")
            clauses.append(self.clause(clauses[-1], then="then" in self.words[start : self.at]))
        return tuple(clauses)

    @property
    def word(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else ""

    def refusal(self, expected: str) -> NotUnderstoodError:
        return NotUnderstoodError(self.instruction, self.at + 1, self.word, expected)

    def longest(self, table: Mapping[tuple[str, ...], Value]) -> tuple[tuple[str, ...], Value] | None:
        """The longest entry that the next words begin with; nothing is consumed."""
        fitting = [words for words in table if tuple(self.words[self.at : self.at + len(words)]) == words]
        if not fitting:
            return None
        words = max(fitting, key=len)
        return words, table[words]

    def clause(self, before: Clause | None, *, then: bool) -> Clause:
        verb, written = self.verb(before)
        objects = (_IT,) if verb in PLACING and self.longest(PREPOSITIONS) else self.nouns()
        particles = SPLIT_VERBS.get(written, {})
        if self.word in particles:
            verb, written = particles[self.word], f"{written} {self.word}"
            self.at += 1
        elif verb is None:
            raise self.refusal(f"{' or '.join(particles)} after {written!r}")
        objects = self.located(objects)
        relations: list[Relation] = []
        while found := self.longest(PREPOSITIONS):
            self.at += len(found[0])
            anchors = self.located(self.anchors(found[1]))
            relations.append(Relation(found[1], anchors, " ".join(found[0])))
        destination = None
        if verb in PLACING:
            if not relations:
                raise self.refusal(_A_PLACE)
            # A pronoun is known already; whatever follows its place describes that place.
            index = 0 if objects[0].pronoun else len(relations) - 1
            destination, described = relations[index], relations[index + 1 :]
            if described and destination.anchors:
                destination = replace(destination, anchors=_describe(destination.anchors, described))
            relations = relations[:index]
        return Clause(
            verb, written, _describe(objects, relations), destination, then, objects[0].words == ("them",)
        )

    def verb(self, before: Clause | None) -> tuple[Verb | None, str]:
        if found := self.longest(VERBS):
            self.at += len(found[0])
            return found[1], " ".join(found[0])
        if self.word in SPLIT_VERBS:
            self.at += 1
            return None, self.words[self.at - 1]
        if before is not None and (self.word in PRONOUNS or self.starts_noun()):
            return before.verb, before.word
        raise self.refusal(_A_VERB)

    def anchors(self, kind: str) -> tuple[NounPhrase, ...]:
        """Landmarks: two for ``between``, none where ``inside`` says it all, else one."""
        if kind == "in" and self.words[self.at - 1] == "inside" and self.word in {"", *_JOINTS}:
            return (_IT,)
        first = self.noun()
        if kind != "between" or first.quantity != "one":
            return (first,)
        if self.word != "and":
            raise self.refusal("'and' with the second of both landmarks")
        self.at += 1
        return first, self.noun()

    def nouns(self) -> tuple[NounPhrase, ...]:
        """Things that are joined: ``both A and B`` are one of each."""
        is_both = self.word == "both"
        found = [self.noun()]
        while self.word in {",", "and"} and self.next_is_noun():
            self.at += 2 if self.words[self.at : self.at + 2] == [",", "and"] else 1
            found.append(self.noun())
        if is_both and len(found) == 2:
            text = found[0].text.split(" ", 1)[1]
            found[0] = replace(found[0], quantity="one", text=text)
        return tuple(found)

    def next_is_noun(self) -> bool:
        """Whether a further object follows, not a clause that leaves its verb out."""
        start = self.at
        self.at += 2 if self.words[self.at : self.at + 2] == [",", "and"] else 1
        try:
            return self.starts_noun()
        finally:
            self.at = start

    def starts_noun(self) -> bool:
        """Whether a noun phrase comes next, not a verb, be it one that is not known."""
        if self.word in DETERMINERS | QUANTITIES:
            return True
        if self.word in {"", *_JOINTS, *SPLIT_VERBS, *PRONOUNS} or self.longest(VERBS):
            return False
        return not set(self.words[self.at + 1 : self.at + 2]) & (DETERMINERS | QUANTITIES | PRONOUNS)

    def noun(self) -> NounPhrase:
        start = self.at
        if self.word in PRONOUNS:
            self.at += 1
            return NounPhrase((self.words[start],), self.words[start], pronoun=True)
        quantity = self.word if self.word in QUANTITIES else "one"
        self.at += quantity != "one"
        self.at += self.word in DETERMINERS
        words: list[str] = []
        whole = None
        while self.goes_on(words):
            words.append(self.word.removesuffix("'s"))
            if words[-1] != self.word:  # the cabinet's drawer
                text = f"the {' '.join(words)}"
                whole, words = NounPhrase(tuple(words), text, of=whole), []
            self.at += 1
        if not words:
            raise self.refusal(_A_NOUN)
        if quantity != "one":
            words[-1] = singular(words[-1])
        if self.word == "of" and whole is None:
            self.at += 1
            whole = self.noun()
        text = " ".join(self.words[start : self.at])
        return NounPhrase(tuple(words), text, cast("Literal['one', 'both', 'all']", quantity), whole)

    def goes_on(self, words: list[str]) -> bool:
        """Whether the next word still belongs to a noun phrase with these words."""
        if self.word == "and":  # the yellow and white mug
            after = self.words[self.at + 1 : self.at + 2]
            return bool(words) and words[-1] in COLOURS and bool(after) and after[0] in COLOURS
        if not self.word or not self.word[0].isalnum() or self.word in _JOINTS | _STOPS:
            return False
        # The left plate begins like left of the plate; only the latter has its 'of'.
        return self.longest(PREPOSITIONS) is None and self.longest(LOCATIONS) is None

    def located(self, nouns: tuple[NounPhrase, ...]) -> tuple[NounPhrase, ...]:
        """Add the places without landmark that follow: at the back, on the left."""
        found: list[Relation] = []
        while (location := self.longest(LOCATIONS)) and self.ends_after(len(location[0])):
            self.at += len(location[0])
            found.append(Relation(location[1], (), " ".join(location[0])))
        return _describe(nouns, found)

    def ends_after(self, count: int) -> bool:
        """Whether no noun follows: on the left plate is no place of its own."""
        start = self.at
        self.at += count
        try:
            return self.word in {"", *_JOINTS} or self.longest(PREPOSITIONS) is not None
        finally:
            self.at = start


def _describe(nouns: tuple[NounPhrase, ...], relations: list[Relation]) -> tuple[NounPhrase, ...]:
    """Attach descriptions to the last of some things."""
    if not relations:
        return nouns
    last = nouns[-1]
    text = " ".join([last.text, *(relation.shown() for relation in relations)])
    return (*nouns[:-1], replace(last, relations=(*last.relations, *relations), text=text))
