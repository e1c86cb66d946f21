"""A reader for the part of BDDL that says what a task is about.

Reads instruction, rectangles on surfaces, initial premises and goal of a LIBERO problem file, in lower case
as the benchmark does. The grammar is that of nested lists; errors carry their position, and a file with an
unbalanced parenthesis or without a goal is refused: an empty conjunction would always hold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mango_trace.errors import BddlError

_TOKEN = re.compile(r"\s+|;[^\n]*|(?P<token>[()]|[^\s();]+)")
_MAX_DEPTH = 64
_OPEN, _CLOSE = "()"


@dataclass(frozen=True, slots=True)
class Literal:
    """One condition of a goal or premise, e.g. ``in(bowl_1, drawer)``.

    Attributes:
        predicate: Name of the predicate.
        arguments: Names of objects and regions.
    """

    predicate: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.predicate}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Where on a surface a reset may draw a place.

    Attributes:
        region: Name of the region, as premises and scenes write it.
        low: Smallest x and y, m, in the frame of the surface.
        high: Largest x and y, m.
    """

    region: str
    low: tuple[float, float]
    high: tuple[float, float]

    @property
    def center(self) -> tuple[float, float]:
        """Its middle, x and y in m."""
        return (self.low[0] + self.high[0]) / 2, (self.low[1] + self.high[1]) / 2


@dataclass(frozen=True, slots=True)
class Problem:
    """What a BDDL problem file says.

    Attributes:
        name: Problem class in the benchmark.
        instruction: Natural-language instruction.
        initial: Premises that should hold after the objects have settled.
        goal: Conditions whose conjunction is the goal; never empty.
        objects_of_interest: Names that the task is about.
        rectangles: Regions of surfaces, in the order of the file; those of fixtures and objects have none.
    """

    name: str
    instruction: str
    initial: tuple[Literal, ...]
    goal: tuple[Literal, ...]
    objects_of_interest: tuple[str, ...]
    rectangles: tuple[Rectangle, ...] = ()


@dataclass(slots=True)
class _Node:
    line: int
    column: int
    items: list[_Node | str] = field(default_factory=list)

    @property
    def head(self) -> str:
        return self.items[0] if self.items and isinstance(self.items[0], str) else ""


def parse_bddl(text: str, source: str = "<bddl>") -> Problem:
    """Read a BDDL problem.

    Args:
        text: Content of the file.
        source: Its name, for messages.

    Returns:
        The problem.

    Raises:
        BddlError: Unbalanced parentheses, something that is not a conjunction of conditions of
            one or two arguments, or no goal at all.
    """
    root = _read(unify_lines(text), source)
    if root.head != "define":
        raise BddlError("expected (define (problem ...) ...)", root.line, root.column, source)
    sections: dict[str, _Node] = {}
    for item in root.items[1:]:
        if isinstance(item, _Node):
            sections.setdefault(item.head, item)
    goal = sections.get(":goal")
    if goal is None:
        raise BddlError("no (:goal ...)", root.line, root.column, source)
    name = _words(sections.get("problem"))
    return Problem(
        name=name[-1] if name else "unknown",
        instruction=" ".join(_words(sections.get(":language"))),
        initial=tuple(_literals(sections.get(":init"), source)),
        goal=_goal(goal, source),
        objects_of_interest=tuple(_words(sections.get(":obj_of_interest"))),
        rectangles=tuple(_rectangles(sections.get(":regions"))),
    )


def unify_lines(text: str) -> str:
    """A text as the benchmark reads it: there a lone carriage return ends a line, and a comment."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _words(node: _Node | None) -> list[str]:
    return [item for item in node.items[1:] if isinstance(item, str)] if node else []


def _rectangles(node: _Node | None) -> Iterator[Rectangle]:
    """Regions with one rectangle of four finite numbers; the benchmark alone cares what the others mean."""
    for region in _nodes(node):
        parts = {part.head: part for part in _nodes(region)}
        target = _words(parts.get(":target"))
        boxes = [box for group in _nodes(parts.get(":ranges")) for box in _nodes(group)]
        if len(target) != 1 or len(boxes) != 1:
            continue
        try:
            x0, y0, x1, y1 = (float(str(item)) for item in boxes[0].items)
        except ValueError:
            continue
        if all(map(math.isfinite, (x0, y0, x1, y1))):
            yield Rectangle(f"{target[0]}_{region.head}", (x0, y0), (x1, y1))


def _nodes(node: _Node | None) -> list[_Node]:
    return [item for item in node.items if isinstance(item, _Node)] if node else []


def _goal(node: _Node, source: str) -> tuple[Literal, ...]:
    """Conditions of the goal: one literal, or a conjunction of them."""
    body = node.items[1:]
    if len(body) != 1 or not isinstance(body[0], _Node):
        raise BddlError("a goal is one condition or (And ...) of conditions", node.line, node.column, source)
    inner = body[0]
    literals = tuple(_literals(inner, source)) if inner.head == "and" else (_literal(inner, source),)
    if not literals:
        raise BddlError(
            "the goal is empty; an empty conjunction would always hold",
            inner.line,
            inner.column,
            source,
        )
    return literals


def _literals(node: _Node | None, source: str) -> Iterator[Literal]:
    for item in node.items[1:] if node else ():
        if isinstance(item, str):
            assert node is not None
            raise BddlError(
                f"expected a condition in parentheses, found {item!r}",
                node.line,
                node.column,
                source,
            )
        yield _literal(item, source)


def _literal(node: _Node, source: str) -> Literal:
    words = [item for item in node.items if isinstance(item, str)]
    if len(words) != len(node.items) or len(words) not in (2, 3):
        raise BddlError(
            f"a condition is a predicate with one or two names, found {_show(node)}",
            node.line,
            node.column,
            source,
        )
    return Literal(words[0], tuple(words[1:]))


def _show(node: _Node) -> str:
    parts = (item if isinstance(item, str) else _show(item) for item in node.items)
    return f"({' '.join(parts)})"


def _read(text: str, source: str) -> _Node:
    """Read exactly one nested list."""
    stack: list[_Node] = []
    root: _Node | None = None
    position, line, start = 0, 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None  # every character is one of the three kinds
        token = match.group("token")
        column = position - start + 1
        newlines = match.group().count("\n")
        if newlines:
            line += newlines
            start = position + match.group().rindex("\n") + 1
        position = match.end()
        if token is None:
            continue
        if root is not None and not stack:
            raise BddlError(f"unexpected {token!r} after the end", line, column, source)
        if token == _OPEN:
            node = _Node(line, column)
            if stack:
                stack[-1].items.append(node)
            stack.append(node)
            if len(stack) > _MAX_DEPTH:
                raise BddlError(f"nested deeper than {_MAX_DEPTH}", line, column, source)
        elif not stack:
            raise BddlError(f"expected '(', found {token!r}", line, column, source)
        elif token == _CLOSE:
            root = stack.pop()
        else:
            stack[-1].items.append(token.lower())  # the benchmark folds the whole file
    if stack:
        raise BddlError("this '(' is never closed", stack[-1].line, stack[-1].column, source)
    if root is None:
        raise BddlError("the file is empty", 1, 1, source)
    return root
