"""Instructions are read as people mean them, or refused at the word that is not understood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.rules.errors import InstructionError, NotUnderstoodError
from generator.rules.grammar import MAX_CHARACTERS, MAX_WORDS, parse_instruction
from generator.rules.lexicon import DETERMINERS, LOCATIONS, PREPOSITIONS, VERBS


def said(instruction: str) -> list[str]:
    """Clauses as text: verb(object, ...) destination."""
    return [
        f"{clause.verb}({', '.join(thing.shown() for thing in clause.objects)})"
        + (f" {clause.destination.kind}({clause.destination.shown()})" if clause.destination else "")
        for clause in parse_instruction(instruction)
    ]


@pytest.mark.parametrize(
    ("instruction", "clauses"),
    [
        ("close the microwave", ["close(the microwave)"]),
        ("Turn the stove on.", ["turn_on(the stove)"]),
        ("pick the mug up", ["pick_up(the mug)"]),
        ("put the yellow and white mug on the plate", ["put(the yellow and white mug) on(on the plate)"]),
        ("put the bowl on the left plate", ["put(the bowl) on(on the left plate)"]),
        ("push the plate to the front of the stove", ["push(the plate) front(to the front of the stove)"]),
        ("put both the soup and the butter in the basket", ["put(the soup, the butter) in(in the basket)"]),
        ("put both moka pots on the stove", ["put(both moka pots) on(on the stove)"]),
        (
            "put the soup, the milk and the butter in the tray",
            ["put(the soup, the milk, the butter) in(in the tray)"],
        ),
        (
            "put the butter at the back in the top drawer of the cabinet and close it",
            ["put(the butter at the back) in(in the top drawer of the cabinet)", "close(the top drawer)"],
        ),
        (
            "stack the bowl at the front on the bowl in the middle",
            ["stack(the bowl at the front) on(on the bowl in the middle)"],
        ),
        (
            "turn on the stove and put the pan on it",
            ["turn_on(the stove)", "put(the pan) on(on the stove)"],
        ),
        (
            "open the top drawer and put the bowl inside",
            ["open(the top drawer)", "put(the bowl) in(inside the top drawer)"],
        ),
        (
            "pick up the bowl between the plate and the ramekin and place it on the plate next to the mug",
            [
                "pick_up(the bowl between the plate and the ramekin)",
                "put(the bowl) on(on the plate next to the mug)",
            ],
        ),
        (
            "stack the left bowl on the right bowl and place them in the tray",
            [
                "stack(the left bowl) on(on the right bowl)",
                "put(the left bowl, the right bowl) in(in the tray)",
            ],
        ),
        (
            "put the mug on the plate and the pudding to the right of the plate",
            ["put(the mug) on(on the plate)", "put(the pudding) right(to the right of the plate)"],
        ),
        ("grab milk and put into basket", ["pick_up(milk)", "put(the milk) in(into basket)"]),
        ("open the cabinet\u2019s middle drawer", ["open(the cabinet's middle drawer)"]),
    ],
)
def test_clauses(instruction: str, clauses: list[str]) -> None:
    assert said(instruction) == clauses


@pytest.mark.parametrize(
    "instruction", ["put it on the plate", "put the milk in it", "close it", "put the milk inside"]
)
def test_a_pronoun_needs_something_before_it(instruction: str) -> None:
    with pytest.raises(InstructionError, match="'it' stands for nothing, as no clause before it"):
        parse_instruction(instruction)


def test_then_is_an_order() -> None:
    assert [clause.then for clause in parse_instruction("open the drawer, and then close the microwave")] == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("instruction", "position", "word", "expected"),
    [
        ("", 1, "", "a verb: close"),
        ("juggle the mug", 1, "juggle", "a verb: close"),
        ("put the bowl on the plate and throw the mug", 8, "throw", "a verb: close"),
        ("put the bowl", 4, "", "where to, with at the back of"),
        ("put the bowl on", 5, "", "a thing"),
        ("turn the stove", 4, "", "on or off after 'turn'"),
        ("put the bowl between the plate on the stove", 7, "on", "'and' with the second"),
        ("close the microwave; rm -rf /", 4, ";", "',' or 'and'"),
        ("{0.__class__} %s", 1, "{", "a verb"),
        ("a " * MAX_WORDS + "a", MAX_WORDS + 1, "a", f"at most {MAX_WORDS} words"),
        ("a" * (MAX_CHARACTERS + 1), 1, "", f"at most {MAX_CHARACTERS} characters"),
    ],
)
def test_what_is_not_understood_is_said_with_its_place(
    instruction: str, position: int, word: str, expected: str
) -> None:
    with pytest.raises(NotUnderstoodError) as caught:
        parse_instruction(instruction)
    assert (caught.value.position, caught.value.word) == (position, word)
    assert caught.value.expected.startswith(expected)
    assert len(str(caught.value)) < 1000


_WORDS = sorted(
    {word for table in (VERBS, PREPOSITIONS, LOCATIONS) for words in table for word in words}
    | DETERMINERS
    | {"and", ",", "both", "it", "them", "of", "bowl", "drawer", "'s", "{x}", "\ud800", "/etc/passwd"}
)


@given(st.lists(st.sampled_from(_WORDS), max_size=30))
def test_any_words_are_clauses_or_a_clear_refusal(words: list[str]) -> None:
    try:
        clauses = parse_instruction(" ".join(words))
    except InstructionError:
        return
    assert clauses
    assert not any(thing.pronoun for clause in clauses for thing in clause.objects)


@given(st.sampled_from(sorted(VERBS)), st.sampled_from(sorted(PREPOSITIONS)))
def test_every_verb_and_preposition_is_read(verb: tuple[str, ...], preposition: tuple[str, ...]) -> None:
    second = " and the pan" if preposition == ("between",) else ""
    [clause] = parse_instruction(f"{' '.join(verb)} the bowl {' '.join(preposition)} the plate{second}")
    assert clause.verb == VERBS[verb]
    relation = clause.destination or clause.objects[0].relations[0]
    assert relation.kind == PREPOSITIONS[preposition]
