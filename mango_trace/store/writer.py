"""Writing traces: one writer a segment, one commit a trace."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mango_trace.errors import DatasetError, TraceError
from mango_trace.scene.package import ScenePackage, write_package
from mango_trace.store.column import Column
from mango_trace.store.index import TraceRecord, index_row, trace_digest, write_index
from mango_trace.store.layout import (
    ARRAYS,
    CHUNK_ROWS,
    LEVEL,
    LOCK,
    SCENES,
    SEGMENTS,
    DatasetInfo,
    codecs,
    create_dataset,
)
from mango_trace.store.location import check_local
from mango_trace.store.trace import Trace

_SEGMENT_TRACES = 512  # the index is rewritten with every commit, so a segment stays small
_OPEN_GROUPS = 4  # groups whose last chunks are in memory, about 10 MB each
_COMPONENT = re.compile(r"[A-Za-z0-9_]+")


@dataclass(slots=True)
class _Group:
    columns: dict[str, Column]
    states: int = 0
    steps: int = 0


class DatasetWriter:
    """Adds traces to a dataset.

    Several writers may work on one dataset at the same time: each has segments of its own, and so has
    the copy of one that a fork makes. A trace exists once its row is in the index; killed before that,
    nothing of it is seen.

    Args:
        root: Directory of the dataset; created when it does not exist.
        info: What a new dataset says of itself.
        level: Effort of compression, 1 to 9.
        locked: The caller holds the whole dataset already.

    Raises:
        DatasetError: The directory holds something else, or it is being compacted.
        NewerFormatError: It holds a dataset of a newer format.
    """

    def __init__(
        self, root: Path, info: DatasetInfo | None = None, *, level: int = LEVEL, locked: bool = False
    ) -> None:
        self.root = root
        self.info = create_dataset(root, info or DatasetInfo(name=root.name))
        self.segments: list[Path] = []
        self._level = level
        self._lock = contextlib.ExitStack()
        self._locked = locked
        self._segment: Path | None = None
        self._groups: dict[str, _Group] = {}
        self._rows: list[dict[str, Any]] = []
        self._process = os.getpid()
        self._hold()

    def add_scene(self, package: ScenePackage) -> str:
        """Store a scene package, once, and return its digest."""
        self._hold()
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
        self._hold()
        arrays = {name: np.ascontiguousarray(values) for name, values in trace.arrays().items()}
        self._check(trace, arrays)
        if self._segment is None or len(self._rows) >= _SEGMENT_TRACES:
            self._start_segment()
        assert self._segment is not None
        name = _group_name(trace.scene, arrays)
        group = self._group(name, arrays)
        for path, values in arrays.items():
            group.columns[path].write(values)
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
        row = index_row(record)
        write_index(self._segment, [*self._rows, row])
        self._rows.append(row)
        for column in group.columns.values():
            column.commit()
        group.states += record.n_states
        group.steps += record.n_steps
        return record

    def close(self) -> None:
        """Give up the current segment; what was added stays."""
        self._part_from_parent()
        self._end_segment()
        self._lock.close()

    def _end_segment(self) -> None:
        for name in list(self._groups):
            self._release(name)
        self._segment, self._groups, self._rows = None, {}, []

    def _hold(self) -> None:
        """Keep others from compacting the dataset until :meth:`close`; the system ends it with us."""
        self._part_from_parent()
        if not self._locked:
            self._lock.enter_context(dataset_lock(self.root, alone=False))
            self._locked = True
            self._lock.callback(setattr, self, "_locked", False)

    def _part_from_parent(self) -> None:
        """Leave the segment to the process that this one was forked from, if it was."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._segment, self._groups, self._rows, self.segments = None, {}, [], []

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _check(self, trace: Trace, arrays: dict[str, npt.NDArray[Any]]) -> None:
        name = f"{trace.metadata.task}#{trace.metadata.episode}"
        n = trace.n_states
        if not (self.root / SCENES / trace.scene).is_dir():
            raise TraceError(name, f"its scene {trace.scene[:12]} is not in the dataset")
        if "time" not in trace.states:
            raise TraceError(name, "state/time is missing")
        for path, values in arrays.items():
            expected = n if path.startswith("state/") else n - 1
            if values.ndim != 2 or len(values) != expected:
                raise TraceError(name, f"{path} has shape {values.shape}, expected {expected} rows")
            dtype = np.uint8 if path == "step/success" else np.float64
            if values.dtype != dtype:
                raise TraceError(name, f"{path} has type {values.dtype}, expected {np.dtype(dtype)}")
            if not _COMPONENT.fullmatch(path.partition("/")[2]):
                raise TraceError(name, f"{path!r} is no name of an array")

    def _start_segment(self) -> None:
        self._end_segment()
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        self._segment = self.root / SEGMENTS / f"{stamp}-{uuid.uuid4().hex[:10]}"
        self._segment.mkdir(parents=True)
        self.segments.append(self._segment)

    def _group(self, name: str, arrays: dict[str, npt.NDArray[Any]]) -> _Group:
        """The arrays for traces of one kind; those of the last few kinds stay in memory."""
        assert self._segment is not None
        group = self._groups.pop(name, None)
        if group is None:
            group = _Group(self._new_columns(name, arrays))
        self._groups[name] = group  # the last one used stands last
        for other in list(self._groups)[:-_OPEN_GROUPS]:
            self._release(other)
        return group

    def _new_columns(self, name: str, arrays: dict[str, npt.NDArray[Any]]) -> dict[str, Column]:
        assert self._segment is not None
        import zarr  # here, so that reading does not wait for it

        folder = self._segment / ARRAYS
        parent = zarr.open_group(str(folder), mode="a", zarr_format=3).require_group(name)
        columns = {}
        for path, values in arrays.items():
            width = values.shape[1]
            parent.create_array(
                path,
                shape=(0, width),
                dtype=values.dtype,
                chunks=(CHUNK_ROWS, max(1, width)),
                fill_value=0,
                **codecs(self._level, values.dtype.itemsize),
            )
            columns[path] = Column(folder / name / path, width, values.dtype, self._level)
        return columns

    def _release(self, name: str) -> None:
        for column in self._groups[name].columns.values():
            column.release()


@contextlib.contextmanager
def dataset_lock(root: Path, *, alone: bool) -> Iterator[None]:
    """Hold a dataset: many writers may, or one that rewrites it alone.

    The system lets go of it when the process dies.

    Args:
        root: Directory of the dataset.
        alone: Keep writers out.

    Raises:
        DatasetError: It is held in a way that excludes this one.
        UsageError: It is at a URL.
    """
    check_local(root)
    handle = os.open(root / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = "a recorder is still writing to it" if alone else "it is being compacted"
            raise DatasetError(f"{root}: {holder}; try again when that is done") from error
        yield
    finally:
        os.close(handle)


def checksum(values: npt.NDArray[Any]) -> str:
    """SHA-256 of the rows as they are in memory, little-endian, C order."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return hashlib.sha256(np.ascontiguousarray(little).data).hexdigest()


def _group_name(scene: str, arrays: dict[str, npt.NDArray[Any]]) -> str:
    """Traces share arrays when they share the scene and all widths."""
    widths = ",".join(f"{path}:{values.shape[1]}" for path, values in sorted(arrays.items()))
    return f"{scene[:16]}-{hashlib.sha256(widths.encode()).hexdigest()[:6]}"
