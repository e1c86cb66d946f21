"""A verdict database from hand-made rows, so that every number can be counted by hand."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from mango_trace.verdicts import Rows, VerdictDatabase

EVALUATOR = "1/test"
ORACLE = "a" * 64
GOAL = "e" * 64


class Book:
    """Rows of a verdict database; what is not said has a value that does not matter."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = Rows()
        self.problems: list[tuple[str, str]] = []
        self.oracle(ORACLE, "task_a")
        self.oracle(GOAL, "task_a.end_state", kind="end_state", n_actions=1)

    def oracle(self, digest: str, name: str, kind: str = "fine_grained", n_actions: int = 2) -> None:
        self.rows.add(
            "oracles",
            {
                "oracle": digest,
                "kind": kind,
                "name": name,
                "instruction": "do it",
                "n_actions": n_actions,
                "document": "{}",
            },
        )

    def monitor(self, digest: str, action: int, position: int, call: str, negate: bool = False) -> None:
        self.rows.add(
            "monitors",
            {
                "oracle": digest,
                "action": action,
                "position": position,
                "monitor": call,
                "negate": negate,
                "predicate": call.split("(")[0],
            },
        )

    def trace(self, trace_id: str, **values: Any) -> str:
        row = {
            "trace_id": trace_id,
            "dataset": "runs",
            "scene": "s",
            "benchmark": "libero",
            "suite": "libero_10",
            "task_index": 0,
            "task": "task_a",
            "instruction": "do it",
            "policy": "pi",
            "policy_version": "1",
            "seed": 0,
            "episode": 0,
            "init_state_id": 0,
            "initial_state": "start",
            "n_states": 101,
            "n_steps": 100,
            "warmup_steps": 0,
            "horizon": 100,
            "substeps": 25,
            "ended": "truncated",
            "fidelity": "integration",
            "mujoco_recorded": "3.3.7",
            "versions": "{}",
            "status": "ok",
            "undetermined_states": 0,
            "problems": [],
            "premise_violations": [],
            "recorded_at": datetime(2026, 1, 1),
        }
        assert values.keys() <= {*row, *_OPTIONAL}
        self.rows.add("traces", row | values)
        return trace_id

    def verdict(self, trace_id: str, outcome: str, oracle: str = ORACLE, **values: Any) -> None:
        said = outcome if outcome in ("passed", "failed") else "undetermined"
        self.rows.add(
            "verdicts",
            {
                "trace_id": trace_id,
                "oracle": oracle,
                "evaluator": EVALUATOR,
                "order_mode": "report",
                "outcome": outcome,
                "n_actions": 2,
                "completed": 2 if outcome == "passed" else 0,
                "failed_set": [],
                "violations": 0,
                "once": said,
                "at_end": said,
                "held_k": said,
                "sequential": said,
                "any_order": said,
                "hold": 10,
                "intervals": True,
            }
            | values,
        )

    def end(self, trace_id: str, outcome: str, at_end: str | None = None, **values: Any) -> None:
        said = outcome if outcome in ("passed", "failed") else "undetermined"
        self.rows.add(
            "end_state",
            {
                "trace_id": trace_id,
                "oracle": GOAL,
                "evaluator": EVALUATOR,
                "outcome": outcome,
                "at_end": at_end or said,
                "first_success": 40 if outcome == "passed" else None,
                "lag_states": 0,
                "intervals": True,
            }
            | values,
        )

    def judged(self, trace_id: str, ours: str, theirs: str, **values: Any) -> str:
        """A trace with both verdicts."""
        self.trace(trace_id, **values)
        self.verdict(trace_id, ours)
        self.end(trace_id, theirs)
        return trace_id

    def action(self, trace_id: str, index: int, outcome: str, **values: Any) -> None:
        self.rows.add(
            "actions",
            {
                "trace_id": trace_id,
                "oracle": ORACLE,
                "evaluator": EVALUATOR,
                "order_mode": "report",
                "action": index,
                "step": 1,
                "action_id": ("pick_up", "place_in")[index % 2],
                "parameters": ["bowl"] if index % 2 == 0 else ["bowl", "drawer"],
                "outcome": outcome,
                "longest_run": 0,
                "held_at_end": False,
                "ordering_violation": False,
            }
            | values,
        )

    def label(self, trace_id: str, action_id: str | None, parameters: list[str], **values: Any) -> None:
        row = {"trace_id": trace_id, "who": "injected", "position": 0, "note": ""}
        self.rows.add("labels", {**row, "action_id": action_id, "parameters": parameters, **values})

    def sample(self, name: str, **strata: str) -> None:
        """Traces of a sample with their strata."""
        for trace_id, stratum in strata.items():
            self.rows.add("samples", {"trace_id": trace_id, "sample": name, "stratum": stratum})

    def intervals(self, trace_id: str, call: str, *runs: tuple[int, int, str]) -> None:
        for first, last, truth in runs:
            self.rows.add(
                "intervals",
                {
                    "trace_id": trace_id,
                    "monitor": call,
                    "evaluator": EVALUATOR,
                    "first_state": first,
                    "last_state": last,
                    "truth": truth,
                },
            )

    def close(self) -> Path:
        """Write everything, as a finished run."""
        with VerdictDatabase(self.path) as database:
            run = database.start_run(EVALUATOR, "3.3.7", "report")
            database.commit([self.rows.to_arrow()])
            for subject, message in self.problems:
                database.note_problem(run, subject, message)
            database.finish_run(run, len(self.rows.by_table.get("traces", [])), 0)
        return self.path


_OPTIONAL = (
    "fault",
    "longest_demonstration",
    "ended_error",
    "live_success",
    "live_first_success",
    "source_label",
    "status_error",
)
