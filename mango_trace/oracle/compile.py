"""From an oracle document to something that can be judged: names, kinds and ranges checked.

Compiling needs no trace. Every problem is found before any state is read, so a misspelt name can
never look like a policy that always fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from mango_trace.errors import Problem, SpecificationError, UnknownNameError, suggest
from mango_trace.oracle.compiled import (
    Argument,
    CompiledAction,
    CompiledMonitor,
    CompiledOracle,
    Group,
)
from mango_trace.oracle.document import Location, describe, shorten
from mango_trace.oracle.document import path as dotted
from mango_trace.oracle.library import Libraries
from mango_trace.oracle.model import Action, FineGrainedOracle, Monitor
from mango_trace.predicates.signature import Parameter, Predicate
from mango_trace.scene.kinds import ArgumentKind

__all__ = [
    "Argument",
    "CompiledAction",
    "CompiledMonitor",
    "CompiledOracle",
    "Group",
    "Names",
    "compile_oracle",
]


class Names(Protocol):
    """What compiling needs to know of a scene."""

    def kind_of(self, name: str) -> ArgumentKind | None:
        """Kind of a name, or ``None`` if the scene has no such name."""

    def names(self, kind: ArgumentKind) -> tuple[str, ...]:
        """Every name of a kind."""


def compile_oracle(
    oracle: FineGrainedOracle,
    scene: Names,
    catalogue: Mapping[str, Predicate],
    libraries: Libraries | None,
    *,
    name: str,
) -> CompiledOracle:
    """Check an oracle against a scene, the predicate catalogue and the libraries.

    Args:
        oracle: The document.
        scene: Names that exist.
        catalogue: Predicates by name.
        libraries: Atomic tasks and oracles; ``None`` leaves ids unchecked.
        name: Name of the oracle in messages.

    Returns:
        The compiled oracle.

    Raises:
        SpecificationError: With every problem and its dotted path.
    """
    compiler = _Compiler(scene, catalogue, libraries)
    groups: list[Group] = []
    compiler.require("plan", oracle.plan)
    for i, step in enumerate(oracle.plan):
        where: Location = ("plan", i, "actions")
        compiler.require(dotted(where), step.actions)
        first = len(compiler.actions)
        for j, action in enumerate(step.actions):
            compiler.add_action((*where, j), step.step, action)
        children = tuple(range(first, len(compiler.actions)))
        groups.append(Group(step.execution_mode, children))
    never = compiler.bind_all(("never",), oracle.never)
    compiler.check_satisfiable(never)
    if compiler.problems:
        raise SpecificationError(name, shorten(compiler.problems))
    return CompiledOracle(
        name=name,
        digest=oracle.digest,
        oracle=oracle,
        monitors=tuple(compiler.monitors),
        actions=tuple(compiler.actions),
        root=Group(oracle.execution_mode, tuple(groups)),
        never=tuple(index for _, index in never),
    )


_Bound: TypeAlias = list[tuple[Location, int]]


@dataclass(slots=True)
class _Compiler:
    """Collects monitors, actions and problems of one oracle."""

    scene: Names
    catalogue: Mapping[str, Predicate]
    libraries: Libraries | None
    problems: list[Problem] = field(default_factory=list)
    monitors: list[CompiledMonitor] = field(default_factory=list)
    actions: list[CompiledAction] = field(default_factory=list)
    indices: dict[str, int] = field(default_factory=dict)
    places: list[Location] = field(default_factory=list)

    def report(self, where: Location, message: str) -> None:
        self.problems.append(Problem(dotted(where), message))

    def require(self, where: str, children: Sequence[object]) -> None:
        # The model refuses this already, but copies of a model are not validated.
        if not children:
            self.problems.append(
                Problem(where, "needs at least one entry: an empty conjunction would always hold")
            )

    def add_action(self, where: Location, step: int, action: Action) -> None:
        self.check_task(where, action)
        for i, name in enumerate(action.parameters):
            if self.scene.kind_of(name) is None:
                known = [name for kind in ArgumentKind for name in self.scene.names(kind)]
                message = f"no name {name!r} in the scene{suggest(name, known)}"
                self.report((*where, "parameters", i), message)
        self.require(dotted((*where, "monitoring")), action.monitoring)
        bound = self.bind_all((*where, "monitoring"), action.monitoring)
        if not 1 <= action.hold <= 1_000_000:
            self.report((*where, "hold"), f"must be at least 1, not {action.hold}")
        self.places.append(where)
        self.actions.append(
            CompiledAction(
                index=len(self.actions),
                step=step,
                action_id=action.action_id,
                parameters=action.parameters,
                monitors=tuple(index for _, index in bound),
                hold=action.hold,
                at_end=action.at_end,
            )
        )

    def check_task(self, where: Location, action: Action) -> None:
        if self.libraries is None:
            return
        try:
            task = self.libraries.task(action.action_id)
        except UnknownNameError as error:
            self.report((*where, "action_id"), str(error))
            return
        if len(task.parameters) != len(action.parameters):
            wanted = f"{task.id}({', '.join(task.parameters)})"
            self.report(
                (*where, "parameters"),
                f"{wanted} takes {_count(len(task.parameters), 'parameter')}, not {len(action.parameters)}",
            )

    def bind_all(self, where: Location, monitors: Sequence[Monitor]) -> _Bound:
        """Bind the monitors of one list; refuse repetitions and contradictions in it."""
        bound: _Bound = []
        never = where[0] == "never"
        for i, monitor in enumerate(monitors):
            here = (*where, i)
            self.check_atomic_oracle(here, monitor)
            compiled = self.bind((*here, "handle_as"), monitor)
            if compiled is None:
                continue
            for place, index in bound:
                other = self.monitors[index]
                if other.key == compiled.key:
                    self.report(here, f"{compiled.key} is already monitored at {dotted(place)}")
                    break
                if other.call == compiled.call:
                    reason = (
                        "one of both is always true, so these invariants can never hold"
                        if never
                        else "an action that needs both can never hold"
                    )
                    self.report(here, f"contradicts {dotted(place)}: {reason}")
                    break
            else:
                bound.append((here, self.index_of(compiled)))
        return bound

    def check_atomic_oracle(self, where: Location, monitor: Monitor) -> None:
        if self.libraries is None:
            return
        try:
            atomic = self.libraries.oracle(monitor.oracle_id)
        except UnknownNameError as error:
            self.report((*where, "oracle_id"), str(error))
            return
        function, used = monitor.handle_as.function, atomic.expression.functions
        if function not in used:
            self.report(
                (*where, "handle_as", "function"),
                f"{function!r} is not part of atomic oracle {monitor.oracle_id!r}, "
                f"which uses {', '.join(used)}",
            )

    def bind(self, where: Location, monitor: Monitor) -> CompiledMonitor | None:
        call = monitor.handle_as
        predicate = self.catalogue.get(call.function)
        if predicate is None:
            message = f"no predicate {call.function!r}{suggest(call.function, [*self.catalogue])}"
            self.report((*where, "function"), message)
            return None
        count = len(self.problems)
        if predicate.result != "truth":
            self.report(
                (*where, "function"),
                f"{predicate.name} gives a {predicate.result}, not true or false; "
                "a monitor needs a predicate, such as one with a threshold",
            )
        given, most = len(call.arguments), len(predicate.parameters)
        if not predicate.required <= given <= most:
            wanted = (
                _count(most, "argument")
                if predicate.required == most
                else f"{predicate.required} to {_count(most, 'argument')}"
            )
            message = f"{predicate.signature()} takes {wanted}, not {given}"
            self.report((*where, "arguments"), message)
        arguments: list[Argument] = []
        for i, (parameter, value) in enumerate(zip(predicate.parameters, call.arguments, strict=False)):
            if fault := self.fault(predicate, parameter, value):
                self.report((*where, "arguments", i), fault)
            arguments.append(value if isinstance(value, str) else float(value))
        if len(self.problems) > count:
            return None
        arguments += [p.default for p in predicate.parameters[given:] if p.default is not None]
        if predicate.check is not None and (fault := predicate.check(self.scene, *arguments)):
            self.report((*where, "arguments"), fault)
            return None
        return CompiledMonitor(predicate, tuple(arguments), monitor.negate)

    def fault(self, predicate: Predicate, parameter: Parameter, value: object) -> str | None:
        """Say why a value does not fit a parameter."""
        if isinstance(value, bool):
            wanted = "a number" if parameter.is_number else "a name"
            return f"{parameter.name} needs {wanted}, not {describe(value)}"
        if parameter.is_number:
            if isinstance(value, int | float):
                fault = parameter.fault(float(value))
                return f"{parameter.name} {fault}" if fault else None
            return f"{parameter.name} needs a number without quotes, not {describe(value)}"
        kinds = " or ".join(parameter.kinds)
        if not isinstance(value, str):
            return f"{parameter.name} needs the name of {_article(kinds)}, not {describe(value)}"
        known = [name for kind in parameter.kinds for name in self.scene.names(kind)]
        kind = self.scene.kind_of(value)
        if kind is None:
            return f"no {kinds} {value!r}{suggest(value, known)}"
        if kind not in parameter.kinds:
            return (
                f"{value!r} is {_article(kind)}; {parameter.name} of {predicate.name} needs "
                f"{_article(kinds)}{suggest(value, known)}"
            )
        return None

    def index_of(self, monitor: CompiledMonitor) -> int:
        index = self.indices.setdefault(monitor.key, len(self.monitors))
        if index == len(self.monitors):
            self.monitors.append(monitor)
        return index

    def check_satisfiable(self, never: _Bound) -> None:
        """Refuse what no trace can pass: a forbidden monitor, or opposite ends."""
        forbidden = {index: place for place, index in never}
        ends: dict[str, tuple[Location, str]] = {}
        for where, index, action in self.uses():
            monitor = self.monitors[index]
            if index in forbidden:
                self.report(
                    where,
                    f"needs {monitor.key}, which {dotted(forbidden[index])} forbids: this can never hold",
                )
            if action.at_end:
                place, key = ends.setdefault(monitor.call, (where, monitor.key))
                if key != monitor.key:
                    message = f"contradicts {dotted(place)}: both must hold at the end"
                    self.report(where, message)

    def uses(self) -> Iterator[tuple[Location, int, CompiledAction]]:
        for where, action in zip(self.places, self.actions, strict=True):
            for index in action.monitors:
                yield where, index, action


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
