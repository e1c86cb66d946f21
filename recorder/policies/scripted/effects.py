"""What the actions of a plan really brought about, seen while the episode runs.

An injected fault is no ground truth by itself: fingers that never close can still turn a knob. Here the
simulator's own state says which actions had their effect. No oracle is asked.
"""

from __future__ import annotations

from collections.abc import Mapping

from recorder.policies.scripted.plans.step import Plan, PlanStep
from recorder.policies.scripted.scene import Scene

_LIFTED_M = 0.03
_IN_HAND_M = 0.2
_CONDITIONS: Mapping[str, str] = {
    "place_in": "in",
    "place_on": "on",
    "open": "open",
    "close": "close",
    "turn_on": "turnon",
    "turn_off": "turnoff",
}
"""The benchmark's predicate that an atomic task makes true."""


class Effects:
    """Watches an episode.

    Args:
        plan: The plan without any fault.
        scene: The simulator's state, at the first step of the policy.
    """

    def __init__(self, plan: Plan, scene: Scene) -> None:
        self._plan, self._scene = plan, scene
        picked = {step.parameters[0] for step in plan if step.action_id == "pick_up"}
        self._rest_m = {body: float(scene.body(body)[2]) for body in picked}
        self._lifted: set[str] = set()

    def watch(self) -> None:
        """Look at the present state; to be called before every action."""
        hand = self._scene.gripper()
        for body, rest_m in self._rest_m.items():
            position = self._scene.body(body)
            near = float(((position - hand) ** 2).sum()) < _IN_HAND_M**2
            if near and position[2] > rest_m + _LIFTED_M:
                self._lifted.add(body)

    def failed_first(self, index: int) -> bool:
        """Whether an action did not have its effect and all before it in the plan did.

        A lift counts when it happened, other effects when they are there now.
        """
        return not self._achieved(self._plan[index]) and all(map(self._achieved, self._plan[:index]))

    def _achieved(self, step: PlanStep) -> bool:
        if step.action_id == "pick_up":
            return step.parameters[0] in self._lifted
        return self._scene.holds(_CONDITIONS[step.action_id], *step.parameters)
