"""Every entry of the catalogue: documented, callable, three-valued."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from mango_trace.errors import SpecificationError
from mango_trace.oracle import compile_oracle, parse_oracle
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.predicates.signature import Need
from mango_trace.scene.kinds import ArgumentKind
from mango_trace.scene.model import Threshold
from mango_trace.signals import SceneKinematics
from tests.synthetic import columns, make_package, make_trace, rest_states


def _with_switch():
    """The synthetic scene; its drawer also counts as a switch."""
    package = make_package()
    cabinet = package.scene.object("cabinet_1")
    rules = replace(cabinet.articulation, turnon=Threshold("<", -0.1), turnoff=Threshold(">", -0.05))
    objects = tuple(
        replace(item, articulation=rules) if item is cabinet else item for item in package.scene.objects
    )
    return replace(package, scene=replace(package.scene, objects=objects))


PACKAGE = _with_switch()
SCENE = PACKAGE.scene
SAMPLE = {kind: SCENE.names(kind) for kind in ArgumentKind if kind is not ArgumentKind.NUMBER}


def calls(name: str):
    """Calls of a predicate on things of every kind that it takes, two of each."""
    entry = CATALOGUE[name]
    choices = [
        [p.default] if p.is_number else [thing for kind in p.kinds for thing in SAMPLE[kind][:2]]
        for p in entry.parameters
    ]
    for arguments in itertools.product(*choices):
        names = [a for a in arguments if isinstance(a, str)]
        if len(set(names)) == len(names) and not (entry.check and entry.check(SCENE, *arguments)):
            yield arguments


def test_names_are_the_keys_and_everything_is_documented():
    assert len(CATALOGUE) == 21
    for name, entry in CATALOGUE.items():
        assert entry.name == name
        assert entry.doc.endswith(".")
        assert entry.source in ("LIBERO", "robosuite", "MuJoCo", "mango_trace")
        assert (entry.evaluate.__doc__ or "").strip()
        assert all(parameter.doc.endswith(".") for parameter in entry.parameters)
        text = entry.signature()
        assert text.startswith(f"{name}(")
        for parameter in entry.parameters:
            assert parameter.name in text
            assert not parameter.is_number or (parameter.unit and f"[{parameter.unit}]" in text)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_predicate_gives_one_truth_a_state(name):
    trace = make_trace(PACKAGE, 30, 0)
    signals = SceneKinematics(PACKAGE).signals(
        trace.signals_input, overrides=trace.metadata.overrides, settled=2
    )
    found = list(calls(name))
    assert found
    for arguments in found:
        result = CATALOGUE[name].evaluate(signals, *arguments)
        assert result.shape == (30,)
        if CATALOGUE[name].result == "number":
            assert result.dtype == np.float64
        else:
            assert result.dtype == np.uint8
            assert set(result.tolist()) <= {0, 2}


@pytest.mark.parametrize("name", [n for n, entry in CATALOGUE.items() if entry.result == "truth"])
def test_undetermined_exactly_where_a_state_is_not_sound(name):
    """NaN, infinity, a quaternion without length, a reset: these states and no other.

    Velocities that are not finite matter to what reads them: positions at that state are as they are.
    """
    states = {key: values.copy() for key, values in rest_states(PACKAGE, 12).items()}
    apple = columns(PACKAGE, "apple_1_joint")
    states["qpos"][3, 0] = math.nan
    states["qpos"][5, apple.start + 3 : apple.stop] = 0.0
    states["qvel"][6] = math.inf
    states["time"] = states["time"][:, 0]
    states["time"][9:] = 0.0
    signals = SceneKinematics(PACKAGE).signals(states)
    for arguments in calls(name):
        unknown = CATALOGUE[name].evaluate(signals, *arguments) == 1
        expected = [3, 5, *([6] if Need.VELOCITY in CATALOGUE[name].needs else []), 9, 10, 11]
        assert np.flatnonzero(unknown).tolist() == expected, arguments


def test_motion_is_undetermined_when_the_settled_state_is_not_sound():
    states = rest_states(PACKAGE, 4) | {"time": np.arange(4.0)}
    states["qpos"][1, 0] = math.nan
    signals = SceneKinematics(PACKAGE).signals(states, settled=1)
    for name in ("lifted", "moved"):
        assert CATALOGUE[name].evaluate(signals, "apple_1", 0.1).tolist() == [1, 1, 1, 1]


def test_at_rest_needs_velocities():
    states = rest_states(PACKAGE, 3) | {"time": np.arange(3.0)}
    del states["qvel"]
    signals = SceneKinematics(PACKAGE).signals(states)
    assert CATALOGUE["at_rest"].evaluate(signals, "apple_1", 0.1, 0.1).tolist() == [1, 1, 1]
    assert CATALOGUE["near"].evaluate(signals, "apple_1", "brick_1", 1.0).tolist() == [2, 2, 2]


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_name_of_another_kind_is_refused(name):
    """For every parameter and every kind that it does not take."""
    entry = CATALOGUE[name]
    good = [p.default if p.is_number else SAMPLE[p.kinds[0]][0] for p in entry.parameters]
    for position, parameter in enumerate(entry.parameters):
        wrong = ["nothing", 1.0] if not parameter.is_number else ["apple_1", -1.0, 0.0]
        wrong += [names[0] for kind, names in SAMPLE.items() if kind not in parameter.kinds]
        for value in wrong:
            arguments = [*good[:position], value, *good[position + 1 :]]
            monitor = {"oracle_id": "o", "handle_as": {"function": name, "arguments": arguments}}
            action = {"action_id": "a", "parameters": ["apple_1"], "monitoring": [monitor]}
            step = {"step": 1, "instruction": "i", "execution_mode": "sequential", "actions": [action]}
            text = json.dumps({"instruction": "i", "execution_mode": "sequential", "plan": [step]})
            with pytest.raises(SpecificationError) as caught:
                compile_oracle(parse_oracle(text, "t"), SCENE, CATALOGUE, None, name="t")
            paths = [problem.path for problem in caught.value.problems]
            assert f"plan.0.actions.0.monitoring.0.handle_as.arguments.{position}" in paths
