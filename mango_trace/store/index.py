"""The index of a segment: one row a trace, in Parquet."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError
from pydantic_core import from_json

from mango_trace.errors import DatasetError, NewerFormatError
from mango_trace.store.layout import FORMAT_VERSION, INDEX, write_atomically
from mango_trace.store.metadata import TraceMetadata

_VERSION_KEY = b"mango_trace.format_version"

_GROUP = re.compile(r"[A-Za-z0-9-]+")
_ARRAY = re.compile(r"(state|step)/[A-Za-z0-9_]+")
_REQUIRED = frozenset({"state/time", "state/qpos", "step/action", "step/reward", "step/success"})

_SCHEMA = pa.schema(
    [
        ("trace_id", pa.string()),
        ("scene", pa.string()),
        ("group", pa.string()),
        ("state_start", pa.int64()),
        ("n_states", pa.int64()),
        ("step_start", pa.int64()),
        ("n_steps", pa.int64()),
        ("checksums", pa.string()),
        ("live_success", pa.bool_()),
        ("first_success_step", pa.int64()),
        ("recorded_at", pa.timestamp("us", tz="UTC")),
        ("metadata", pa.string()),
    ],
    metadata={_VERSION_KEY: str(FORMAT_VERSION).encode()},
)


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """Where a trace lies and what it is.

    Attributes:
        trace_id: Digest of its scene, numbers and origin.
        segment: Name of its segment.
        scene: Digest of its scene package.
        group: Array group in the segment.
        state_start: First row in the state arrays.
        n_states: Number of states.
        step_start: First row in the step arrays.
        n_steps: Number of steps, one less than states.
        checksums: SHA-256 of each array's rows, by array.
        live_success: Whether the benchmark's own check was ever true while it ran.
        first_success_step: Step after which it first was.
        recorded_at: When it was committed, microseconds since the epoch (UTC).
        metadata: Where it comes from.
        samples: Its stratum in each sample that it was drawn for, by the sample's name; from a file
            beside the traces, like the labels of people, and no part of the index.
    """

    trace_id: str
    segment: str
    scene: str
    group: str
    state_start: int
    n_states: int
    step_start: int
    n_steps: int
    checksums: Mapping[str, str]
    live_success: bool | None
    first_success_step: int | None
    recorded_at: int
    metadata: TraceMetadata
    samples: Mapping[str, str] = field(default_factory=dict)


def trace_digest(scene: str, checksums: Mapping[str, str], metadata: TraceMetadata) -> str:
    """Identity of a trace: what it holds and where it comes from, not when it was recorded.

    Labels are opinions about a trace and not part of it. Fields at their defaults are left out, so that
    a field that comes later does not rename the traces that are there.
    """
    origin = metadata.model_dump(mode="json", exclude={"labels"}, exclude_defaults=True)
    content = json.dumps([scene, dict(sorted(checksums.items())), origin], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def index_row(record: TraceRecord) -> dict[str, Any]:
    """A trace as a row of the index."""
    return {
        "trace_id": record.trace_id,
        "scene": record.scene,
        "group": record.group,
        "state_start": record.state_start,
        "n_states": record.n_states,
        "step_start": record.step_start,
        "n_steps": record.n_steps,
        "checksums": json.dumps(dict(record.checksums), sort_keys=True),
        "live_success": record.live_success,
        "first_success_step": record.first_success_step,
        "recorded_at": record.recorded_at,
        "metadata": record.metadata.model_dump_json(),
    }


def write_index(segment: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Replace the index of a segment in one step by rows from :func:`index_row`."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=_SCHEMA), sink, compression="zstd")
    write_atomically(segment / INDEX, sink.getvalue().to_pybytes())


def read_index(segment: Path) -> list[TraceRecord]:
    """Read the index of a segment.

    Raises:
        DatasetError: It is missing, cut off or malformed.
        NewerFormatError: Written by a newer version.
    """
    path = segment / INDEX
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []  # its writer was killed before the first trace was complete
    try:
        # Not read_table: it brings in pandas and threads that may outlive the interpreter.
        table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise DatasetError(f"{path}: {error}") from error
    try:
        version = int((table.schema.metadata or {}).get(_VERSION_KEY, b"0"))
    except ValueError as error:
        raise DatasetError(f"{path}: its format version is no number") from error
    if version > FORMAT_VERSION:
        raise NewerFormatError(str(path), version, FORMAT_VERSION)
    missing = [name for name in _SCHEMA.names if name not in table.schema.names]
    if missing:
        raise DatasetError(f"{path}: columns are missing: {', '.join(missing)}")
    table = table.select(_SCHEMA.names)
    try:
        # As a number: a timestamp as a Python object would bring in pandas.
        place = table.schema.get_field_index("recorded_at")
        when = table["recorded_at"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
        table = table.set_column(place, "recorded_at", when)
    except pa.ArrowException as error:
        raise DatasetError(f"{path}: recorded_at is no time: {error}") from error
    return [_record(row, segment.name, path) for row in table.to_pylist()]


def _record(row: dict[str, Any], segment: str, path: Path) -> TraceRecord:
    try:
        record = TraceRecord(
            trace_id=str(row["trace_id"]),
            segment=segment,
            scene=str(row["scene"]),
            group=str(row["group"]),
            state_start=int(row["state_start"]),
            n_states=int(row["n_states"]),
            step_start=int(row["step_start"]),
            n_steps=int(row["n_steps"]),
            checksums=dict(from_json(row["checksums"], cache_strings="keys")),
            live_success=row["live_success"],
            first_success_step=row["first_success_step"],
            recorded_at=int(row["recorded_at"]),
            metadata=_slim(TraceMetadata.model_validate_json(row["metadata"])),
        )
    except (ValidationError, ValueError, TypeError, AttributeError) as error:
        raise DatasetError(f"{path}: trace {row['trace_id']}: {error}") from error
    problem = _problem(record)
    if problem:
        raise DatasetError(f"{path}: trace {record.trace_id}: {problem}")
    return record


_fields_given: dict[frozenset[str], set[str]] = {}


def _slim(metadata: TraceMetadata) -> TraceMetadata:
    """The same with one set, shared by all, for the fields that were given: it is half of a record."""
    given = metadata.model_fields_set
    shared = _fields_given.setdefault(frozenset(given), given)
    object.__setattr__(metadata, "__pydantic_fields_set__", shared)
    return metadata


def _problem(record: TraceRecord) -> str | None:
    """What is wrong with a row that another program may have written; names become paths."""
    if not _GROUP.fullmatch(record.group):
        return f"{record.group!r} is no name of a group"
    problem = _arrays_problem(tuple(record.checksums))
    if problem:
        return problem
    if min(record.state_start, record.step_start, record.n_steps) < 0:
        return "a negative number of rows"
    if record.n_states != record.n_steps + 1:
        return f"{record.n_states} states do not go with {record.n_steps} steps"
    return None


@lru_cache(maxsize=64)
def _arrays_problem(names: tuple[str, ...]) -> str | None:
    """What is wrong with the names of a trace's arrays; most traces have the same."""
    bad = sorted(name for name in names if not _ARRAY.fullmatch(name))
    if bad:
        return f"{bad[0]!r} is no name of an array"
    missing = sorted(_REQUIRED.difference(names))
    return f"no checksum of {', '.join(missing)}" if missing else None
