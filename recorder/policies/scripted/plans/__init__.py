"""The plan of each supported task: atomic tasks in order, each with the skill that does it.

To add a task, write its plan in the file of its furniture (new furniture, new file) and name it in `PLANS`.
Parameters are the names that the BDDL file of the task uses.
"""

from __future__ import annotations

from collections.abc import Mapping

from recorder.policies.scripted.errors import ScriptedPlanMissingError
from recorder.policies.scripted.plans import basket, caddy, drawer, microwave, plates, stove
from recorder.policies.scripted.plans.step import Plan, PlanStep

__all__ = ["PLANS", "Plan", "PlanStep", "plan_for"]

PLANS: Mapping[tuple[str, int], Plan] = {
    ("libero_10", 0): basket.both_cans(),
    ("libero_10", 1): basket.cream_cheese_and_butter(),
    ("libero_10", 2): stove.turn_on_and_moka_pot(),
    ("libero_10", 3): drawer.bowl_in_bottom_drawer(),
    ("libero_10", 4): plates.two_mugs_on_two_plates(),
    ("libero_10", 5): caddy.book_in_back_compartment(),
    ("libero_10", 6): plates.mug_on_plate_and_pudding_beside(),
    ("libero_10", 7): basket.soup_and_cream_cheese(),
    ("libero_10", 8): stove.both_moka_pots(),
    ("libero_10", 9): microwave.mug_in_microwave(),
}
"""Plans by suite and task index."""


def plan_for(suite: str, task_index: int) -> Plan:
    """Return the plan of a task.

    Raises:
        ScriptedPlanMissingError: There is none.
    """
    try:
        return PLANS[suite, task_index]
    except KeyError:
        raise ScriptedPlanMissingError(suite, task_index, tuple(PLANS)) from None
