"""Modules I and II by rules: the libraries that a set of instructions needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from generator.rules.forms import FORMS, Call, OracleForm, TaskForm
from generator.rules.grammar import parse_instruction
from generator.rules.lexicon import SWITCHED
from generator.rules.places import task_of
from generator.rules.readings import Reading
from generator.rules.syntax import Clause
from mango_trace.errors import UnknownNameError
from mango_trace.oracle import AtomicOracle, AtomicTask, Expression, Libraries, link


def write_tasks(instructions: Iterable[str], reading: Reading = Reading.DEFAULT) -> tuple[AtomicTask, ...]:
    """Module I: the atomic tasks that instructions consist of.

    Args:
        instructions: What robots are told in an environment.
        reading: How well things have to be done.

    Returns:
        Each task once, in the order of :data:`generator.rules.forms.FORMS`, whatever order the instructions
        have.

    Raises:
        InstructionError: An instruction that is not understood.
    """
    needed = {task_id for text in instructions for task_id in _needs(parse_instruction(text))}
    return tuple(_task(task_id, form, reading) for task_id, form in FORMS.items() if task_id in needed)


def write_oracles(
    tasks: Sequence[AtomicTask], reading: Reading = Reading.DEFAULT
) -> tuple[AtomicOracle, ...]:
    """Module II: how the end of each atomic task is seen.

    Args:
        tasks: Tasks of module I.
        reading: How well things have to be done.

    Returns:
        Their atomic oracles, in the order of the tasks.

    Raises:
        UnknownNameError: A task that the rules have no oracle for.
    """
    for task in tasks:
        if task.id not in FORMS:
            raise UnknownNameError("atomic task with rules", task.id, FORMS)
    return tuple(
        _oracle(task.id, form)
        for task in tasks
        for form in FORMS[task.id].oracles
        if reading in form.readings
    )


def write_libraries(instructions: Iterable[str], reading: Reading = Reading.DEFAULT) -> Libraries:
    """Both libraries of a set of instructions.

    Args:
        instructions: What robots are told in an environment.
        reading: How well things have to be done.

    Raises:
        InstructionError: An instruction that is not understood.
    """
    tasks = write_tasks(instructions, reading)
    return link(tasks, write_oracles(tasks, reading), source="atomic oracles")


def _needs(clauses: Sequence[Clause]) -> Iterator[str]:
    for clause in clauses:
        if clause.destination is None:
            yield clause.verb
            continue
        if clause.verb != "push":
            yield "pick_up"
        yield task_of(clause.verb, clause.destination)
        if any(anchor.head in SWITCHED for anchor in clause.destination.anchors):
            yield "turn_on"  # whether it is on from the start, and stays so, only a scene tells


def _task(task_id: str, form: TaskForm, reading: Reading) -> AtomicTask:
    return AtomicTask(
        id=task_id,
        description=form.description,
        parameters=form.parameters,
        preconditions=form.preconditions,
        postconditions=tuple(
            _text(call) for oracle in form.oracles if reading in oracle.always for call in oracle.calls
        ),
    )


def _oracle(task_id: str, form: OracleForm) -> AtomicOracle:
    calls = tuple(
        Expression(function=name, arguments=arguments)
        for name, *rest in form.calls
        for arguments in [tuple(rest)]
    )
    return AtomicOracle(
        task_id=task_id,
        oracle_id=form.id,
        description=form.description,
        parameters=tuple(dict.fromkeys(name for call in form.calls for name in call[1:])),
        expression=calls[0] if len(calls) == 1 else Expression(all_of=calls),
    )


def _text(call: Call) -> str:
    return f"{call[0]}({', '.join(call[1:])})"
