"""How runs fail: classes that can be seen in recorded states, in three families and two others.

Source of the families manipulation, motion and planning: the failure categories of the metamorphic-testing
study of vision-language-action models; the classes under them are this project's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class FailureClass:
    """One way to fail.

    Attributes:
        slug: Its stable name.
        family: ``manipulation``, ``motion``, ``planning``, ``outcome`` or ``infrastructure``; what is
            infrastructure is no failure of the policy.
        meaning: What the states show.
    """

    slug: str
    family: str
    meaning: str


_CLASSES: Final = (
    FailureClass("never_grasped", "manipulation", "the hand came near, the target was never held"),
    FailureClass("missed_approach", "manipulation", "the hand never came near the target"),
    FailureClass("slipped_or_dropped", "manipulation", "held, then lost before it was placed"),
    FailureClass("misplaced", "manipulation", "let go and at rest where it should not be"),
    FailureClass("not_released", "manipulation", "at its place, but still held at the end"),
    FailureClass("articulation_incomplete", "manipulation", "moved, but not past the threshold"),
    FailureClass("articulation_untouched", "manipulation", "drawer, door or knob never moved"),
    FailureClass("unstable", "manipulation", "true for a few states only, or the object toppled"),
    FailureClass("collision", "motion", "hard contact with something that the plan does not name"),
    FailureClass("inefficient", "motion", "done, on a path more than twice as long as its waypoints ask"),
    FailureClass("jitter", "motion", "less smooth than successful runs are"),
    FailureClass("stalled", "motion", "no motion for the last third while unfinished"),
    FailureClass("wrong_object", "planning", "another object went through what was meant for the target"),
    FailureClass("wrong_target", "planning", "the right object in another region"),
    FailureClass("wrong_order", "planning", "the effect came before its predecessor was complete"),
    FailureClass("skipped_step", "planning", "later actions were completed, this one was never tried"),
    FailureClass("undone", "planning", "completed, then false again at the end"),
    FailureClass("ignored_instruction", "planning", "the arm moved, nothing of the plan was tried"),
    FailureClass("timeout", "outcome", "the horizon was reached on the way"),
    FailureClass("simulation_reset", "infrastructure", "the simulation started over inside the run"),
    FailureClass("policy_error", "infrastructure", "the policy's program failed"),
    FailureClass("recording_error", "infrastructure", "the recording failed"),
)

TAXONOMY: Final[Mapping[str, FailureClass]] = MappingProxyType({entry.slug: entry for entry in _CLASSES})
"""Every class by its slug. Data may hold others; they are kept as they are."""
