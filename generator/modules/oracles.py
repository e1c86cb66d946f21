"""Module II: from atomic tasks and the predicate catalogue to the library of atomic oracles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from generator.modules.parallel import each
from generator.modules.tasks import Tasks, as_data
from generator.modules.variant import WHOLE, Variant
from generator.negotiation import Feedback, Outcome, negotiate
from generator.progress import LIBRARY, Progress, RoundReport, one_at_a_time, rounds_of
from generator.replies import Assessment, OraclesReply, Ruling
from generator.team import Team
from mango_trace.errors import MangoTraceError, SpecificationError
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
        errors: Why there was no negotiation to the end about some tasks, in the order of the tasks. They have
            no oracles, and the judge was not asked about a library without them.
    """

    oracles: Oracles
    accepted: bool
    of_tasks: Mapping[str, Outcome[Oracles]]
    rulings: tuple[Ruling, ...]
    errors: Mapping[str, MangoTraceError] = field(default_factory=dict)


def write_oracles(
    team: Team,
    tasks: Tasks,
    *,
    existing: Oracles = (),
    catalogue: Mapping[str, Predicate] = CATALOGUE,
    variant: Variant = WHOLE,
    progress: Progress | None = None,
) -> LibraryOutcome:
    """Write atomic oracles for every task, all tasks at once, then let the judge look at them together.

    What is asked about a task depends on no other task of the round, so neither their order nor how many are
    written at once changes the outcome. An error about one of them ends no other.

    Args:
        team: Who is asked.
        tasks: The atomic tasks.
        existing: Oracles that are there; their tasks are not written again unless the judge says so.
        catalogue: Predicates by name.
        variant: What takes part.
        progress: Called after each round about a task, and after each ruling about the library.

    Returns:
        The outcome.

    Raises:
        ModelError: The judge of the library could not be asked.
    """
    progress = one_at_a_time(progress)
    there = {task.id: tuple(oracle for oracle in existing if oracle.task_id == task.id) for task in tasks}
    of_tasks: dict[str, Outcome[Oracles]] = {}
    todo = {task.id for task in tasks if not there[task.id]}
    rulings: list[Ruling] = []
    problems: list[str] = []
    for number in range(1, variant.rounds[2] + 1):
        wishes = tuple(dict.fromkeys((*problems, *rulings[-1].corrections))) if rulings else ()
        errors: dict[str, MangoTraceError] = {}
        asked = [task for task in tasks if task.id in todo]
        turns = (number - 1) * variant.rounds[1]  # of earlier rounds
        given = [(task, Feedback(there[task.id] or None, wishes, turns)) for task in asked]
        write = partial(_of_task, team, catalogue, variant, progress)
        for task, found in zip(asked, each(team, write, given), strict=True):
            if isinstance(found, MangoTraceError):
                errors[task.id], there[task.id] = found, ()
            else:
                of_tasks[task.id], there[task.id] = found, found.candidate or ()
        library = tuple(oracle for task in tasks for oracle in there[task.id])
        if errors:
            return LibraryOutcome(library, False, of_tasks, tuple(rulings), errors)
        problems = problems_of(library, tasks, catalogue)
        if not variant.judge:
            return LibraryOutcome(library, not problems, of_tasks, ())
        inputs = {"tasks": as_data(tasks), "oracles": oracles_as_data(library), "problems": problems}
        rulings.append(team.ask("oracles.judge.library", inputs, Ruling))
        accepted = rulings[-1].accepted and not problems
        if progress is not None:
            progress(RoundReport("II", LIBRARY, number, {}, len(problems), accepted))
        if accepted:
            return LibraryOutcome(library, True, of_tasks, tuple(rulings))
        redo = [name for name in rulings[-1].redo if name in there]
        missing = [task.id for task in tasks if not there[task.id]]
        todo = {*redo, *missing} or {task.id for task in tasks}
    return LibraryOutcome(library, False, of_tasks, tuple(rulings))


def problems_of(oracles: Oracles, tasks: Tasks, catalogue: Mapping[str, Predicate]) -> list[str]:
    """What the program finds wrong: tasks left out, names given twice, calls that no predicate takes."""
    problems = [
        f"task {task.id!r} has no atomic oracle"
        for task in tasks
        if not any(oracle.task_id == task.id for oracle in oracles)
    ]
    owners: dict[str, str] = {}
    for oracle in oracles:
        owner = owners.setdefault(oracle.oracle_id, oracle.task_id)
        if owner != oracle.task_id:
            problems.append(
                f"{oracle.oracle_id}: the name of an oracle of task {owner!r} and of {oracle.task_id!r}"
            )
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
    catalogue: Mapping[str, Predicate],
    variant: Variant,
    progress: Progress | None,
    given: tuple[AtomicTask, Feedback[Oracles]],
) -> Outcome[Oracles] | MangoTraceError:
    """Negotiate the oracles of one task with the assessor who tries to fool them, or say why not."""
    task, start = given
    about: dict[str, Any] = {"task": task.model_dump(mode="json"), "catalogue": catalogue_as_data(catalogue)}

    def write(feedback: Feedback[Oracles]) -> tuple[Oracles | None, Sequence[str]]:
        inputs = dict(about)
        told = feedback if feedback.previous is not None or feedback.instructions else start
        if told.previous is not None:
            inputs["previous"] = oracles_as_data(told.previous)
        if told.instructions:
            inputs["corrections"] = list(told.instructions)
        reply = team.ask("oracles.write", inputs, OraclesReply, start.turn + feedback.turn)
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

    try:
        return negotiate(
            write,
            check,
            {"hacker": fool} if variant.assessors else {},
            content if variant.assessors else None,
            budget=variant.rounds[1],
            progress=rounds_of(progress, "II", task.id),
        )
    except MangoTraceError as error:
        return error
