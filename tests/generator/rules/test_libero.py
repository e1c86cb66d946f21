"""All 130 tasks of LIBERO: oracles are valid and executable, and where goals disagree is known."""

from __future__ import annotations

import pytest

from generator.rules import Kind, count_kinds, lint, write_libraries, write_oracle
from mango_trace.oracle import compile_oracle, parse_oracle
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.scene.bddl import parse_bddl
from tests.generator.rules.scenes import libraries

pytestmark = pytest.mark.libero


def test_every_instruction_is_understood_and_needs_what_comes_along() -> None:
    from recorder.adapters.libero import SUITES, tasks_of

    instructions = [task.instruction for suite in SUITES for task in tasks_of(suite)]
    assert len(instructions) == 130
    assert write_libraries(instructions) == libraries()


@pytest.mark.slow
def test_every_oracle_is_valid_and_executable_and_asks_what_the_goal_asks() -> None:
    from recorder.adapters.libero import SUITES, extract_scene, make_env, seeded_reset, tasks_of

    count, found = 0, []
    for task in (task for suite in SUITES for task in tasks_of(suite)):
        env = make_env(task, 20)
        try:
            seeded_reset(env, 0)
            scene = extract_scene(env.env, task.name, task.suite)
        finally:
            env.close()
        problem = parse_bddl(task.bddl.read_text(), task.name)
        oracle = write_oracle(task.instruction, scene, problem, libraries())
        assert parse_oracle(oracle.canonical, task.name) == oracle
        for used in (libraries(), write_libraries([task.instruction])):
            compile_oracle(oracle, scene, CATALOGUE, used, name=task.name)
        found += [(task.suite, task.index, one) for one in lint(task.instruction, scene, problem, oracle)]
        count += 1
    assert count == 130
    assert count_kinds(one for _, _, one in found) == {
        Kind.CLAUSE_WITHOUT_CONDITION: 1,
        Kind.CLAUSE_WITHOUT_MONITOR: 0,
        Kind.CONDITION_WITHOUT_CLAUSE: 2,
        Kind.CONDITION_WITHOUT_MONITOR: 0,
        Kind.MONITOR_WITHOUT_CONDITION: 370,
        Kind.THING_WITHOUT_MONITOR: 8,
        Kind.OTHER_MEANING: 1,
        Kind.OTHER_WORDING: 2,
    }
    rare = {Kind.CLAUSE_WITHOUT_CONDITION, Kind.CONDITION_WITHOUT_CLAUSE, Kind.OTHER_MEANING}
    assert [(suite, index, one.kind) for suite, index, one in found if one.kind in rare] == [
        ("libero_goal", 3, Kind.CLAUSE_WITHOUT_CONDITION),
        ("libero_90", 17, Kind.OTHER_MEANING),
        ("libero_90", 38, Kind.CONDITION_WITHOUT_CLAUSE),
        ("libero_10", 8, Kind.CONDITION_WITHOUT_CLAUSE),
    ]
