"""Scores of runs on the rollouts that come along: the rules' own, and runs in which something is wrong."""

from __future__ import annotations

import copy
import shutil

import pytest

from generator.modules.variant import ABLATIONS, BASELINE, WHOLE
from generator.study.configurations import MANGO, RQ1
from generator.study.records import Run
from generator.study.running import Plan, complete
from generator.study.scoring import MEASURES, Examiner, read_references
from generator.targets import resolve
from mango_trace.errors import SpecificationError, UsageError
from mango_trace.shipped import shipped

SAMPLE = shipped("datasets") / "libero-10-sample"
STOVE = "KITCHEN_SCENE3_turn_on_the_stove_and_put_the_moka_pot_on_it"


def changed(run: Run, change) -> Run:
    """A run in which the oracle of the stove was changed."""
    part = run.plans[STOVE]
    document = change(copy.deepcopy(part.document))
    return run.model_copy(
        update={"plans": {**run.plans, STOVE: part.model_copy(update={"document": document})}}
    )


def misnamed(oracle):
    oracle["plan"][0]["actions"][0]["parameters"] = ["flat_stove_7"]
    oracle["plan"][0]["actions"][0]["monitoring"][0]["handle_as"]["arguments"] = ["flat_stove_7"]
    return oracle


def unknown_task(oracle):
    oracle["plan"][0]["actions"][0]["action_id"] = "ignite"
    return oracle


def without_stove(oracle):
    return {**oracle, "plan": [{**oracle["plan"][1], "step": 1}]}


def never_passing(oracle):
    """The pot must be on the stove and held in the same state."""
    (placing,) = [action for action in oracle["plan"][1]["actions"] if action["action_id"] == "place_on"]
    (on, released) = placing["monitoring"]
    placing["monitoring"] = [on, {**released, "negate": True}]
    placing["hold"] = 100_000
    return oracle


CHANGES = {
    "misnamed": misnamed,
    "unknown_task": unknown_task,
    "without_stove": without_stove,
    "never_passing": never_passing,
    "malformed": lambda oracle: {**oracle, "colour": "red"},
    "missing": lambda oracle: None,
}


@pytest.fixture(scope="module")
def targets():
    return resolve([str(SAMPLE)])


@pytest.fixture(scope="module")
def references(targets):
    return read_references(shipped("oracles"), targets)


@pytest.fixture(scope="module")
def scores(targets, references, tmp_path_factory):
    """Of the rules' runs by configuration, and of the changed ones."""
    out = tmp_path_factory.mktemp("study")
    runs = {one.name: complete(Plan("rules", one, targets, out), 1) for one in RQ1}
    runs |= {name: changed(runs["mango"], change) for name, change in CHANGES.items()}
    variants = [BASELINE if name == "baseline" else WHOLE for name in runs]
    found = Examiner(targets, SAMPLE, references).score(list(runs.values()), variants)
    return dict(zip(runs, found, strict=True))


@pytest.mark.parametrize("configuration", RQ1, ids=lambda one: one.name)
def test_what_the_rules_write_is_as_good_as_can_be(scores, configuration):
    found = scores[configuration.name]
    assert tuple(found) == MEASURES
    assert found["validity"] == found["executability"] == found["accepted"] == 1.0
    assert found["similarity"] >= 0.95
    assert found["similarity_tasks"] == found["similarity_oracles"] == 1.0
    assert found["mutation_score"] == found["successes_passed"] == 1.0
    assert found["calls"] > 0
    assert all(found[f"seconds_{module}"] > 0 for module in ("I", "II", "III"))


@pytest.mark.parametrize(
    ("change", "validity", "executability"),
    [
        ("misnamed", 1.0, 0.9),
        ("unknown_task", 1.0, 0.9),
        ("never_passing", 1.0, 1.0),
        ("malformed", 0.9, 0.9),
        ("missing", 0.9, 0.9),
    ],
)
def test_what_is_wrong_with_one_task_costs_its_share(scores, change, validity, executability):
    found = scores[change]
    assert found["validity"] == pytest.approx(validity)
    assert found["executability"] == pytest.approx(executability)
    # The sample has a success that the reference passes, and mutants of it that count, of eight of the tasks.
    assert found["tasks_tested"] == 8
    assert found["mutation_score"] == found["successes_passed"] == pytest.approx(7 / 8)
    assert 0.9 <= found["similarity"] < 1.0
    gone = change in ("malformed", "missing")
    assert (found["similarity"] == pytest.approx(0.9)) == gone


def test_an_oracle_that_leaves_a_condition_out_runs_and_is_caught_by_mutants(scores):
    found = scores["without_stove"]
    assert found["validity"] == found["executability"] == found["successes_passed"] == 1.0
    assert 7 / 8 < found["mutation_score"] < 1.0
    assert found["similarity"] < 1.0


def test_without_a_library_names_of_tasks_are_free(targets, references, tmp_path):
    """What executability means depends on what there is to refer to; nothing depends on the order of runs."""
    plan = Plan("rules", MANGO, targets, tmp_path)
    run = changed(complete(plan, 1), unknown_task)
    examiner = Examiner(targets, SAMPLE, references)
    variants = [WHOLE, ABLATIONS["tasks"]]
    bound, free = examiner.score([run, run], variants)
    assert (bound["executability"], free["executability"]) == (pytest.approx(0.9), 1.0)
    assert examiner.score([run, run], variants[::-1]) == [free, bound]


def test_an_interrupted_module_has_no_time(targets, references, tmp_path):
    run = complete(Plan("rules", MANGO, targets, tmp_path), 1)
    part = run.plans[STOVE].model_copy(update={"seconds": None})
    run = run.model_copy(update={"plans": {**run.plans, STOVE: part}})
    (found,) = Examiner(targets, SAMPLE, references).score([run], [WHOLE])
    assert found["seconds_III"] is None
    assert found["seconds_II"] is not None


def test_references_are_needed_and_read_whole(targets, tmp_path):
    none = tmp_path / "none"
    none.mkdir()
    shutil.copy(shipped("oracles") / "libero" / "atomic_tasks.json", none)
    with pytest.raises(UsageError, match="no reference oracle"):
        read_references(none, targets)
    (tmp_path / "bad.json").write_text('{"plan": []}')
    with pytest.raises(SpecificationError):
        read_references(tmp_path, targets)


def test_only_the_part_of_the_libraries_that_references_use_is_compared(references):
    assert len(references.oracles) == 10
    assert {task.id for task in references.tasks} == {"pick_up", "place_in", "place_on", "close", "turn_on"}
    assert {oracle.task_id for oracle in references.atomic_oracles} == {task.id for task in references.tasks}
