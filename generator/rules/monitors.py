"""From atomic oracles of a library to monitors with names of a scene."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mango_trace.errors import Problem, SpecificationError
from mango_trace.oracle import AtomicOracle, Expression, Libraries, Monitor
from mango_trace.oracle.model import Handle


def monitors_of(libraries: Libraries, oracle_id: str, names: Mapping[str, str]) -> tuple[Monitor, ...]:
    """Write an atomic oracle as monitors, whose conjunction it is.

    Args:
        libraries: Where the atomic oracle is.
        oracle_id: Its name.
        names: Name in the scene of each of its parameters.

    Returns:
        One monitor for each call, in document order.

    Raises:
        UnknownNameError: The library has no such atomic oracle.
        SpecificationError: It is no conjunction of calls, or has another parameter.
    """
    atomic = libraries.oracle(oracle_id)
    if missing := [name for name in atomic.parameters if name not in names]:
        known = ", ".join(names)
        raise _refusal(atomic, f"its parameters {', '.join(missing)} are not known; there are: {known}")
    return tuple(
        Monitor(
            oracle_id=oracle_id,
            handle_as=Handle(
                function=str(call.function),
                arguments=tuple(
                    names[value] if isinstance(value, str) else value for value in call.arguments or ()
                ),
            ),
            negate=negate,
        )
        for call, negate in _conjunction(atomic, atomic.expression)
    )


def _conjunction(atomic: AtomicOracle, expression: Expression) -> Iterator[tuple[Expression, bool]]:
    """Calls that must hold together, each with whether it is negated."""
    if expression.function is not None:
        yield expression, False
    elif expression.not_ is not None and expression.not_.function is not None:
        yield expression.not_, True
    elif expression.all_of is not None:
        for part in expression.all_of:
            yield from _conjunction(atomic, part)
    else:
        raise _refusal(
            atomic, "monitors are a conjunction; any_of and negated groups cannot be written as one"
        )


def _refusal(atomic: AtomicOracle, message: str) -> SpecificationError:
    return SpecificationError("atomic oracles", [Problem(atomic.oracle_id, message)])
