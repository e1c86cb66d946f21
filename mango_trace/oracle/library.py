"""The two libraries of an environment: atomic tasks, and atomic oracles over predicates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from mango_trace.errors import Problem, SpecificationError, UnknownNameError, suggest
from mango_trace.oracle.document import (
    FrozenModel,
    Location,
    load,
    read_text,
    shorten,
    validate,
)
from mango_trace.oracle.model import Name, Text, Value

MAX_EXPRESSION_DEPTH: Final = 8
"""Deepest nesting of a logical expression; one call alone has depth 1."""

Kind: TypeAlias = Literal["oracle", "atomic_tasks", "atomic_oracles"]
"""Kind of a document."""

_SIGNS: Final[Mapping[str, Kind]] = {
    "plan": "oracle",
    "atomic_tasks": "atomic_tasks",
    "atomic_oracles": "atomic_oracles",
}


class AtomicTask(FrozenModel):
    """One entry of the atomic task library.

    Attributes:
        id: Its name; an oracle's ``action_id``.
        description: What the robot does.
        parameters: Names of its parameters.
        preconditions: What must hold before, for people.
        postconditions: What must hold after, for people.
    """

    id: Name
    description: Text
    parameters: tuple[Name, ...]
    preconditions: tuple[Text, ...]
    postconditions: tuple[Text, ...]


class Expression(FrozenModel):
    """A logical expression over predicates: exactly one of a call, all_of, any_of, not.

    Attributes:
        all_of: Holds when all of these hold.
        any_of: Holds when one of these holds.
        not_: Holds when this does not; written ``not`` in a document.
        function: Predicate of a call.
        arguments: Its arguments: names of parameters of the atomic oracle, and numbers.
    """

    all_of: Annotated[tuple[Expression, ...] | None, Field(min_length=1)] = None
    any_of: Annotated[tuple[Expression, ...] | None, Field(min_length=1)] = None
    not_: Annotated[Expression | None, Field(validation_alias="not", serialization_alias="not")] = None
    function: Name | None = None
    arguments: tuple[Value, ...] | None = None

    @model_validator(mode="after")
    def _check_form(self) -> Expression:
        given = [
            name
            for name, part in (
                ("all_of", self.all_of),
                ("any_of", self.any_of),
                ("not", self.not_),
                ("function", self.function),
            )
            if part is not None
        ]
        if len(given) != 1:
            have = f", not {' and '.join(given)}" if given else ""
            raise PydanticCustomError(
                "form", "needs exactly one of all_of, any_of, not, function{have}", {"have": have}
            )
        if (self.function is None) != (self.arguments is None):
            raise PydanticCustomError("form", "function and arguments go together")
        return self

    @property
    def depth(self) -> int:
        """Levels of nesting; one call alone has depth 1."""
        return 1 + max((child.depth for _, child in self._children()), default=0)

    @property
    def functions(self) -> tuple[str, ...]:
        """Every predicate that occurs, each once, in document order."""
        return tuple(dict.fromkeys(call.function for _, call in self.calls() if call.function))

    def calls(self, location: Location = ()) -> Iterator[tuple[Location, Expression]]:
        """Go through the calls in document order.

        Args:
            location: Where this expression is.

        Yields:
            Place and call; each has ``function`` and ``arguments``.
        """
        if self.function is not None:
            yield location, self
        for where, child in self._children():
            yield from child.calls((*location, *where))

    def _children(self) -> Iterator[tuple[Location, Expression]]:
        for index, child in enumerate(self.all_of or ()):
            yield ("all_of", index), child
        for index, child in enumerate(self.any_of or ()):
            yield ("any_of", index), child
        if self.not_ is not None:
            yield ("not",), self.not_


class AtomicOracle(FrozenModel):
    """One entry of the atomic oracle library.

    Attributes:
        task_id: The atomic task whose end it recognises.
        oracle_id: Its name.
        description: What it says.
        parameters: Names of its parameters.
        expression: When it holds.
    """

    task_id: Name
    oracle_id: Name
    description: Text
    parameters: tuple[Name, ...]
    expression: Expression


class TaskDocument(FrozenModel):
    """The file ``{"atomic_tasks": [...]}``."""

    atomic_tasks: Annotated[tuple[AtomicTask, ...], Field(max_length=10_000)]


class OracleDocument(FrozenModel):
    """The file ``{"atomic_oracles": [...]}``."""

    atomic_oracles: Annotated[tuple[AtomicOracle, ...], Field(max_length=10_000)]


@dataclass(frozen=True, slots=True)
class Libraries:
    """Both libraries of an environment.

    Attributes:
        tasks: Atomic tasks.
        oracles: Atomic oracles.
    """

    tasks: tuple[AtomicTask, ...]
    oracles: tuple[AtomicOracle, ...]

    def task(self, task_id: str) -> AtomicTask:
        """Look up an atomic task.

        Raises:
            UnknownNameError: If there is none of that name.
        """
        for task in self.tasks:
            if task.id == task_id:
                return task
        raise UnknownNameError("atomic task", task_id, [task.id for task in self.tasks])

    def oracle(self, oracle_id: str) -> AtomicOracle:
        """Look up an atomic oracle.

        Raises:
            UnknownNameError: If there is none of that name.
        """
        for oracle in self.oracles:
            if oracle.oracle_id == oracle_id:
                return oracle
        known = [oracle.oracle_id for oracle in self.oracles]
        raise UnknownNameError("atomic oracle", oracle_id, known)

    def oracles_of(self, task_id: str) -> tuple[AtomicOracle, ...]:
        """Atomic oracles of one task, in document order."""
        return tuple(oracle for oracle in self.oracles if oracle.task_id == task_id)


def parse_tasks(text: str | bytes, source: str) -> tuple[AtomicTask, ...]:
    """Read an atomic task library from JSON.

    Args:
        text: The document.
        source: Its name in messages.

    Returns:
        The tasks in document order.

    Raises:
        SpecificationError: With every problem and its dotted path.
    """
    tasks = validate(TaskDocument, load(text, source), source).atomic_tasks
    problems = _repeated("atomic_tasks", "id", [task.id for task in tasks])
    for index, task in enumerate(tasks):
        problems += _repeated_parameters(("atomic_tasks", index), task.parameters)
    _raise(source, problems)
    return tasks


def parse_oracles(text: str | bytes, source: str) -> tuple[AtomicOracle, ...]:
    """Read an atomic oracle library from JSON.

    Args:
        text: The document.
        source: Its name in messages.

    Returns:
        The atomic oracles in document order.

    Raises:
        SpecificationError: With every problem and its dotted path.
    """
    oracles = validate(OracleDocument, load(text, source), source).atomic_oracles
    problems = _repeated("atomic_oracles", "oracle_id", [oracle.oracle_id for oracle in oracles])
    for index, oracle in enumerate(oracles):
        problems += _oracle_problems(("atomic_oracles", index), oracle)
    _raise(source, problems)
    return oracles


def read_tasks(path: str | Path) -> tuple[AtomicTask, ...]:
    """Read an atomic task library file; raises :class:`SpecificationError`."""
    return parse_tasks(read_text(path), str(path))


def read_oracles(path: str | Path) -> tuple[AtomicOracle, ...]:
    """Read an atomic oracle library file; raises :class:`SpecificationError`."""
    return parse_oracles(read_text(path), str(path))


def link(tasks: Sequence[AtomicTask], oracles: Sequence[AtomicOracle], *, source: str) -> Libraries:
    """Put both libraries together.

    Args:
        tasks: Atomic tasks.
        oracles: Atomic oracles.
        source: Name of the oracle library in messages.

    Returns:
        Both.

    Raises:
        SpecificationError: With every atomic oracle whose task does not exist.
    """
    known = [task.id for task in tasks]
    _raise(
        source,
        [
            Problem(
                f"atomic_oracles.{index}.task_id",
                f"no atomic task {oracle.task_id!r}{suggest(oracle.task_id, known)}",
            )
            for index, oracle in enumerate(oracles)
            if oracle.task_id not in known
        ],
    )
    return Libraries(tuple(tasks), tuple(oracles))


def sniff(document: object, source: str = "document") -> Kind:
    """Tell what kind of file a parsed document is, by its top-level fields.

    Args:
        document: Parsed JSON.
        source: Its name in messages.

    Returns:
        The kind.

    Raises:
        SpecificationError: If it is none, or more than one.
    """
    fields = document if isinstance(document, Mapping) else {}
    kinds = [kind for field, kind in _SIGNS.items() if field in fields]
    if len(kinds) != 1:
        found = " and ".join(kinds) if kinds else "none of them"
        wanted = "an oracle ('plan'), 'atomic_tasks' or 'atomic_oracles' is needed"
        raise SpecificationError(source, [Problem("", f"{wanted}; this has {found}")])
    return kinds[0]


def _oracle_problems(location: Location, oracle: AtomicOracle) -> list[Problem]:
    problems = _repeated_parameters(location, oracle.parameters)
    here = ".".join(map(str, location)) + ".expression"
    if (depth := oracle.expression.depth) > MAX_EXPRESSION_DEPTH:
        problems.append(Problem(here, f"nested {depth} levels deep; the limit is {MAX_EXPRESSION_DEPTH}"))
    for where, call in oracle.expression.calls():
        for index, value in enumerate(call.arguments or ()):
            place = ".".join([here, *map(str, where), "arguments", str(index)])
            if isinstance(value, bool):
                problems.append(Problem(place, "a boolean is no argument of a predicate"))
            elif isinstance(value, str) and value not in oracle.parameters:
                hint = suggest(value, oracle.parameters)
                problems.append(Problem(place, f"no parameter {value!r}{hint}"))
    return problems


def _repeated_parameters(location: Location, parameters: Sequence[str]) -> list[Problem]:
    return [
        Problem(
            ".".join(map(str, (*location, "parameters", index))),
            f"the parameter {name!r} is there twice",
        )
        for index, name in enumerate(parameters)
        if name in parameters[:index]
    ]


def _repeated(top: str, field: str, names: Sequence[str]) -> list[Problem]:
    first: dict[str, int] = {}
    problems: list[Problem] = []
    for index, name in enumerate(names):
        if first.setdefault(name, index) != index:
            message = f"{name!r} is already the {field} of {top}.{first[name]}"
            problems.append(Problem(f"{top}.{index}.{field}", message))
    return problems


def _raise(source: str, problems: Sequence[Problem]) -> None:
    if problems:
        raise SpecificationError(source, shorten(problems))
