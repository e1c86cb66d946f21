"""The scripted policy: a plan, a waypoint servo on the simulator's own state, and at most one fault."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recorder.policies.base import EpisodeContext, FaultLabel
from recorder.policies.scripted.effects import Effects
from recorder.policies.scripted.faults import FAULT_KINDS, Fault, faulty_plan
from recorder.policies.scripted.motion import OPEN, Arm, Motion
from recorder.policies.scripted.plans import Plan, plan_for
from recorder.policies.scripted.scene import Scene

_REST_STEPS = 10
_STALL_STEPS = 40
_STALL_SHARE = 0.6


class ScriptedPolicy:
    """Does a task by reading where everything is, through ordinary 7-entry OSC_POSE delta actions at 20 Hz.

    From the same initial state, episodes differ with their seed by a few millimetres and some percent
    of speed.

    Args:
        fault: What goes wrong; None for a policy that succeeds.
    """

    name = "scripted"
    version = "1"

    def __init__(self, fault: Fault | None = None) -> None:
        self.fault = fault
        self._plan: Plan = ()
        self._arm: Arm | None = None
        self._motion: Motion | None = None
        self._effects: Effects | None = None
        self._finished = False

    def reset(self, episode: EpisodeContext) -> None:
        """Make the plan for the episode's task.

        Raises:
            ScriptedPlanMissingError: The task has no plan; the message lists those that have one.
            FaultNotApplicableError: The fault does not apply to the plan; the message lists those that do.
        """
        self._arm = self._motion = self._effects = None
        self._plan = plan_for(episode.suite, episode.task_index)
        todo = self._plan
        if self.fault is not None:
            todo = faulty_plan(episode.suite, episode.task_index, self.fault)
        scene = Scene(episode.env)
        self._effects = Effects(self._plan, scene)
        self._arm = Arm(scene, np.random.default_rng(episode.seed))
        self._finished = False
        self._motion = self._episode(self._arm, todo)

    def act(self, observation: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the next action, ``(7,)``; the observation is not used, the simulator's state is.

        Raises:
            RuntimeError: ``reset`` has not been called.
        """
        if self._arm is None or self._motion is None or self._effects is None:
            raise RuntimeError("ScriptedPolicy.act needs a reset first")
        self._effects.watch()
        action = next(self._motion, None)
        return self._arm.rest() if action is None else action

    @property
    def finished(self) -> bool:
        """True once the plan is done and the arm has been still for a while."""
        return self._finished

    @property
    def labels(self) -> tuple[FaultLabel, ...]:
        """The fault's ground truth, verified by the present state; empty without a fault."""
        if self.fault is None or self._arm is None or self._effects is None:
            return ()
        step = self._plan[self.fault.action]
        label = FaultLabel(
            step.action_id,
            step.parameters,
            self.fault.action,
            self._arm.deviated_at,
            self.fault.kind,
            FAULT_KINDS[self.fault.kind].failure_class,
            self._effects.failed_first(self.fault.action),
        )
        return (label,)

    def _episode(self, arm: Arm, todo: Plan) -> Motion:
        for step in todo:
            if step.stalls:
                arm.note_deviation()
                # More than a third of the episode, so that it is seen in the states.
                yield from arm.stay(round(_STALL_STEPS + _STALL_SHARE * arm.steps))
                self._finished = True
                yield from arm.stay(1)
                return
            if step.before is not None:
                yield from step.before.motion(arm)
            if step.deviates:
                arm.note_deviation()
            yield from step.skill.motion(arm)
        yield from arm.set_fingers(OPEN, 1)
        yield from arm.move_to(arm.scene.gripper() + np.array([-0.04, 0.0, 0.04]), within_m=0.02, budget=20)
        for step_index in range(_REST_STEPS):
            self._finished = step_index == _REST_STEPS - 1
            yield arm.rest()
