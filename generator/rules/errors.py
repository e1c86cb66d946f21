"""Errors about instructions, one class for each kind of mistake.

::

    BadInputError (mango_trace)
    └── InstructionError            exit 3  an instruction cannot be turned into an oracle
        ├── NotUnderstoodError      exit 3  words that the grammar does not know; lists what it does
        ├── NoReferentError         exit 3  a phrase that names nothing in the scene; lists what is there
        └── AmbiguousError          exit 3  a phrase that names several things; lists them
"""

from __future__ import annotations

from collections.abc import Sequence

from mango_trace.errors import BadInputError, suggest


class InstructionError(BadInputError):
    """An instruction cannot be turned into an oracle.

    Args:
        message: What is wrong and what exists instead.
    """


class NotUnderstoodError(InstructionError):
    """An instruction has words where the grammar knows none.

    Args:
        instruction: The whole instruction.
        position: 1-based number of the word where reading stopped; one past the last at the end.
        word: That word, or an empty text at the end.
        expected: What would have been understood there.
    """

    def __init__(self, instruction: str, position: int, word: str, expected: str) -> None:
        self.instruction = instruction
        self.position = position
        self.word = word
        self.expected = expected
        where = f"word {position}, {word[:60]!r}" if word else "the end"
        super().__init__(f"{instruction[:200]!r}: not understood at {where}; expected {expected}")


class NoReferentError(InstructionError):
    """A phrase names nothing in the scene.

    Args:
        phrase: The phrase.
        reason: Why nothing fits.
        known: What is there.
    """

    def __init__(self, phrase: str, reason: str, known: Sequence[str]) -> None:
        self.phrase = phrase
        self.known = tuple(known)
        super().__init__(f"{phrase[:200]!r}: {reason}{suggest(phrase, self.known)}")


class AmbiguousError(InstructionError):
    """A phrase names several things in the scene.

    Args:
        phrase: The phrase.
        candidates: Everything that it could mean.
    """

    def __init__(self, phrase: str, candidates: Sequence[str]) -> None:
        self.phrase = phrase
        self.candidates = tuple(candidates)
        super().__init__(f"{phrase[:200]!r} could be any of {', '.join(self.candidates)}")
