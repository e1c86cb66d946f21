"""Continuing a recorded LIBERO episode from any of its states, bit for bit.

MuJoCo's state is not all that a step depends on: robosuite's operational-space controller keeps the
goal orientation of the last action that turned, and the gripper integrates its commands. Both are
functions of the recorded states and actions and are rebuilt from them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mango_trace.errors import UsageError
from mango_trace.scene.overrides import apply_overrides, restore_fields
from mango_trace.store import Trace
from recorder.adapters.libero import LiberoAdapter, seeded_reset
from recorder.capture import StateReader


def restore_state(env: Any, trace: Trace, index: int, adapter: LiberoAdapter) -> None:
    """Put an environment into a recorded state; stepping the recorded actions then repeats the rest.

    Args:
        env: LIBERO environment of the trace's task; it is reset.
        trace: The trace, with every component of its states.
        index: State to restore.
        adapter: Adapter of the environment.

    Raises:
        UsageError: The trace was not recorded with the fidelity that an exact restart needs, or it has
            no such state.
    """
    if trace.metadata.fidelity != "integration":
        raise UsageError(
            f"an exact restart needs fidelity 'integration'; the trace has {trace.metadata.fidelity!r}"
        )
    if not 0 <= index < trace.n_states:
        raise UsageError(f"the trace has states 0 to {trace.n_states - 1}, not {index}")
    seeded_reset(env, 0)
    model, _ = adapter.physics(env)
    current = adapter.scene(env)[1]
    restore_fields(model, adapter.pristine(env), current)
    apply_overrides(model, trace.metadata.overrides)
    reader = StateReader(model, trace.metadata.fidelity)
    states = dict(trace.states)
    _rebuild_goal(env, reader, states, trace, index, adapter)
    _rebuild_gripper(env, trace, index)
    reader.write(adapter.physics(env)[1], states, index)
    if index > 0:  # at its first step the controller does use what it read at the reset
        env.env.robots[0].controller.new_update = True


def _rebuild_goal(
    env: Any,
    reader: StateReader,
    states: dict[str, Any],
    trace: Trace,
    index: int,
    adapter: LiberoAdapter,
) -> None:
    """Give the controller the goal orientation of the last action before ``index`` that turned."""
    controller = env.env.robots[0].controller
    for step in range(index - 1, -1, -1):
        arm_action = trace.action[step][: controller.control_dim]
        turn = controller.scale_action(arm_action)[3:]
        if all(math.isclose(part, 0.0) for part in turn):
            continue
        reader.write(adapter.physics(env)[1], states, step)
        env.sim.forward()
        controller.update(force=True)
        controller.set_goal(arm_action)
        return


def _rebuild_gripper(env: Any, trace: Trace, index: int) -> None:
    """Integrate the gripper's commands, once a substep as robosuite does."""
    domain = env.env
    gripper = domain.robots[0].gripper
    substeps = round(domain.control_timestep / domain.model_timestep)
    gripper.current_action = np.zeros(gripper.dof)
    for step in range(index):
        for _ in range(substeps):
            gripper.format_action(trace.action[step][-gripper.dof :])
