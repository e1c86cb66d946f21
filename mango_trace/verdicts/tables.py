"""Arrow schemas of the rows that an evaluation hands to the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mango_trace.truth import NAMES, Truth

_TEXTS = pa.list_(pa.string())

TABLES: Final[dict[str, pa.Schema]] = {
    "traces": pa.schema(
        [
            ("trace_id", pa.string()),
            ("dataset", pa.string()),
            ("scene", pa.string()),
            ("benchmark", pa.string()),
            ("suite", pa.string()),
            ("task_index", pa.int32()),
            ("task", pa.string()),
            ("instruction", pa.string()),
            ("policy", pa.string()),
            ("policy_version", pa.string()),
            ("seed", pa.int64()),
            ("episode", pa.int32()),
            ("init_state_id", pa.int32()),
            ("initial_state", pa.string()),
            ("fault", pa.string()),
            ("n_states", pa.int32()),
            ("n_steps", pa.int32()),
            ("warmup_steps", pa.int32()),
            ("horizon", pa.int32()),
            ("longest_demonstration", pa.int32()),
            ("substeps", pa.int32()),
            ("ended", pa.string()),
            ("ended_error", pa.string()),
            ("live_success", pa.bool_()),
            ("live_first_success", pa.int32()),
            ("source_label", pa.bool_()),
            ("fidelity", pa.string()),
            ("mujoco_recorded", pa.string()),
            ("versions", pa.string()),
            ("status", pa.string()),
            ("status_error", pa.string()),
            ("undetermined_states", pa.int32()),
            ("problems", _TEXTS),
            ("premise_violations", _TEXTS),
            ("recorded_at", pa.timestamp("us")),
        ]
    ),
    "verdicts": pa.schema(
        [
            ("trace_id", pa.string()),
            ("oracle", pa.string()),
            ("evaluator", pa.string()),
            ("order_mode", pa.string()),
            ("outcome", pa.string()),
            ("error", pa.string()),
            ("passed_at", pa.int32()),
            ("n_actions", pa.int32()),
            ("completed", pa.int32()),
            ("first_failed", pa.int32()),
            ("first_failed_action", pa.string()),
            ("failed_set", pa.list_(pa.int32())),
            ("stopped_at", pa.int32()),
            ("reason", pa.string()),
            ("invariant_at", pa.int32()),
            ("first_undetermined", pa.int32()),
            ("violations", pa.int32()),
            ("once", pa.string()),
            ("at_end", pa.string()),
            ("held_k", pa.string()),
            ("sequential", pa.string()),
            ("any_order", pa.string()),
            ("once_at", pa.int32()),
            ("hold", pa.int32()),
            ("intervals", pa.bool_()),
        ]
    ),
    "actions": pa.schema(
        [
            ("trace_id", pa.string()),
            ("oracle", pa.string()),
            ("evaluator", pa.string()),
            ("order_mode", pa.string()),
            ("action", pa.int32()),
            ("step", pa.int32()),
            ("action_id", pa.string()),
            ("parameters", _TEXTS),
            ("outcome", pa.string()),
            ("started_at", pa.int32()),
            ("first_true", pa.int32()),
            ("completed_at", pa.int32()),
            ("last_true", pa.int32()),
            ("longest_run", pa.int32()),
            ("held_at_end", pa.bool_()),
            ("ordering_violation", pa.bool_()),
            ("too_early_at", pa.int32()),
        ]
    ),
    "intervals": pa.schema(
        [
            ("trace_id", pa.string()),
            ("monitor", pa.string()),
            ("evaluator", pa.string()),
            ("first_state", pa.int32()),
            ("last_state", pa.int32()),
            ("truth", pa.string()),
        ]
    ),
    "labels": pa.schema(
        [
            ("trace_id", pa.string()),
            ("who", pa.string()),
            ("position", pa.int32()),
            ("labelled_at", pa.timestamp("us")),
            ("action_id", pa.string()),
            ("parameters", _TEXTS),
            ("action_index", pa.int32()),
            ("state", pa.int32()),
            ("failure_class", pa.string()),
            ("verified", pa.bool_()),
            ("note", pa.string()),
        ]
    ),
    "samples": pa.schema(
        [
            ("trace_id", pa.string()),
            ("sample", pa.string()),
            ("stratum", pa.string()),
        ]
    ),
    "end_state": pa.schema(
        [
            ("trace_id", pa.string()),
            ("oracle", pa.string()),
            ("evaluator", pa.string()),
            ("outcome", pa.string()),
            ("error", pa.string()),
            ("first_success", pa.int32()),
            ("at_end", pa.string()),
            ("lag_states", pa.int32()),
            ("intervals", pa.bool_()),
        ]
    ),
    "oracles": pa.schema(
        [
            ("oracle", pa.string()),
            ("kind", pa.string()),
            ("name", pa.string()),
            ("instruction", pa.string()),
            ("n_actions", pa.int32()),
            ("document", pa.string()),
        ]
    ),
    "monitors": pa.schema(
        [
            ("oracle", pa.string()),
            ("action", pa.int32()),
            ("position", pa.int32()),
            ("monitor", pa.string()),
            ("negate", pa.bool_()),
            ("predicate", pa.string()),
        ]
    ),
}
"""Columns of every table that rows are added to, as ``schema.sql`` has them."""


@dataclass(slots=True)
class Rows:
    """Rows by table, before they go to the database.

    Attributes:
        by_table: Rows of each table, as dictionaries.
        runs: Truth over time: trace, monitor, evaluator, and the truth of every state, ``(T,)``.
    """

    by_table: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    runs: list[tuple[str, str, str, Truth]] = field(default_factory=list)

    def add(self, table: str, row: dict[str, Any]) -> None:
        """Add one row."""
        self.by_table.setdefault(table, []).append(row)

    def to_arrow(self) -> dict[str, pa.Table]:
        """Typed tables, those without rows left out."""
        tables = {
            table: pa.Table.from_pylist(rows, schema=TABLES[table])
            for table, rows in self.by_table.items()
            if rows
        }
        intervals = _intervals([run for run in self.runs if run[3].size])
        if len(intervals):
            tables["intervals"] = intervals
        return tables


def _intervals(runs: Sequence[tuple[str, str, str, Truth]]) -> pa.Table:
    """Runs of equal truth as rows: most rows of an evaluation, so built by columns."""
    if not runs:
        return TABLES["intervals"].empty_table()
    traces, monitors, evaluators, truths = zip(*runs, strict=True)
    lengths = np.array([len(truth) for truth in truths])
    begins = np.cumsum(lengths) - lengths
    joined = np.concatenate(truths)
    changes = np.ones(len(joined), dtype=np.bool_)
    changes[1:] = joined[1:] != joined[:-1]
    changes[begins] = True
    first = np.flatnonzero(changes)
    stop = np.append(first[1:], len(joined))
    of = np.searchsorted(begins, first, side="right") - 1
    texts = [_repeated(column, of) for column in (traces, monitors, evaluators)]
    states = [pa.array((values - begins[of]).astype(np.int32)) for values in (first, stop - 1)]
    return pa.Table.from_arrays(
        [*texts, *states, _repeated(NAMES, joined[first])], schema=TABLES["intervals"]
    )


def _repeated(texts: Sequence[str], which: npt.NDArray[Any]) -> pa.Array:
    return pa.array(texts, pa.string()).take(pa.array(which.astype(np.int32)))
