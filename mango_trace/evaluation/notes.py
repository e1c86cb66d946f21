"""Notes on a trace that no verdict changes for, but that its reader should know."""

from __future__ import annotations

import mujoco

from mango_trace.oracle import CompiledOracle
from mango_trace.oracle.goal import EndState, same_category_instances
from mango_trace.signals import SceneKinematics
from mango_trace.store import Trace, TraceMetadata
from mango_trace.truth import TRUE


def version_notes(
    metadata: TraceMetadata, model: mujoco.MjModel, evaluating: str = mujoco.__version__
) -> list[str]:
    """Say when a trace was recorded with another MuJoCo than the one that judges it.

    What margin and gap mean changed after MuJoCo 3.4, so ``contact`` of such geoms depends on the
    version; ``touching`` does not.

    Args:
        metadata: Where the trace comes from.
        model: Model of its scene.
        evaluating: Version that judges it.
    """
    recorded = metadata.versions.get("mujoco")
    if recorded is None or recorded == evaluating:
        return []
    notes = [f"recorded with mujoco {recorded}, evaluated with {evaluating}"]
    if any(values.any() for values in (model.geom_margin, model.geom_gap, model.pair_margin, model.pair_gap)):
        notes.append(
            f"margin/gap semantics differ (recorded {recorded}, evaluated {evaluating}): contacts of "
            "geoms that have them depend on the version"
        )
    return notes


def instance_notes(
    trace: Trace, kinematics: SceneKinematics, goal: CompiledOracle, end: EndState | None
) -> list[str]:
    """Say when a goal failed, and another instance of the same category came to satisfy a condition.

    Only the settled and the last state are looked at; what another instance satisfied from the
    start says nothing about the policy.

    Args:
        trace: The trace.
        kinematics: Its scene.
        goal: The benchmark's goal.
        end: What was found of it.
    """
    if end is None or end.outcome != "failed":
        return []
    candidates = same_category_instances(goal, kinematics.scene, end)
    settled, last = trace.metadata.warmup_steps, trace.n_states - 1
    if not candidates or settled >= last:
        return []
    states = {name: values[[settled, last]] for name, values in trace.signals_input.items()}
    signals = kinematics.signals(states, overrides=trace.metadata.overrides)
    notes = []
    for asked, instead in candidates:
        before, after = instead.apply(instead.predicate.evaluate(signals, *instead.arguments))
        if after == TRUE and before != TRUE:
            notes.append(f"same-category instance satisfies goal: {instead.key} instead of {asked.key}")
    return notes
