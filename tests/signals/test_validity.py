"""Which states can be judged."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mango_trace.signals import check_states, quaternion_starts

MODEL = mujoco.MjModel.from_xml_string(
    '<mujoco><worldbody><body><freejoint/><geom size="1"/></body>'
    '<body><joint type="ball"/><geom size="1"/></body>'
    '<body><joint type="slide"/><geom size="1"/></body></worldbody></mujoco>'
)
QUATERNIONS = quaternion_starts(MODEL)


def _sound(n):
    return np.arange(n) * 0.1, np.tile(MODEL.qpos0, (n, 1))


@given(
    st.lists(st.tuples(st.integers(0, 19), st.sampled_from(["qpos", "time", "free", "ball"])), max_size=6),
    st.sampled_from([math.nan, math.inf, -math.inf]),
)
def test_exactly_the_broken_states_are_invalid(broken, value):
    time, qpos = _sound(20)
    for state, what in broken:
        if what == "qpos":
            qpos[state, 11] = value
        elif what == "time":
            time[state] = math.nan
        else:
            start = 3 if what == "free" else 7
            qpos[state, start : start + 4] = 0.0
    found = check_states(QUATERNIONS, time, qpos)
    assert sorted(set(np.flatnonzero(~found.valid).tolist())) == sorted({state for state, _ in broken})
    assert bool(found.problems) == bool(broken)


@pytest.mark.parametrize("value", [0.3, 0.0], ids=["stands", "back"])
def test_a_reset_ends_what_can_be_judged(value):
    """Time that stands still or runs back: from there on the states belong to another run."""
    time, qpos = _sound(10)
    time[4:] = value + np.arange(6) * 0.1
    found = check_states(QUATERNIONS, time, qpos)
    assert found.valid.tolist() == [True] * 4 + [False] * 6
    assert found.problems[0].startswith("simulation reset at state 4: time goes from 0.3 s to")


def test_a_reset_hidden_by_a_state_without_time():
    """The clock is compared across states whose own time is not finite."""
    time, qpos = _sound(10)
    time[5], time[6:] = math.nan, np.arange(4) * 0.1
    assert check_states(QUATERNIONS, time, qpos).valid.tolist() == [True] * 5 + [False] * 5


def test_sound_states_have_no_problems():
    for n in (0, 1, 2):
        found = check_states(QUATERNIONS, *_sound(n))
        assert found.valid.all()
        assert found.problems == ()


def test_quaternions_of_free_and_ball_joints_are_known():
    assert QUATERNIONS == (3, 7)


def test_numbers_that_are_finite_but_large_are_sound():
    """Their sum is not finite, they are."""
    time, qpos = _sound(3)
    qpos[:, :3] = 1e308
    assert check_states(QUATERNIONS, time, qpos).valid.all()
