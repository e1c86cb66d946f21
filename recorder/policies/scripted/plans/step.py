"""What plans are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recorder.policies.scripted.skills import Pick, Skill


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One atomic task of a plan.

    Attributes:
        action_id: Atomic task, e.g. ``"pick_up"``.
        parameters: What it is about: an object, an object and a region, or a region.
        skill: How it is done.
        before: What prepares the plan at this point without being an atomic task of its own.
        deviates: True is a fault: the step as a whole is wrong, left out or out of turn.
    """

    action_id: str
    parameters: tuple[str, ...]
    skill: Skill
    before: Skill | None = None
    deviates: bool = False


Plan = tuple[PlanStep, ...]


def pick(
    body: str, grasp_m: Sequence[float], *, yaw_rad: float = 0.0, before: Skill | None = None
) -> PlanStep:
    """Pick an object up from above; see :class:`~recorder.policies.scripted.skills.Pick`."""
    x, y, z = grasp_m
    return PlanStep("pick_up", (body,), Pick(body=body, grasp_m=(x, y, z), yaw_rad=yaw_rad), before)
