"""Writing traces: one writer a segment, one commit a trace."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import zarr

from mango_trace.errors import DatasetError, TraceError
from mango_trace.scene.package import ScenePackage, write_package
from mango_trace.store.index import TraceRecord, trace_digest, write_index
from mango_trace.store.layout import (
    ARRAYS,
    CHUNK_ROWS,
    SCENES,
    SEGMENTS,
    DatasetInfo,
    create_dataset,
    state_codecs,
)
from mango_trace.store.trace import Trace

_LOCK = "writer.lock"
_SEGMENT_TRACES = 512  # the index is rewritten with every commit, so a segment stays small


@dataclass(slots=True)
class _Group:
    arrays: dict[str, Any]
    states: int = 0
    steps: int = 0


class DatasetWriter:
    """Adds traces to a dataset.

    Several writers may work on one dataset at the same time: each has segments of its own. A trace
    exists once its row is in the index; killed before that, nothing of it is seen.

    Args:
        root: Directory of the dataset; created when it does not exist.
        info: What a new dataset says of itself.
        level: Effort of compression, 1 to 9.

    Raises:
        DatasetError: The directory holds something else.
        NewerFormatError: It holds a dataset of a newer format.
    """

    def __init__(self, root: Path, info: DatasetInfo | None = None, *, level: int = 5) -> None:
        self.root = root
        self.info = create_dataset(root, info or DatasetInfo(name=root.name))
        self._level = level
        self._segment: Path | None = None
        self._lock: contextlib.ExitStack | None = None
        self._groups: dict[str, _Group] = {}
        self._records: list[TraceRecord] = []

    def add_scene(self, package: ScenePackage) -> str:
        """Store a scene package, once, and return its digest."""
        write_package(package, self.root / SCENES)
        return package.digest

    def add(self, trace: Trace, *, recorded_at: int | None = None) -> TraceRecord:
        """Write a trace and commit it.

        Args:
            trace: The trace; its scene must have been added.
            recorded_at: Microseconds since the epoch; now, when it is not given.

        Returns:
            Its row in the index.

        Raises:
            TraceError: Its arrays do not fit together, or its scene is not in the dataset.
        """
        self._check(trace)
        arrays = {name: np.ascontiguousarray(values) for name, values in trace.arrays().items()}
        if self._segment is None or len(self._records) >= _SEGMENT_TRACES:
            self._start_segment()
        assert self._segment is not None
        name = _group_name(trace.scene, arrays)
        group = self._groups.get(name) or self._open_group(name, arrays)
        # Rows behind the last commit, left by a write that failed, are written over.
        for path, values in arrays.items():
            start = group.states if path.startswith("state/") else group.steps
            array = group.arrays[path]
            if array.shape[0] < start + len(values):
                array.resize((start + len(values), array.shape[1]))
            array[start : start + len(values)] = values
        checksums = {path: checksum(values) for path, values in arrays.items()}
        record = TraceRecord(
            trace_id=trace_digest(trace.scene, checksums, trace.metadata),
            segment=self._segment.name,
            scene=trace.scene,
            group=name,
            state_start=group.states,
            n_states=trace.n_states,
            step_start=group.steps,
            n_steps=len(trace.action),
            checksums=checksums,
            live_success=trace.live_success,
            first_success_step=trace.first_success_step,
            recorded_at=recorded_at if recorded_at is not None else time.time_ns() // 1000,
            metadata=trace.metadata,
        )
        write_index(self._segment, [*self._records, record])
        self._records.append(record)
        group.states += record.n_states
        group.steps += record.n_steps
        return record

    def close(self) -> None:
        """Give up the current segment; what was added stays."""
        if self._lock is not None:
            self._lock.close()
        self._segment, self._lock = None, None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _check(self, trace: Trace) -> None:
        name = f"{trace.metadata.task}#{trace.metadata.episode}"
        n = trace.n_states
        if not (self.root / SCENES / trace.scene).is_dir():
            raise TraceError(name, f"its scene {trace.scene[:12]} is not in the dataset")
        for path, values in trace.arrays().items():
            expected = n if path.startswith("state/") else n - 1
            if values.ndim != 2 or len(values) != expected:
                raise TraceError(name, f"{path} has shape {values.shape}, expected {expected} rows")

    def _start_segment(self) -> None:
        self.close()
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        self._segment = self.root / SEGMENTS / f"{stamp}-{uuid.uuid4().hex[:10]}"
        self._segment.mkdir(parents=True)
        self._lock = contextlib.ExitStack()
        self._lock.enter_context(segment_lock(self._segment))
        self._groups, self._records = {}, []

    def _open_group(self, name: str, arrays: dict[str, npt.NDArray[Any]]) -> _Group:
        assert self._segment is not None
        root = zarr.open_group(str(self._segment / ARRAYS), mode="a", zarr_format=3)
        group = root.require_group(name)
        created = {
            path: group.create_array(
                path,
                shape=(0, values.shape[1]),
                dtype=values.dtype,
                chunks=(CHUNK_ROWS, max(1, values.shape[1])),
                fill_value=0,
                **_codecs(values.dtype, self._level),
            )
            for path, values in arrays.items()
        }
        self._groups[name] = _Group(created)
        return self._groups[name]


@contextlib.contextmanager
def segment_lock(segment: Path) -> Iterator[None]:
    """Hold a segment for writing; the system lets go of it when the process dies.

    Raises:
        DatasetError: Another writer holds it.
    """
    with (segment / _LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DatasetError(f"{segment}: a recorder is still writing to it") from error
        yield


def checksum(values: npt.NDArray[Any]) -> str:
    """SHA-256 of the rows as they are in memory, little-endian, C order."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return hashlib.sha256(np.ascontiguousarray(little).data).hexdigest()


def _group_name(scene: str, arrays: dict[str, npt.NDArray[Any]]) -> str:
    """Traces share arrays when they share the scene and all widths."""
    widths = ",".join(f"{path}:{values.shape[1]}" for path, values in sorted(arrays.items()))
    return f"{scene[:16]}-{hashlib.sha256(widths.encode()).hexdigest()[:6]}"


def _codecs(dtype: np.dtype[Any], level: int) -> dict[str, Any]:
    return state_codecs(level) if dtype == np.float64 else {}
