"""The plan of each supported task: atomic tasks in order, each with the skill that does it.

To add a task, write its plan in the file of its furniture (new furniture, new file) and name it in `PLANS`.
Parameters are the names that the BDDL file of the task uses.
"""

from __future__ import annotations

from collections.abc import Mapping

from recorder.policies.scripted.errors import ScriptedPlanMissingError
from recorder.policies.scripted.plans import basket, bowls, caddy, drawer, microwave, plates, stove
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
    ("libero_goal", 1): stove.bowl_on_stove(),
    ("libero_goal", 6): bowls.cream_cheese_in_bowl(),
    ("libero_goal", 7): stove.turn_on_only(),
    ("libero_goal", 8): plates.bowl_on_plate(beside_m=(0.05, 0.23), drop_m=(-0.09, 0.04)),
    ("libero_object", 0): basket.one_can("alphabet_soup_1"),
    ("libero_object", 1): basket.one_box("cream_cheese_1"),
    ("libero_object", 5): basket.one_can("tomato_sauce_1"),
    ("libero_spatial", 0): plates.bowl_on_plate(beside_m=(-0.14, -0.20), drop_m=(-0.03, -0.10)),
    ("libero_spatial", 2): plates.bowl_on_plate(beside_m=(-0.13, 0.0), drop_m=(-0.04, -0.01)),
    ("libero_90", 7): drawer.open_top_drawer(),
    ("libero_90", 11): drawer.open_top_drawer(),
    ("libero_90", 20): stove.turn_on_only(),
    ("libero_90", 24): drawer.bowl_in_bottom_drawer_left_open(),
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
