"""Module II: from atomic tasks and the predicate catalogue to the library of atomic oracles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from generator.modules.tasks import Tasks, as_data
from generator.modules.variant import WHOLE, Variant
from generator.negotiation import Feedback, Outcome, Round, negotiate
from generator.replies import Assessment, OraclesReply, Ruling
from generator.team import Team
from mango_trace.errors import SpecificationError
from mango_trace.oracle import AtomicOracle, AtomicTask, parse_oracles
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.predicates.signature import Predicate

Oracles: TypeAlias = tuple[AtomicOracle, ...]


@dataclass(frozen=True, slots=True)
class LibraryOutcome:
    """What came of Module II.

    Attributes:
        oracles: All atomic oracles that are usable, in the order of the tasks.
        accepted: Whether the judge took the whole library.
        of_tasks: The last negotiation about each task's oracles, by task.
        rulings: What the judge decided about the library, round by round.
    """

    oracles: Oracles
    accepted: bool
    of_tasks: Mapping[str, Outcome[Oracles]]
    rulings: tuple[Ruling, ...]


def write_oracles(
    team: Team,
    tasks: Tasks,
    *,
    existing: Oracles = (),
    catalogue: Mapping[str, Predicate] = CATALOGUE,
    variant: Variant = WHOLE,
    progress: Callable[[str, int, Round[Oracles]], None] | None = None,
) -> LibraryOutcome:
    """Write atomic oracles for every task, then let the judge look at them together.

    Args:
        team: Who is asked.
        tasks: The atomic tasks.
        existing: Oracles that are there; their tasks are not written again unless the judge says so.
        catalogue: Predicates by name.
        variant: What takes part.
        progress: Called after each round about a task, with the task, the number and the round.

    Returns:
        The outcome.

    Raises:
        ModelError: A model could not be asked.
    """
    there = {task.id: tuple(oracle for oracle in existing if oracle.task_id == task.id) for task in tasks}
    of_tasks: dict[str, Outcome[Oracles]] = {}
    todo = {task.id for task in tasks if not there[task.id]}
    rulings: list[Ruling] = []
    for _ in range(variant.rounds[2]):
        for task in tasks:
            if task.id in todo:
                wishes = tuple(rulings[-1].corrections) if rulings else ()
                start = Feedback(there[task.id] or None, wishes)
                seen = None if progress is None else partial(progress, task.id)
                of_tasks[task.id] = _of_task(team, task, catalogue, variant, start, seen)
                there[task.id] = of_tasks[task.id].candidate or ()
        library = tuple(oracle for task in tasks for oracle in there[task.id])
        problems = problems_of(library, tasks, catalogue)
        if not variant.judge:
            return LibraryOutcome(library, not problems, of_tasks, ())
        inputs = {"tasks": as_data(tasks), "oracles": oracles_as_data(library), "problems": problems}
        rulings.append(team.ask("oracles.judge.library", inputs, Ruling))
        redo = [name for name in rulings[-1].redo if name in there]
        if rulings[-1].accepted and not problems:
            return LibraryOutcome(library, True, of_tasks, tuple(rulings))
        missing = [task.id for task in tasks if not there[task.id]]
        todo = {*redo, *missing} or {task.id for task in tasks}
    return LibraryOutcome(library, False, of_tasks, tuple(rulings))


def problems_of(oracles: Oracles, tasks: Tasks, catalogue: Mapping[str, Predicate]) -> list[str]:
    """What the program finds wrong: unknown predicates, wrong numbers of arguments, tasks left out."""
    problems = [
        f"task {task.id!r} has no atomic oracle"
        for task in tasks
        if not any(oracle.task_id == task.id for oracle in oracles)
    ]
    for oracle in oracles:
        for where, call in oracle.expression.calls():
            place = ".".join(map(str, (oracle.oracle_id, "expression", *where)))
            predicate = catalogue.get(str(call.function))
            if predicate is None:
                problems.append(f"{place}: no predicate {call.function!r}")
                continue
            count = len(call.arguments or ())
            if not predicate.required <= count <= len(predicate.parameters):
                problems.append(f"{place}: {count} arguments do not fit {predicate.signature()}")
            if predicate.result != "truth":
                problems.append(f"{place}: {predicate.name} is a number, and no condition")
    return problems


def catalogue_as_data(catalogue: Mapping[str, Predicate]) -> list[dict[str, str]]:
    """Predicates that may be conditions, as a model is told of them."""
    return [
        {"name": predicate.name, "signature": predicate.signature(), "doc": predicate.doc}
        for predicate in catalogue.values()
        if predicate.result == "truth"
    ]


def oracles_as_data(oracles: Oracles) -> list[dict[str, Any]]:
    """Atomic oracles as JSON data."""
    return [oracle.model_dump(mode="json", by_alias=True, exclude_none=True) for oracle in oracles]


def _of_task(
    team: Team,
    task: AtomicTask,
    catalogue: Mapping[str, Predicate],
    variant: Variant,
    start: Feedback[Oracles],
    progress: Callable[[int, Round[Oracles]], None] | None,
) -> Outcome[Oracles]:
    """Negotiate the oracles of one task with the assessor who tries to fool them."""
    about: dict[str, Any] = {"task": task.model_dump(mode="json"), "catalogue": catalogue_as_data(catalogue)}

    def write(feedback: Feedback[Oracles]) -> tuple[Oracles | None, Sequence[str]]:
        inputs = dict(about)
        told = feedback if feedback.previous is not None or feedback.instructions else start
        if told.previous is not None:
            inputs["previous"] = oracles_as_data(told.previous)
        if told.instructions:
            inputs["corrections"] = list(told.instructions)
        reply = team.ask("oracles.write", inputs, OraclesReply)
        try:
            text = reply.model_dump_json(by_alias=True, exclude_none=True)
            return parse_oracles(text, "reply"), ()
        except SpecificationError as error:
            return None, tuple(map(str, error.problems))

    def check(candidate: Oracles) -> Sequence[str]:
        others = [oracle.oracle_id for oracle in candidate if oracle.task_id != task.id]
        wrong = [f"oracle {name!r} is not of task {task.id!r}" for name in others]
        return [*wrong, *problems_of(candidate, (task,), catalogue)]

    def fool(candidate: Oracles) -> Assessment:
        inputs = {**about, "oracles": oracles_as_data(candidate)}
        return team.ask("oracles.assess.hacker", inputs, Assessment)

    def content(candidate: Oracles, assessments: Mapping[str, Assessment], problems: Sequence[str]) -> Ruling:
        """The assessor alone decides about one task: nothing may be left that fools the oracle."""
        issues = [issue for found in assessments.values() for issue in found.issues]
        return Ruling(accepted=not issues and not problems, corrections=issues, justification="")

    return negotiate(
        write,
        check,
        {"hacker": fool} if variant.assessors else {},
        content if variant.assessors else None,
        budget=variant.rounds[1],
        progress=progress,
    )
