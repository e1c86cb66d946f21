"""Labels that people give to stored traces: which action failed first.

They are opinions, so they stand beside the traces in a file of their own, ``DATASET/labels.jsonl``, one
label a line. Several people may label a trace, and one person may do so again; nothing is overwritten.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import ConfigDict, ValidationError

from mango_trace.errors import DatasetError, UsageError
from mango_trace.store.layout import write_atomically
from mango_trace.store.metadata import INJECTED, Label
from mango_trace.store.sidecar import alone, read_entries

LABELS: Final = "labels.jsonl"
_LOCK: Final = "labels.lock"
_ACTION: Final = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*")

NO_FAILURE: Final = "none"
"""Written instead of an action: the person saw none fail."""

COLUMNS: Final = ("trace_id", "who", "when", "first_failed", "action_index", "state", "failure_class", "note")
"""Columns of the CSV form."""


class TraceLabel(Label):
    """A label with the trace that it is about."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    trace_id: str

    @property
    def label(self) -> Label:
        """The label alone."""
        return Label(**self.model_dump(exclude={"trace_id"}))


def read_labels(root: Path) -> dict[str, tuple[Label, ...]]:
    """Labels of a dataset by trace, in the order in which they were given.

    Raises:
        DatasetError: A line is no label; it is named.
    """
    found: dict[str, list[Label]] = {}
    for _, entry in read_entries(root / LABELS, TraceLabel):
        found.setdefault(entry.trace_id, []).append(entry.label)
    return {trace_id: tuple(labels) for trace_id, labels in found.items()}


def add_labels(root: Path, labels: Sequence[TraceLabel]) -> int:
    """Add labels to a dataset; those that are there already are passed over.

    Args:
        root: Directory of the dataset.
        labels: The labels.

    Returns:
        How many were new.
    """
    with alone(root / _LOCK):
        there = {
            TraceLabel(trace_id=trace_id, **label.model_dump())
            for trace_id, known in read_labels(root).items()
            for label in known
        }
        new = [label for label in dict.fromkeys(labels) if label not in there]
        if new:
            path = root / LABELS
            before = path.read_bytes() if path.exists() else b""
            write_atomically(path, before + b"".join(f"{one.model_dump_json()}\n".encode() for one in new))
    return len(new)


def check_given(label: Label) -> None:
    """See that a person can give a label.

    Raises:
        UsageError: It claims to be that of an injected fault, or gives a class to no failure.
    """
    if label.who == INJECTED:
        raise UsageError(f"{INJECTED!r} is the name of injected faults; a person needs another one")
    if label.action_id is None and label.failure_class is not None:
        raise UsageError(f"where nothing failed there is no failure class such as {label.failure_class!r}")


def action_text(label: Label) -> str:
    """The first failed action as it is written: ``place_in(bowl_1, drawer)``, or ``none``."""
    return NO_FAILURE if label.action_id is None else f"{label.action_id}({', '.join(label.parameters)})"


def parse_action(text: str) -> tuple[str | None, tuple[str, ...]]:
    """Read what :func:`action_text` writes.

    Raises:
        ValueError: The text has another form.
    """
    if text.strip() == NO_FAILURE:
        return None, ()
    match = _ACTION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no action; write it like place_in(bowl_1, drawer), or {NO_FAILURE}")
    names = tuple(name.strip() for name in match[2].split(",") if name.strip())
    return match[1], names


def to_csv(labels: Mapping[str, Iterable[Label]]) -> str:
    """Labels by trace as CSV with the columns :data:`COLUMNS`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for trace_id, found in labels.items():
        for label in found:
            row = label.model_dump(mode="json", exclude={"action_id", "parameters", "verified"})
            writer.writerow({"trace_id": trace_id, "first_failed": action_text(label), **row})
    return text.getvalue()


def from_csv(text: str, source: str) -> list[TraceLabel]:
    """Read labels from CSV.

    Args:
        text: With a header; ``trace_id``, ``who`` and ``first_failed`` are needed, other columns of
            :data:`COLUMNS` may be there.
        source: Its name in messages.

    Raises:
        DatasetError: With every line that is no label.
    """
    reader = csv.DictReader(io.StringIO(text))
    columns = reader.fieldnames or []
    missing = [name for name in ("trace_id", "who", "first_failed") if name not in columns]
    unknown = [name for name in columns if name not in COLUMNS]
    if missing or unknown:
        problem = f"missing {', '.join(missing)}" if missing else f"unknown {', '.join(map(str, unknown))}"
        raise DatasetError(f"{source}: columns: {problem}; there can be: {', '.join(COLUMNS)}")
    labels, problems = [], []
    for row in reader:
        try:
            labels.append(_from_row(row))
        except (ValidationError, ValueError) as error:
            problems.append(f"line {reader.line_num}: {error}")
    if problems:
        raise DatasetError(f"{source}: " + "; ".join(problems))
    return labels


def _from_row(row: Mapping[str, Any]) -> TraceLabel:
    if None in row or None in row.values():
        raise ValueError("another number of fields than the header has")
    action_id, parameters = parse_action(row["first_failed"])
    rest = {name: value for name, value in row.items() if name != "first_failed" and value != ""}
    return TraceLabel.model_validate({**rest, "action_id": action_id, "parameters": parameters})
