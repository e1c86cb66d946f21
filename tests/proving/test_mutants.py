"""Laws of mutants: what they change, and that they change nothing else."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from mango_trace.proving.mutants import (
    Event,
    Kind,
    cut_short,
    freeze,
    leave_out,
    mutants_of,
    order_mutants_of,
    put_back,
    reverse,
    stand_still,
    swap_objects,
    swap_order,
    way_mutants_of,
)
from mango_trace.proving.things import Thing, free_things, thing_of
from tests.synthetic import WARMUP, columns, make_package, make_trace

PACKAGE = make_package()
MODEL = PACKAGE.compile()


def thing(name: str) -> Thing:
    found = thing_of(MODEL, PACKAGE.scene, name)
    assert found is not None
    return found


APPLE, BRICK, BASKET, DRAWER = map(thing, ("apple_1", "brick_1", "basket_1", "cabinet_1_drawer_region"))
FREE = free_things(MODEL, PACKAGE.scene)
PLACED, CLOSED = Event("in", APPLE, 26), Event("close", DRAWER, 37)


def every_mutant(trace):
    events = (PLACED, CLOSED)
    yield from mutants_of(trace, events, 37, (APPLE, BASKET), FREE)
    yield from way_mutants_of(trace, events, 36)
    yield from order_mutants_of(trace, events)


def same(one, other):
    return one.states.keys() == other.states.keys() and all(
        np.array_equal(values, other.states[name]) for name, values in one.states.items()
    )


def test_a_thing_knows_its_columns():
    assert slice(APPLE.qpos[0], APPLE.qpos[-1] + 1) == columns(PACKAGE, "apple_1_joint")
    assert (len(APPLE.qpos), len(APPLE.qvel), APPLE.free) == (7, 6, True)
    assert (len(DRAWER.qpos), len(DRAWER.qvel), DRAWER.free) == (1, 1, False)
    assert thing("cabinet_1").overlaps(DRAWER)
    assert thing("cabinet_1_drawer_joint").overlaps(DRAWER)
    assert not APPLE.overlaps(BRICK)
    assert [one.name for one in FREE] == ["apple_1", "brick_1", "basket_1"]
    for name in ("table", "hand0", "table_zone", "nothing_of_that_name"):
        assert thing_of(MODEL, PACKAGE.scene, name) is None


@pytest.mark.parametrize("seed", range(4))
def test_no_mutant_changes_its_source_and_every_state_stays_sound(seed):
    trace = make_trace(PACKAGE, seed=seed)
    before = copy.deepcopy(trace)
    starts = [one.qpos[3] for one in FREE]
    mutants = list(every_mutant(trace))
    assert {mutant.kind for mutant in mutants} == set(Kind) - {Kind.NO_OP}
    for mutant in mutants:
        states = mutant.trace.states
        assert np.all(np.diff(mutant.trace.time) > 0), mutant.what
        assert np.array_equal(mutant.trace.time, trace.time[: mutant.trace.n_states])
        for start in starts:
            norms = np.linalg.norm(states["qpos"][:, start : start + 4], axis=1)
            assert np.allclose(norms, 1, atol=1e-12), mutant.what
        assert all(len(values) == mutant.trace.n_states for values in states.values())
        assert len(mutant.trace.success) == mutant.trace.n_states - 1
        assert mutant.trace.live_success is None
        assert mutant.trace.metadata == trace.metadata
        assert not any(values.flags.writeable for name, values in states.items() if name == "qpos")
    assert same(trace, before)
    assert all(values.flags.writeable for values in trace.states.values())


def test_every_kind_but_a_cut_keeps_the_length():
    trace = make_trace(PACKAGE)
    for mutant in every_mutant(trace):
        assert (mutant.trace.n_states < trace.n_states) == (mutant.kind is Kind.CUT), mutant.what


def test_cut_short_is_a_prefix():
    trace = make_trace(PACKAGE)
    cut = cut_short(trace, 17)
    assert cut.n_states == 17
    for name, values in trace.states.items():
        assert np.array_equal(cut.states[name], values[:17])
    assert same(cut_short(trace, 1000), trace)
    assert same(cut_short(cut_short(trace, 20), 10), cut_short(trace, 10))


@pytest.mark.parametrize("n_states", [1, 3, 4, 40])
def test_reversing_twice_is_identity(n_states):
    trace = make_trace(PACKAGE, n_states)
    assert same(reverse(reverse(trace)), trace)


def test_reversed_states_run_backwards_after_the_warmup():
    trace = make_trace(PACKAGE)
    back = reverse(trace)
    assert np.array_equal(back.states["qpos"][:WARMUP], trace.states["qpos"][:WARMUP])
    assert np.array_equal(back.states["qpos"][WARMUP:], trace.states["qpos"][WARMUP:][::-1])
    assert np.array_equal(back.states["qvel"][WARMUP:], -trace.states["qvel"][WARMUP:][::-1])


def test_what_stands_still_has_one_state_and_no_speed():
    trace = make_trace(PACKAGE)
    still = stand_still(trace, 5)
    assert still.n_states == WARMUP + 5
    assert np.all(still.states["qpos"][WARMUP:] == trace.states["qpos"][WARMUP])
    assert not still.states["qvel"][WARMUP:].any()
    assert stand_still(trace, 1000).n_states == trace.n_states


@pytest.mark.parametrize("broken", [freeze, put_back])
def test_only_the_thing_whose_effect_is_removed_is_elsewhere(broken):
    trace = make_trace(PACKAGE)
    other = broken(trace, APPLE, 20)
    rest = np.setdiff1d(np.arange(trace.states["qpos"].shape[1]), APPLE.qpos)
    assert np.array_equal(other.states["qpos"][:, rest], trace.states["qpos"][:, rest])
    assert np.array_equal(other.states["qpos"][:20], trace.states["qpos"][:20])
    there = trace.states["qpos"][20 if broken is freeze else WARMUP, list(APPLE.qpos)]
    assert np.all(other.states["qpos"][20:, list(APPLE.qpos)] == there)
    assert not other.states["qvel"][21:, list(APPLE.qvel)].any()


def test_swapping_is_its_own_inverse_and_has_no_direction():
    trace = make_trace(PACKAGE)
    swapped = swap_objects(trace, APPLE, BRICK)
    assert same(swapped, swap_objects(trace, BRICK, APPLE))
    assert same(swap_objects(swapped, APPLE, BRICK), trace)
    apple, brick = list(APPLE.qpos), list(BRICK.qpos)
    assert np.array_equal(swapped.states["qpos"][:, apple], trace.states["qpos"][:, brick])
    with pytest.raises(ValueError, match="cabinet_1_drawer_region"):
        swap_objects(trace, APPLE, DRAWER)


def test_in_the_other_order_nothing_is_missing_and_the_end_is_the_same():
    trace = make_trace(PACKAGE)
    swapped = swap_order(trace, PLACED, CLOSED)
    assert swapped is not None
    drawer, apple = (swapped.states["qpos"][:, list(one.qpos)] for one in (DRAWER, APPLE))
    assert np.array_equal(swapped.states["qpos"][38:], trace.states["qpos"][38:])
    shut = int(np.flatnonzero(drawer[:, 0] > 0)[0])
    assert np.all(apple[: shut + 1] == apple[WARMUP]), "the apple waits until the drawer is closed"
    assert np.all(drawer[shut:38, 0] > 0), "the drawer stays closed"
    for one in (DRAWER, APPLE):
        source = trace.states["qpos"][:, list(one.qpos)]
        assert {tuple(row) for row in swapped.states["qpos"][:, list(one.qpos)]} == {*map(tuple, source)}
    assert swap_order(trace, CLOSED, PLACED) is None
    assert list(order_mutants_of(trace, [PLACED, Event("also", APPLE, 30)])) == []


def test_what_is_left_out_is_the_state_before_it():
    trace = make_trace(PACKAGE)
    left = leave_out(trace, 5, 30)
    assert np.all(left.states["qpos"][5:30] == trace.states["qpos"][5])
    assert np.array_equal(left.states["qpos"][30:], trace.states["qpos"][30:])


def test_a_way_is_left_out_only_where_its_end_is_seen():
    trace = make_trace(PACKAGE)
    (mutant,) = way_mutants_of(trace, [PLACED], 34)
    apple = mutant.trace.states["qpos"][WARMUP:, list(APPLE.qpos)]
    ends = trace.states["qpos"][[WARMUP, -1]][:, list(APPLE.qpos)]
    assert np.array_equal(apple, np.repeat(ends, [37, 1], axis=0))
    assert list(way_mutants_of(trace, [PLACED], 38)) == []
    assert list(way_mutants_of(trace, [CLOSED], 30)) == [], "a drawer is not brought anywhere"
