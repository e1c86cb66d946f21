"""All 130 tasks of LIBERO: oracles are valid and executable, and where goals disagree is known."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from generator.rules import Kind, Reading, count_kinds, lint, write_libraries, write_oracle
from mango_trace.cli.main import cli
from mango_trace.cli.marks import fill_tables
from mango_trace.oracle import compile_oracle, parse_oracle
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.scene.bddl import Problem
from mango_trace.scene.model import Scene
from tests.generator.rules.scenes import libraries
from tests.generator.rules.test_readings import WEAKER, implies

pytestmark = pytest.mark.libero

DOCUMENT = Path(__file__).parents[3] / "docs" / "lint.md"
SUITES = ("libero_spatial", "libero_object", "libero_goal", "libero_90", "libero_10")


def test_every_instruction_is_understood_and_needs_what_comes_along() -> None:
    from recorder.adapters.libero import tasks_of

    instructions = [task.instruction for suite in SUITES for task in tasks_of(suite)]
    assert len(instructions) == 130
    assert write_libraries(instructions) == libraries()


@cache
def scenes() -> Mapping[tuple[str, int], tuple[Scene, Problem]]:
    """Every scene with its BDDL; takes minutes."""
    from recorder.adapters.libero_tasks import LIBERO

    return {(suite, task.task.index): task.scene() for suite in SUITES for task in LIBERO.tasks(suite)}


@pytest.mark.slow
@pytest.mark.parametrize("reading", Reading)
def test_every_oracle_is_valid_and_executable(reading: Reading) -> None:
    from recorder.adapters.libero import tasks_of

    tasks = [task for suite in SUITES for task in tasks_of(suite)]
    whole = write_libraries([task.instruction for task in tasks], reading)
    assert len(tasks) == 130
    for task in tasks:
        scene, problem = scenes()[task.suite, task.index]
        oracle = write_oracle(task.instruction, scene, problem, whole, reading)
        assert parse_oracle(oracle.canonical, task.name) == oracle
        for used in (whole, write_libraries([task.instruction], reading)):
            compile_oracle(oracle, scene, CATALOGUE, used, name=task.name)
        for strong, weak in WEAKER:
            if strong is reading and not (weak is Reading.LENIENT and strong is Reading.DEFAULT):
                other = write_oracle(
                    task.instruction, scene, problem, write_libraries([task.instruction], weak), weak
                )
                assert implies(oracle, other), task.name


@pytest.mark.slow
def test_the_goal_is_asked_for_and_what_goes_further_is_counted() -> None:
    from recorder.adapters.libero import tasks_of

    found = []
    for task in (task for suite in SUITES for task in tasks_of(suite)):
        scene, problem = scenes()[task.suite, task.index]
        oracle = write_oracle(task.instruction, scene, problem, libraries())
        found += lint(task.instruction, scene, problem, oracle)
    assert {kind: count for kind, count in count_kinds(found).items() if count} == {
        Kind.CLAUSE_WITHOUT_CONDITION: 1,
        Kind.CONDITION_WITHOUT_CLAUSE: 2,
        Kind.OTHER_RELATION: 6,
        Kind.FIXED_PLACE: 9,
        Kind.OTHER_MEANING: 1,
        Kind.OTHER_WORDING: 2,
        Kind.MONITOR_WITHOUT_CONDITION: 370,
        Kind.GEOMETRIC_MONITOR: 11,
        Kind.NEEDED_ORDER: 9,
    }


@pytest.mark.slow
def test_the_document_has_what_the_command_prints(monkeypatch) -> None:
    from recorder.adapters.libero_tasks import LiberoBenchmarkTask

    monkeypatch.setattr(LiberoBenchmarkTask, "scene", lambda self: scenes()[self.task.suite, self.task.index])
    done = CliRunner().invoke(cli, ["generate", "lint", *SUITES, "--format", "md"])
    assert done.exit_code == 1, done.output
    document = DOCUMENT.read_text()
    assert fill_tables(document, {"lint": done.stdout}.__getitem__) == document
    assert done.stdout.count("\n") == 2 + 21
    assert "<!-- table lint -->" in document
