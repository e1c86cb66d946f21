"""What plans are made of."""

from __future__ import annotations

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
        decoy: How another object of the scene is picked up by mistake; None where that is not known.
        undo: What takes its effect away again besides putting an object back; None where that is not known.
        deviates: True is a fault: the step as a whole is wrong, left out or out of turn.
        stalls: True is a fault: the arm stays where it is, before this step, to the end of the episode.
    """

    action_id: str
    parameters: tuple[str, ...]
    skill: Skill
    before: Skill | None = None
    decoy: Pick | None = None
    undo: Skill | None = None
    deviates: bool = False
    stalls: bool = False


Plan = tuple[PlanStep, ...]


def pick(
    body: str,
    grasp_m: tuple[float, float, float],
    *,
    yaw_rad: float = 0.0,
    before: Skill | None = None,
    decoy: Pick | None = None,
) -> PlanStep:
    """Pick an object up from above; see :class:`~recorder.policies.scripted.skills.Pick`."""
    return PlanStep("pick_up", (body,), Pick(body=body, grasp_m=grasp_m, yaw_rad=yaw_rad), before, decoy)
