"""Verdicts as rows of the database."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC
from typing import Any

import numpy as np

from mango_trace.evaluation.judging import OracleVerdict, TraceVerdict
from mango_trace.oracle import CompiledOracle
from mango_trace.scene.model import Scene
from mango_trace.signals import Validity
from mango_trace.store import Label, Trace, TraceRecord
from mango_trace.truth import Truth
from mango_trace.verdicts import Rows


def trace_row(record: TraceRecord, dataset: str) -> dict[str, Any]:
    """Row of a trace before anything is known of its states."""
    metadata = record.metadata
    first = record.first_success_step
    return {
        "trace_id": record.trace_id,
        "dataset": dataset,
        "scene": record.scene,
        "benchmark": metadata.benchmark,
        "suite": metadata.suite,
        "task_index": metadata.task_index,
        "task": metadata.task,
        "instruction": metadata.instruction,
        "policy": metadata.policy,
        "policy_version": metadata.policy_version,
        "seed": metadata.seed,
        "episode": metadata.episode,
        "init_state_id": metadata.init_state_id,
        "initial_state": "",
        "fault": metadata.fault,
        "n_states": record.n_states,
        "n_steps": record.n_steps,
        "warmup_steps": metadata.warmup_steps,
        "horizon": metadata.horizon,
        "longest_demonstration": None,
        "substeps": 1,
        "ended": metadata.ended,
        "ended_error": metadata.error,
        "live_success": record.live_success,
        "live_first_success": None if first is None else first + 1,
        "source_label": metadata.source_label,
        "fidelity": metadata.fidelity,
        "mujoco_recorded": metadata.versions.get("mujoco"),
        "versions": json.dumps(metadata.versions, sort_keys=True),
        "status": "ok",
        "status_error": None,
        "undetermined_states": None,
        "problems": [],
        "premise_violations": [],
        "recorded_at": record.recorded_at,
    }


def describe_states(
    row: dict[str, Any], trace: Trace, scene: Scene, validity: Validity, verdict: TraceVerdict
) -> None:
    """Add to a trace's row what its states say."""
    row["initial_state"] = initial_state(trace)
    row["longest_demonstration"] = scene.longest_demonstration
    row["substeps"] = scene.substeps
    row["undetermined_states"] = int((~validity.valid).sum())
    row["problems"] = [
        *validity.problems,
        *trace.metadata.notes,
        *(f"premise cannot be told: {text}" for text in verdict.undetermined_premises),
    ]
    row["premise_violations"] = list(verdict.violated_premises)


def initial_state(trace: Trace) -> str:
    """Digest of the first state's positions, by which equal starts are told."""
    first_state = np.ascontiguousarray(trace.states["qpos"][0])
    return hashlib.sha256(first_state.data).hexdigest()[:16]


def add_label_rows(rows: Rows, trace_id: str, labels: tuple[Label, ...]) -> None:
    """Rows of a trace's labels."""
    for position, label in enumerate(labels):
        row = label.model_dump(exclude={"when"})
        when = None if label.when is None else label.when.astimezone(UTC).replace(tzinfo=None)
        rows.add("labels", {"trace_id": trace_id, "position": position, "labelled_at": when, **row})


def add_verdict_rows(
    rows: Rows, trace_id: str, evaluator: str, order: str, verdict: OracleVerdict, *, intervals: bool
) -> None:
    """Rows of one oracle's verdict and of its actions."""
    compiled, judgement, termination = verdict.compiled, verdict.judgement, verdict.termination
    key = {
        "trace_id": trace_id,
        "oracle": compiled.digest,
        "evaluator": evaluator,
        "order_mode": order,
    }
    failed = judgement.first_failed
    rows.add(
        "verdicts",
        {
            **key,
            "outcome": judgement.outcome,
            "error": None,
            "passed_at": judgement.passed_at,
            "n_actions": len(compiled.actions),
            "completed": judgement.progress,
            "first_failed": failed,
            "first_failed_action": None if failed is None else action_text(compiled, failed),
            "failed_set": list(judgement.failed_set),
            "stopped_at": judgement.stopped_at,
            "reason": judgement.reason,
            "invariant_at": judgement.invariant_at,
            "first_undetermined": judgement.first_undetermined,
            "violations": judgement.violations,
            "once": termination.once,
            "at_end": termination.at_end,
            "held_k": termination.held_k,
            "sequential": termination.sequential,
            "any_order": termination.any_order,
            "once_at": termination.once_at,
            "hold": termination.hold,
            "intervals": intervals,
        },
    )
    for action, result in zip(compiled.actions, judgement.actions, strict=True):
        rows.add(
            "actions",
            {
                **key,
                "action": action.index,
                "step": action.step,
                "action_id": action.action_id,
                "parameters": list(action.parameters),
                "outcome": result.outcome,
                "started_at": result.started_at,
                "first_true": result.first_true,
                "completed_at": result.completed_at,
                "last_true": result.last_true,
                "longest_run": result.longest_run,
                "held_at_end": result.held_at_end,
                "ordering_violation": result.ordering_violation,
                "too_early_at": result.too_early_at,
            },
        )


def error_verdict_row(
    trace_id: str, compiled: CompiledOracle, evaluator: str, order: str, error: str
) -> dict[str, Any]:
    """Row of a verdict that could not be reached."""
    return {
        "trace_id": trace_id,
        "oracle": compiled.digest,
        "evaluator": evaluator,
        "order_mode": order,
        "outcome": "error",
        "error": error,
        "n_actions": len(compiled.actions),
        "completed": 0,
        "failed_set": [],
        "violations": 0,
        "once": "undetermined",
        "at_end": "undetermined",
        "held_k": "undetermined",
        "sequential": "undetermined",
        "any_order": "undetermined",
        "hold": 0,
        "intervals": False,
    }


def add_end_state_row(
    rows: Rows,
    trace_id: str,
    goal: CompiledOracle,
    evaluator: str,
    verdict: TraceVerdict | None,
    error: str | None,
    *,
    intervals: bool,
) -> None:
    """Row of the benchmark's own goal; an error leaves no evidence that could be taken for a failure."""
    found = verdict.end_state if verdict and not error else None
    rows.add(
        "end_state",
        {
            "trace_id": trace_id,
            "oracle": goal.digest,
            "evaluator": evaluator,
            "outcome": found.outcome if found else "error",
            "error": error,
            "first_success": found.first_success if found else None,
            "at_end": found.at_end if found else "undetermined",
            "lag_states": verdict.lag_states if verdict else None,
            "intervals": intervals and error is None,
        },
    )


def add_interval_rows(rows: Rows, trace_id: str, evaluator: str, truths: dict[str, Truth]) -> None:
    """Run-length truth of every predicate call."""
    rows.runs.extend((trace_id, monitor, evaluator, truth) for monitor, truth in truths.items())


def add_oracle_rows(rows: Rows, compiled: CompiledOracle, kind: str) -> None:
    """Rows of an oracle and of its monitors."""
    rows.add(
        "oracles",
        {
            "oracle": compiled.digest,
            "kind": kind,
            "name": compiled.name,
            "instruction": compiled.oracle.instruction,
            "n_actions": len(compiled.actions),
            "document": compiled.oracle.canonical,
        },
    )
    groups = [(action.index, action.monitors) for action in compiled.actions]
    for index, members in (*groups, (-1, compiled.never)):
        for position, member in enumerate(members):
            monitor = compiled.monitors[member]
            rows.add(
                "monitors",
                {
                    "oracle": compiled.digest,
                    "action": index,
                    "position": position,
                    "monitor": monitor.call,
                    "negate": monitor.negate,
                    "predicate": monitor.predicate.name,
                },
            )


def action_text(compiled: CompiledOracle, index: int) -> str:
    """Atomic task with its arguments, e.g. ``place_in(bowl_1, drawer)``."""
    action = compiled.actions[index]
    return f"{action.action_id}({', '.join(action.parameters)})"
