"""Plans say what the task asks for, and faults and labels fit them."""

from __future__ import annotations

import numpy as np
import pytest

from mango_trace.scene.bddl import parse_bddl
from mango_trace.store import Dataset
from mango_trace.taxonomy import TAXONOMY
from recorder.policies.scripted import FAULT_KINDS, PLANS, Fault, applicable_faults
from recorder.policies.scripted.effects import Effects
from recorder.policies.scripted.errors import FaultNotApplicableError
from recorder.policies.scripted.faults import faulty_plan
from recorder.policies.scripted.skills import Place

PREDICATES = {"place_in": "in", "place_on": "on", "open": "open", "close": "close", "turn_on": "turnon"}
TASKS = sorted(PLANS)
WIDEST_M = 0.11  # the book; bowls, mugs and pots without their handles are narrower


@pytest.mark.libero
@pytest.mark.parametrize(("suite", "index"), TASKS)
def test_a_plan_brings_about_what_the_goal_asks_for_and_picks_what_it_places(suite, index):
    from recorder.adapters.libero import tasks_of

    text = tasks_of(suite)[index].bddl.read_text()
    problem = parse_bddl(text)
    plan = PLANS[suite, index]
    asked = {(goal.predicate, *goal.arguments) for goal in problem.goal}
    there = {(fact.predicate, *fact.arguments) for fact in problem.initial}
    done = {(PREDICATES[step.action_id], *step.parameters) for step in plan if step.action_id != "pick_up"}
    assert done == asked - there
    for position, step in enumerate(plan):
        if step.decoy is not None:
            assert step.decoy.body in text.split()
            assert step.decoy.body not in {name for _, *names in done for name in names}
        if step.action_id.startswith("place"):
            before = plan[position - 1]
            assert (before.action_id, before.parameters) == ("pick_up", step.parameters[:1])


def test_all_ten_tasks_and_some_of_every_other_suite_have_a_plan():
    from recorder.adapters.libero import SUITES

    assert {("libero_10", index) for index in range(10)} <= set(TASKS)
    assert {suite for suite, _ in TASKS} == set(SUITES)


@pytest.mark.parametrize(("suite", "index"), TASKS)
def test_beside_a_target_is_further_from_it_than_any_object_is_wide(suite, index):
    for step in PLANS[suite, index]:
        if isinstance(step.skill, Place):
            assert np.hypot(*step.skill.beside_m) > WIDEST_M


@pytest.mark.parametrize(("suite", "index"), TASKS)
def test_every_fault_changes_the_plan_and_every_action_can_fail(suite, index):
    plan, faults = PLANS[suite, index], applicable_faults(suite, index)
    assert {fault.action for fault in faults} == set(range(len(plan)))
    for fault in faults:
        assert Fault.parse(str(fault)) == fault
        assert faulty_plan(suite, index, fault) != plan
        assert FAULT_KINDS[fault.kind].failure_class in TAXONOMY
    with pytest.raises(FaultNotApplicableError):
        faulty_plan(suite, index, Fault("never_closes", len(plan)))


class World:
    """A drawer, a bowl and a hand, as the scene shows them."""

    def __init__(self):
        self.bowl, self.hand = np.zeros(3), np.array([0.0, 0.0, 0.05])
        self.true = set()

    def body(self, name):
        return self.bowl

    def gripper(self):
        return self.hand

    def holds(self, predicate, *names):
        return predicate in self.true


@pytest.mark.parametrize(
    ("lifts", "near", "true", "first"),
    [
        (True, True, {"in", "close"}, None),
        (False, True, {"in", "close"}, 0),
        (True, False, {"in", "close"}, 0),  # something else lifted it
        (True, True, {"close"}, 1),
        (True, True, {"in"}, 2),
        (False, True, set(), 0),
    ],
)
def test_the_first_failed_action_is_seen_in_the_states(lifts, near, true, first):
    world = World()
    effects = Effects(PLANS["libero_10", 3], world)
    for height in (0.0, 0.05, 0.01):
        world.bowl = np.array([0.0, 0.0, height * lifts])
        world.hand = world.bowl + np.array([0.0, 0.0, 0.05 if near else 0.5])
        effects.watch()
    world.true = true
    assert [effects.failed_first(index) for index in range(3)] == [index == first for index in range(3)]


@pytest.mark.libero
@pytest.mark.slow
def test_every_kind_of_fault_but_a_shaking_hand_fails_where_its_label_says(tmp_path):
    from recorder.campaign import record_all
    from recorder.specs import EpisodeSpec

    where = {
        fault.kind: (task, fault)
        for task in (9, 3, 2, 4)  # the last one that has a kind counts
        for fault in applicable_faults("libero_10", task)
    }
    assert where.keys() == FAULT_KINDS.keys()
    specs = [
        EpisodeSpec(
            suite="libero_10",
            task_index=task,
            policy="scripted",
            seed=1,
            episode=0,
            init_state_id=0,
            horizon=520,
            after_success=20,
            fault=str(fault),
        )
        for task, fault in sorted(where.values(), key=str)
    ]
    assert all(outcome.error is None for outcome in record_all(tmp_path / "d", specs, workers=2))
    for record in Dataset(tmp_path / "d").records:
        kind, _, index = str(record.metadata.fault).partition("@")
        (label,) = record.metadata.labels
        assert label.action_index == int(index)
        assert label.state is not None
        assert 0 < label.state < record.n_states
        assert label.failure_class == FAULT_KINDS[kind].failure_class
        assert label.verified or label.failure_class == "jitter", record.metadata.fault
