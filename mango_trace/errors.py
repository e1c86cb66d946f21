"""Errors of mango_trace, one class for each kind of mistake.

::

    MangoTraceError                 anything the program says no to
    ├── UsageError                  exit 2  the call itself is wrong
    │   └── UnknownNameError        exit 2  a name that is not there; lists what is
    └── BadInputError               exit 3  a file or dataset is wrong
        ├── DatasetError            a dataset, segment or index cannot be read
        │   ├── NewerFormatError    written by a newer version of the format
        │   └── TraceError          one trace is corrupt, cut or inconsistent
        ├── SceneError              a scene package is malformed or unsafe
        ├── BddlError               a BDDL file does not parse, with its position
        ├── SpecificationError      an oracle or library has problems (all of them)
        └── DatabaseError           the verdict database cannot be used

A message names what is wrong, where, and what exists instead.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar


class MangoTraceError(Exception):
    """Base of every error that mango_trace raises on purpose.

    Attributes:
        exit_code: Process exit status that the command line gives for it.
    """

    exit_code: ClassVar[int] = 1


class UsageError(MangoTraceError):
    """The call itself is wrong: an option, a combination, a value."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that does not exist, with those that do.

    Args:
        kind: What was looked up, e.g. ``"query"``.
        name: The name that was given.
        known: Every name that would have been right.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        super().__init__(f"no {kind} {name!r}{suggest(name, self.known)}")


class BadInputError(MangoTraceError):
    """A file, dataset or document that was handed in is wrong."""

    exit_code = 3


class DatasetError(BadInputError):
    """A dataset cannot be read as one."""


class NewerFormatError(DatasetError):
    """The data was written by a newer version of the format than this program reads."""

    def __init__(self, where: str, found: int, supported: int) -> None:
        super().__init__(
            f"{where}: format version {found} is newer than {supported}, the newest this "
            "program reads; upgrade mango-trace"
        )


class TraceError(DatasetError):
    """One trace is corrupt, cut off or inconsistent; the others may be fine.

    Args:
        trace_id: Identifier of the trace.
        reason: What is wrong with it and where.
    """

    def __init__(self, trace_id: str, reason: str) -> None:
        self.trace_id = trace_id
        self.reason = reason
        super().__init__(f"trace {trace_id}: {reason}")


class SceneError(BadInputError):
    """A scene package is malformed, unsafe or does not match its hash."""


class BddlError(BadInputError):
    """A BDDL file does not parse.

    Args:
        message: What is wrong.
        line: 1-based line.
        column: 1-based column.
        source: Name of the file, if there is one.
    """

    def __init__(self, message: str, line: int, column: int, source: str = "<bddl>") -> None:
        self.line = line
        self.column = column
        super().__init__(f"{source}:{line}:{column}: {message}")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a specification.

    Attributes:
        path: Where, as a dotted path into the document, e.g. ``plan.1.actions.0``.
        message: What is wrong and what exists instead.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class SpecificationError(BadInputError):
    """An oracle or library has problems; all of them are listed at once.

    Args:
        source: Name of the document (a path, or a task).
        problems: Everything that is wrong, in document order.
    """

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__(f"{source}: {count}\n{lines}")


class DatabaseError(BadInputError):
    """The verdict database cannot be opened, read or written."""


def suggest(name: str, known: Sequence[str], limit: int = 12) -> str:
    """Say what exists instead of ``name``.

    Args:
        name: The name that was not found.
        known: The names that exist.
        limit: How many of them are listed when none is near.

    Returns:
        A text to append to ``no <kind> 'name'``: near matches, else the list.

    >>> suggest("basket_regoin", ["basket_region", "plate"])
    "; did you mean 'basket_region'?"
    >>> suggest("x", ["a", "b"])
    '; there are: a, b'
    """
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    if near:
        return f"; did you mean {' or '.join(repr(match) for match in near)}?"
    if not known:
        return "; there are none"
    listed = ", ".join(sorted(known)[:limit])
    rest = len(known) - limit
    return f"; there are: {listed}" + (f" and {rest} more" if rest > 0 else "")


QUOTED = 300
"""Most characters of foreign text in a message."""


def quote(text: str) -> str:
    r"""Quote foreign text for a message: escaped, and not longer than :data:`QUOTED`.

    >>> quote("two\nlines")
    "'two\\nlines'"
    """
    return repr(text if len(text) <= QUOTED else f"{text[:QUOTED]}...")
