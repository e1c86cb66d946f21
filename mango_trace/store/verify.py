"""Checking a dataset and rewriting it compactly."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mango_trace.errors import DatasetError, MangoTraceError
from mango_trace.store.dataset import Dataset
from mango_trace.store.index import TraceRecord
from mango_trace.store.layout import SCENES, SEGMENTS
from mango_trace.store.writer import DatasetWriter, segment_lock

_COMPACT_LEVEL = 9


@dataclass(frozen=True, slots=True)
class Check:
    """Outcome of checking one trace.

    Attributes:
        record: The trace.
        problem: What is wrong with it, or ``None``.
    """

    record: TraceRecord
    problem: str | None


def verify_dataset(dataset: Dataset) -> Iterator[Check]:
    """Read every trace and its scene and compare them with their checksums.

    Args:
        dataset: The dataset; problems of whole segments are in ``dataset.problems``.

    Yields:
        One outcome for each trace, in stored order.
    """
    for record in in_stored_order(dataset.records):
        try:
            dataset.scene(record.scene)
            dataset.load(record)
        except MangoTraceError as error:
            yield Check(record, getattr(error, "reason", str(error)))
        else:
            yield Check(record, None)


def in_stored_order(records: Iterable[TraceRecord]) -> list[TraceRecord]:
    """Order in which neighbouring traces share chunks."""
    return sorted(records, key=lambda record: (record.segment, record.group, record.state_start))


def compact_dataset(root: Path, source: Dataset | None = None) -> tuple[int, int]:
    """Merge all segments into few, without rows that belong to no trace.

    The new segments are written and read back before the old ones go; killed in between, both are
    there and every trace is still listed once.

    Args:
        root: Directory of the dataset.
        source: The opened dataset, if it is open already.

    Returns:
        Number of traces, and of segments that were merged.

    Raises:
        DatasetError: Something in the dataset is broken, or a recorder is still writing to it;
            nothing is changed.
    """
    dataset = source or Dataset(root)
    records = dataset.records
    if dataset.problems:
        raise DatasetError(
            f"{root}: not compacted, some of it cannot be read: "
            + "; ".join(str(problem) for problem in dataset.problems)
        )
    old = [path for path in (root / SEGMENTS).iterdir() if path.is_dir()]
    with contextlib.ExitStack() as stack:
        for path in old:
            stack.enter_context(segment_lock(path))
        writer = DatasetWriter(root, level=_COMPACT_LEVEL)
        for record in sorted(records, key=lambda record: (record.scene, record.trace_id)):
            writer.add(dataset.load(record), recorded_at=record.recorded_at)
        writer.close()
        gone = frozenset(path.name for path in old)
        merged = Dataset(root, without_segments=gone)
        bad = sum(check.problem is not None for check in verify_dataset(merged))
        if bad or {r.trace_id for r in merged.records} != {r.trace_id for r in records}:
            raise DatasetError(f"{root}: not compacted, {bad} copied traces do not verify")
        for path in old:
            shutil.rmtree(path)
    _drop_unused_scenes(root, {record.scene for record in records})
    return len(records), len(old)


def _drop_unused_scenes(root: Path, used: set[str]) -> None:
    for path in (root / SCENES).iterdir():
        if path.name not in used:
            shutil.rmtree(path)


def size_on_disk(path: Path) -> int:
    """Bytes of all files below ``path``."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
