"""Arrow schemas of the rows that an evaluation hands to the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

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
    """

    by_table: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, table: str, row: dict[str, Any]) -> None:
        """Add one row."""
        self.by_table.setdefault(table, []).append(row)

    def extend(self, table: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add several rows."""
        self.by_table.setdefault(table, []).extend(rows)

    def to_arrow(self) -> dict[str, pa.Table]:
        """Typed tables, those without rows left out."""
        return {
            table: pa.Table.from_pylist(rows, schema=TABLES[table])
            for table, rows in self.by_table.items()
            if rows
        }
