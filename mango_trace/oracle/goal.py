"""The end-state oracle: the benchmark's own goal, compiled from a task's BDDL.

The goal is a conjunction of conditions on one state. LIBERO ends a rollout at the first state, after
a step, in which it holds; that is the benchmark's protocol. What holds at the last state is another
question, and both answers are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from mango_trace.oracle.compile import compile_oracle
from mango_trace.oracle.compiled import CompiledMonitor, CompiledOracle
from mango_trace.oracle.decide import OUTCOMES, Outcome
from mango_trace.oracle.model import parse_oracle
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.predicates.signature import Predicate
from mango_trace.scene.bddl import Literal as Condition
from mango_trace.scene.bddl import Problem
from mango_trace.scene.model import Region, Scene
from mango_trace.truth import FALSE, Truth, all_of, possibly, surely

_ARTICULATION: Final = frozenset({"open", "close", "turnon", "turnoff"})
_SEATED_TILT_DEG: Final = 15.0


@dataclass(frozen=True, slots=True)
class EndState:
    """What the benchmark's goal says of one trace.

    Attributes:
        outcome: By the benchmark's protocol: whether it held after some step of the policy.
        first_success: First state in which it surely held, or ``None``.
        at_end: Whether it held at the last state.
        last_truth: Truth of each condition at the last state, in goal order.
    """

    outcome: Outcome
    first_success: int | None
    at_end: Outcome
    last_truth: tuple[int, ...]


def goal_oracle(
    problem: Problem,
    scene: Scene,
    catalogue: Mapping[str, Predicate] = CATALOGUE,
    *,
    name: str,
) -> CompiledOracle:
    """Compile a task's goal.

    Args:
        problem: The task's BDDL.
        scene: Scene of the task.
        catalogue: Predicates by name.
        name: Name of the oracle in messages.

    Returns:
        An oracle with one action, whose monitors are the conditions of the goal.

    Raises:
        SpecificationError: A condition names something that the scene or the catalogue has not.
    """
    document = {
        "instruction": problem.instruction or problem.name,
        "execution_mode": "any_order",
        "plan": [
            {
                "step": 1,
                "instruction": problem.instruction or problem.name,
                "execution_mode": "any_order",
                "actions": [
                    {
                        "action_id": "reach_goal",
                        "parameters": _names(problem.goal),
                        "monitoring": [_monitor(condition) for condition in problem.goal],
                    }
                ],
            }
        ],
    }
    oracle = parse_oracle(json.dumps(document), name)
    return compile_oracle(oracle, scene, catalogue, None, name=name)


def judge_goal(truths: Sequence[Truth], *, start: int) -> EndState:
    """Judge a trace by the benchmark's protocol.

    Args:
        truths: Truth of each condition, ``(T,)``.
        start: First state that the benchmark would check: the first after a step of the policy.

    Returns:
        Both answers; undetermined where undetermined states could change them.
    """
    holds = all_of(*truths)
    checked = holds[start:]
    found = np.flatnonzero(surely(checked))
    outcome: Outcome = "failed"
    if found.size:
        outcome = "passed"
    elif not checked.size or possibly(checked).any():
        outcome = "undetermined"
    return EndState(
        outcome=outcome,
        first_success=int(found[0]) + start if found.size else None,
        at_end=OUTCOMES[int(holds[-1])] if holds.size else "undetermined",
        last_truth=tuple(int(truth[-1]) for truth in truths if truth.size),
    )


def premise_monitors(problem: Problem, scene: Scene) -> dict[str, tuple[CompiledMonitor, ...]]:
    """What should hold once the objects have settled, as far as a scene can tell.

    Rectangles on a table only say where objects were drawn and are left out. An object that lies on
    another must also sit on it: tilted over the rim it touches it, too.

    Args:
        problem: The task's BDDL.
        scene: Scene of the task.

    Returns:
        Monitors whose conjunction is each premise, by the premise's text.
    """
    premises: dict[str, tuple[CompiledMonitor, ...]] = {}
    for condition in problem.initial:
        monitors = _premise(condition, scene)
        if monitors:
            premises[str(condition)] = monitors
    return premises


def _premise(condition: Condition, scene: Scene) -> tuple[CompiledMonitor, ...]:
    names = condition.arguments
    predicate = CATALOGUE.get(condition.predicate)
    if predicate is None or not _fits(predicate, names, scene):
        return ()
    if condition.predicate in _ARTICULATION:
        fault = predicate.check(scene, *names) if predicate.check else None
        return () if fault else (CompiledMonitor(predicate, names),)
    if condition.predicate not in ("on", "in"):
        return ()
    support = scene.item(names[1])
    if isinstance(support, Region):
        known = support.parent is not None
        return (CompiledMonitor(predicate, names),) if known else ()
    seated = CompiledMonitor(CATALOGUE["upright"], (names[0], _SEATED_TILT_DEG))
    return CompiledMonitor(predicate, names), seated


def _fits(predicate: Predicate, names: Sequence[str], scene: Scene) -> bool:
    """Whether a call has the right number of names, each of the right kind."""
    return len(names) == len(predicate.parameters) and all(
        scene.kind_of(name) in parameter.kinds
        for name, parameter in zip(names, predicate.parameters, strict=True)
    )


def same_category_instances(
    goal: CompiledOracle, scene: Scene, end: EndState
) -> list[tuple[CompiledMonitor, CompiledMonitor]]:
    """Conditions of a goal that failed at the end, each with another instance of the same category.

    A condition that the goal has anyway is left out: where both pots belong on the stove, the other
    pot is no wrong instance.

    Args:
        goal: The compiled goal.
        scene: Scene of the task.
        end: What was found of it.

    Returns:
        Pairs of a condition that was false at the last state and what to ask instead.
    """
    asked = {monitor.call for monitor in goal.monitors}
    categories = {item.name: item.category for item in scene.objects}
    found = []
    for monitor, last in zip(goal.monitors, end.last_truth, strict=False):
        if last != FALSE:
            continue
        for position, name in enumerate(monitor.arguments):
            for other, category in categories.items():
                if other == name or other in monitor.arguments or category != categories.get(str(name)):
                    continue
                arguments = (*monitor.arguments[:position], other, *monitor.arguments[position + 1 :])
                instead = replace(monitor, arguments=arguments)
                fault = monitor.predicate.check and monitor.predicate.check(scene, *arguments)
                if instead.call not in asked and not fault:
                    found.append((monitor, instead))
    return found


def _names(conditions: Sequence[Condition]) -> list[str]:
    return list(dict.fromkeys(name for condition in conditions for name in condition.arguments))


def _monitor(condition: Condition) -> dict[str, object]:
    return {
        "oracle_id": condition.predicate,
        "handle_as": {
            "function": condition.predicate,
            "arguments": list(condition.arguments),
        },
    }
