"""Module I: from instructions to the library of atomic tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from generator.modules.variant import WHOLE, Variant
from generator.negotiation import Feedback, Outcome, negotiate
from generator.progress import LIBRARY, Progress, rounds_of
from generator.replies import Assessment, Ruling, TasksReply
from generator.team import Team
from mango_trace.errors import SpecificationError
from mango_trace.oracle import AtomicTask, parse_tasks

Tasks: TypeAlias = tuple[AtomicTask, ...]

ASSESSORS: Final = ("atomicity", "redundancy", "repetition")


def write_tasks(
    team: Team,
    instructions: Sequence[str],
    *,
    existing: Tasks = (),
    variant: Variant = WHOLE,
    progress: Progress | None = None,
) -> Outcome[Tasks]:
    """Write the library of atomic tasks for some instructions.

    Args:
        team: Who is asked.
        instructions: What robots are told.
        existing: A library that is extended: its tasks are kept.
        variant: What takes part.
        progress: Called after each round.

    Returns:
        The outcome; an accepted library has every existing task as it was.

    Raises:
        ModelError: A model could not be asked.
    """
    about: dict[str, Any] = {"instructions": list(instructions), "existing": as_data(existing)}

    def write(feedback: Feedback[Tasks]) -> tuple[Tasks | None, Sequence[str]]:
        inputs = dict(about)
        if feedback.previous is not None:
            inputs["previous"] = as_data(feedback.previous)
        if feedback.instructions:
            inputs["corrections"] = list(feedback.instructions)
        reply = team.ask("tasks.write", inputs, TasksReply, feedback.turn)
        try:
            return parse_tasks(reply.model_dump_json(), "reply"), ()
        except SpecificationError as error:
            return None, tuple(map(str, error.problems))

    def check(candidate: Tasks) -> Sequence[str]:
        by_id = {task.id: task for task in candidate}
        problems = [
            f"task {task.id!r} is there already and must stay"
            for task in existing
            if by_id.get(task.id) != task
        ]
        return problems if candidate else [*problems, "the library is empty"]

    def assess(aspect: str, candidate: Tasks) -> Assessment:
        inputs = {**about, "library": as_data(candidate)}
        return team.ask(f"tasks.assess.{aspect}", inputs, Assessment)

    def judge(candidate: Tasks, assessments: Mapping[str, Assessment], problems: Sequence[str]) -> Ruling:
        inputs = {
            **about,
            "library": as_data(candidate),
            "assessments": {name: found.model_dump() for name, found in assessments.items()},
            "problems": list(problems),
        }
        return team.ask("tasks.judge", inputs, Ruling)

    return negotiate(
        write,
        check,
        {aspect: partial(assess, aspect) for aspect in ASSESSORS} if variant.assessors else {},
        judge if variant.judge else None,
        budget=variant.rounds[0],
        progress=rounds_of(progress, "I", LIBRARY),
    )


def as_data(tasks: Tasks) -> list[dict[str, Any]]:
    """Atomic tasks as JSON data."""
    return [task.model_dump(mode="json") for task in tasks]
