"""The libraries that a set of instructions needs: enough, no more, and the same whatever the order."""

from __future__ import annotations

import random

import pytest

from generator.rules import write_libraries, write_oracle, write_oracles, write_tasks
from generator.rules.forms import FORMS
from mango_trace.errors import UnknownNameError
from mango_trace.oracle import AtomicTask, compile_oracle, link
from mango_trace.predicates.catalogue import CATALOGUE
from tests.generator.rules.scenes import kitchen, libero_10, libraries


def test_libero_10_needs_a_part_of_what_comes_along() -> None:
    made = write_libraries(task.instruction for task in libero_10())
    assert [task.id for task in made.tasks] == ["pick_up", "place_in", "place_on", "close", "turn_on"]
    for task in made.tasks:
        assert task == libraries().task(task.id)
    for oracle in made.oracles:
        assert oracle == libraries().oracle(oracle.oracle_id)


def test_all_forms_are_what_comes_along() -> None:
    verbs = ("put the mug in the box", "put it on the box", "push it to the left of the box")
    verbs += tuple(f"{verb} the stove" for verb in ("open", "close", "turn on", "turn off"))
    assert write_libraries([" and ".join(verbs)]) == libraries()


def test_each_instruction_of_libero_10_compiles_with_its_own_libraries() -> None:
    for task in libero_10():
        own = write_libraries([task.instruction])
        oracle = write_oracle(task.instruction, task.scene, task.problem, own)
        compile_oracle(oracle, task.scene, CATALOGUE, own, name=task.name)


def test_order_and_repetition_of_instructions_change_nothing() -> None:
    instructions = [task.instruction for task in libero_10()]
    shuffled = instructions * 2
    random.Random(0).shuffle(shuffled)
    assert write_tasks(shuffled) == write_tasks(instructions)


def test_a_single_instruction_needs_few() -> None:
    assert [task.id for task in write_tasks(["close the microwave"])] == ["close"]
    assert [task.id for task in write_tasks(["push the plate to the front of the bowl"])] == ["push_to"]
    assert write_tasks([]) == ()


def test_calls_of_oracles_are_in_the_catalogue_and_bind_parameters() -> None:
    for task_id, form in FORMS.items():
        for oracle in form.oracles:
            for function, *arguments in oracle.calls:
                assert len(arguments) >= CATALOGUE[function].required, (task_id, oracle.id)


def test_a_task_of_others_is_refused() -> None:
    task = AtomicTask(id="pour", description="", parameters=(), preconditions=(), postconditions=())
    with pytest.raises(UnknownNameError, match="no atomic task with rules 'pour'"):
        write_oracles([task])


def test_a_written_library_serves_any_scene() -> None:
    scene, problem = kitchen()
    own = write_libraries(["put the plate on the stove"])
    assert link(own.tasks, own.oracles, source="own") == own
    oracle = write_oracle("put the plate on the stove", scene, problem, own)
    compile_oracle(oracle, scene, CATALOGUE, own, name="kitchen")
