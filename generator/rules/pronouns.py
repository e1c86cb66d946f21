"""What ``it``, ``them`` and a place that is left out stand for.

By the verb, and without a scene: what is moved is what was moved last; what is opened, closed or switched is
where something was put last, else what was operated last; a place is what the clause before ended at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from generator.rules.errors import InstructionError
from generator.rules.lexicon import PLACING
from generator.rules.syntax import Clause, NounPhrase, Relation

_MOVING = PLACING | {"pick_up"}


def resolve_pronouns(clauses: Sequence[Clause], instruction: str) -> tuple[Clause, ...]:
    """Replace pronouns by what they stand for.

    Args:
        clauses: Clauses as they were read.
        instruction: The whole text, for messages.

    Returns:
        The clauses without pronouns.

    Raises:
        InstructionError: A pronoun with nothing before it that it could stand for.
    """
    done: list[Clause] = []
    for clause in clauses:
        objects = tuple(
            meant for thing in clause.objects for meant in _objects(thing, clause, done, instruction)
        )
        target = clause.destination
        if target is not None:
            target = replace(
                target, anchors=tuple(_place(anchor, done, instruction) for anchor in target.anchors)
            )
        done.append(replace(clause, objects=objects, destination=target))
    return tuple(done)


def _objects(
    thing: NounPhrase, clause: Clause, done: Sequence[Clause], instruction: str
) -> tuple[NounPhrase, ...]:
    if not thing.pronoun:
        return (_described(thing, done, instruction),)
    if clause.verb not in _MOVING:
        return (_place(thing, done, instruction),)
    for earlier in reversed(done):
        if earlier.verb in _MOVING:
            meant = earlier.objects
            if thing.words == ("them",) and earlier.verb == "stack" and earlier.destination:
                meant += earlier.destination.anchors
            return tuple(one.again() for one in (meant if thing.words == ("them",) else meant[-1:]))
    raise _nothing(thing, "has moved", instruction)


def _place(thing: NounPhrase, done: Sequence[Clause], instruction: str) -> NounPhrase:
    if not thing.pronoun:
        return _described(thing, done, instruction)
    for earlier in reversed(done):
        target: Relation | None = earlier.destination
        if target is not None and target.anchors:
            return target.anchors[-1].again()
        if earlier.verb not in _MOVING:
            return earlier.objects[-1].again()
    raise _nothing(thing, "names a place or something to operate", instruction)


def _described(thing: NounPhrase, done: Sequence[Clause], instruction: str) -> NounPhrase:
    """Resolve what a phrase is described with: the bowl next to it."""
    relations = tuple(
        replace(relation, anchors=tuple(_place(anchor, done, instruction) for anchor in relation.anchors))
        for relation in thing.relations
    )
    whole = None if thing.of is None else _place(thing.of, done, instruction)
    return replace(thing, relations=relations, of=whole)


def _nothing(thing: NounPhrase, what: str, instruction: str) -> InstructionError:
    return InstructionError(
        f"{instruction[:200]!r}: {thing.text!r} stands for nothing, as no clause before it {what}"
    )
