"""JSON documents from outside: bounded, checked as a whole, every problem reported at once.

Nothing in a document is executed. Size, depth and the number of reported problems are limited, so
that a hostile file costs no more than a large one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from mango_trace.errors import Problem, SpecificationError, suggest

MAX_BYTES: Final = 1 << 20
"""Largest document that is read, in bytes of UTF-8."""

MAX_DEPTH: Final = 32
"""Deepest nesting of lists and objects."""

MAX_PROBLEMS: Final = 200
"""How many problems are listed; the rest is counted."""

WHOLE: Final = "whole"
"""Type of a validation error about several fields together; dropped when ``found`` says more."""

Location = tuple[str | int, ...]
"""Place in a document: field names and list indices from the top."""

_EMPTY: Final = {
    "any_of": "needs at least one entry: an empty disjunction would never hold",
    "parameters": "needs at least one name",
}
_NEEDED: Final = {
    "string_type": "text is needed",
    "int_type": "a whole number is needed",
    "int_from_float": "a whole number is needed",
    "bool_type": "true or false is needed",
    "tuple_type": "a list is needed",
    "model_type": "an object {...} is needed",
    "model_attributes_type": "an object {...} is needed",
}


class FrozenModel(BaseModel):
    """Base of all documents: immutable, no unknown fields, no coercion."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_by_name=True, defer_build=True
    )


AnyModel = TypeVar("AnyModel", bound=FrozenModel)


class _Object(dict[str, Any]):
    """A JSON object that remembers which of its keys were there more than once."""

    __slots__ = ("twice",)

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        # The common case has no duplicates; only then is the quadratic list worth it.
        self.twice: list[str] = []
        if len(self) != len(names):
            seen: set[str] = set()
            for name in names:
                if name in seen and name not in self.twice:
                    self.twice.append(name)
                seen.add(name)


def read_text(path: str | Path) -> bytes:
    """Read a document file, at most one byte more than is allowed.

    Raises:
        SpecificationError: If the file cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecificationError(str(path), [Problem("", f"cannot be read: {reason}")]) from error


def load(text: str | bytes, source: str) -> object:
    """Parse JSON from outside.

    Args:
        text: The document; bytes are UTF-8, with or without a byte order mark.
        source: Its name in messages.

    Returns:
        Plain dicts, lists and scalars.

    Raises:
        SpecificationError: If it is too large, too deep, not JSON (with line and column), or an
            object has a key twice (all of them, with their paths).
    """
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise _refuse(source, f"larger than {MAX_BYTES} bytes")
    try:
        decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        document: object = json.loads(decoded, object_pairs_hook=_Object, parse_int=_integer)
    except UnicodeDecodeError as error:
        raise _refuse(source, f"not UTF-8: byte {error.start} is wrong") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _refuse(source, f"not JSON: {error.msg} at {where}") from error
    except RecursionError as error:
        raise _refuse(source, f"nested deeper than {MAX_DEPTH} levels") from error
    problems: list[Problem] = []
    pending: list[tuple[Location, object]] = [((), document)]
    while pending:
        location, node = pending.pop()
        if len(location) > MAX_DEPTH:
            raise _refuse(source, f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(node, _Object):
            problems += [Problem(path(location), f"the field {name!r} is there twice") for name in node.twice]
            pending += [((*location, name), child) for name, child in reversed(node.items())]
        elif isinstance(node, list):
            pending += [((*location, i), node[i]) for i in reversed(range(len(node)))]
    if problems:
        raise SpecificationError(source, shorten(problems))
    return document


def validate(
    model: type[AnyModel],
    document: object,
    source: str,
    found: Sequence[tuple[Location, str]] = (),
) -> AnyModel:
    """Turn a parsed document into a model.

    Args:
        model: The model of the whole document.
        document: What :func:`load` gave.
        source: Its name in messages.
        found: Problems that the caller saw already; a location that has one is not reported again.

    Returns:
        The validated model.

    Raises:
        SpecificationError: With every problem, in document order.
    """
    problems = list(found)
    result: AnyModel | None = None
    try:
        result = model.model_validate(_tuples(document))
    except ValidationError as error:
        known = {location for location, _ in found}
        problems += [
            (detail["loc"], _message(model, detail))
            for detail in error.errors(include_url=False, include_context=True)
            if detail["loc"] not in known
            and not (found and detail["type"] == WHOLE)
            # Pydantic counts valid entries only: a list of wrong ones is not short.
            and not (detail["type"] == "too_short" and detail["input"])
        ]
    if result is None or problems:
        problems.sort(key=lambda problem: _position(document, problem[0]))
        raise SpecificationError(
            source, shorten([Problem(path(where), message) for where, message in problems])
        )
    return result


def path(location: Location) -> str:
    """Write a location as a dotted path.

    >>> path(("plan", 1, "actions"))
    'plan.1.actions'
    """
    return ".".join(map(str, location))


def shorten(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Keep the first problems and count the others."""
    rest = len(problems) - MAX_PROBLEMS
    if rest <= 0:
        return tuple(problems)
    return (*problems[:MAX_PROBLEMS], Problem("", f"and {rest} more problems"))


def describe(value: object) -> str:
    """Say what a JSON value is, shortly.

    >>> describe(True), describe(3), describe("x"), describe([1])
    ('true', 'the number 3', "the text 'x'", 'a list')
    """
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {value[:60]!r}"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


def _refuse(source: str, message: str) -> SpecificationError:
    return SpecificationError(source, [Problem("", message)])


def _integer(digits: str) -> int | float:
    # Very long integers are quadratic to convert and exceed every double anyway.
    return int(digits) if len(digits) <= 20 else float(digits)


def _tuples(node: object) -> object:
    """Make lists tuples: what strict models take. The depth is bounded by :func:`load`."""
    if isinstance(node, dict):
        return {name: _tuples(child) for name, child in node.items()}
    if isinstance(node, list | tuple):
        return tuple(_tuples(child) for child in node)
    return node


def _position(document: object, location: Location) -> tuple[int, ...]:
    """Sort key: where in the document a location is; missing fields come after the others."""
    position: list[int] = []
    node: Any = document
    for part in location:
        if isinstance(node, dict):
            position.append(list(node).index(part) if part in node else len(node))
            node = node.get(part)
        elif isinstance(node, list | tuple) and isinstance(part, int):
            position.append(part)
            node = node[part] if part < len(node) else None
        else:
            break
    return tuple(position)


def _message(model: type[BaseModel], detail: ErrorDetails) -> str:
    """Say in plain words what pydantic found."""
    kind, where, value = detail["type"], detail["loc"], detail["input"]
    context = detail.get("ctx", {})
    name = str(where[-1]) if where else ""
    if kind in _NEEDED:
        return f"{_NEEDED[kind]}, not {describe(value)}"
    match kind:
        case "extra_forbidden":
            fields = _fields(model, where[:-1])
            hint = suggest(name, fields)
            # A near match hides the others, which the reader may have meant as well.
            rest = f" (fields: {', '.join(fields)})" if "did you mean" in hint else ""
            return f"no field {name!r} here{hint}{rest}"
        case "missing":
            return "this field is missing"
        case "too_short":
            return _EMPTY.get(name, "needs at least one entry: an empty conjunction would always hold")
        case "string_too_short":
            return "must not be empty"
        case "string_too_long":
            return f"longer than {context['max_length']} characters"
        case "literal_error":
            return f"must be {context['expected']}, not {describe(value)}"
        case "greater_than_equal":
            return f"must be at least {context['ge']}, not {value}"
        case "less_than_equal":
            return f"must be at most {context['le']}, not {value}"
        case _:
            return detail["msg"]


def _fields(model: type[BaseModel], location: Location) -> tuple[str, ...]:
    """Field names, as a document spells them, of the model at a location."""
    for part in location:
        if isinstance(part, int):
            continue
        for name, field in model.model_fields.items():
            if part in (name, field.alias, field.validation_alias):
                model = _model_in(field.annotation) or model
                break
    return tuple(
        str(field.validation_alias or field.alias or name) for name, field in model.model_fields.items()
    )


def _model_in(annotation: object) -> type[BaseModel] | None:
    """Find the model in an annotation such as ``tuple[Step, ...] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        if (found := _model_in(argument)) is not None:
            return found
    return None
