"""Checking a dataset and rewriting it compactly."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mango_trace.errors import DatasetError, MangoTraceError
from mango_trace.scene.package import drop_unused_packages
from mango_trace.store.dataset import Dataset
from mango_trace.store.index import TraceRecord
from mango_trace.store.layout import INDEX, SCENES, SEGMENTS, read_info
from mango_trace.store.writer import DatasetWriter, dataset_lock


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
    return sorted(
        records, key=lambda record: (record.scene, record.segment, record.group, record.state_start)
    )


def compact_dataset(root: Path) -> tuple[int, int]:
    """Merge all segments into few, without rows that belong to no trace.

    The new segments are written and read back before the old ones go; killed in between, both are
    there and every trace is still listed once.

    Args:
        root: Directory of the dataset.

    Returns:
        Number of traces, and of segments that were merged.

    Raises:
        DatasetError: Something in the dataset is broken, or a recorder is still writing to it;
            nothing is changed.
    """
    read_info(root)
    with dataset_lock(root, alone=True):
        dataset = Dataset(root)
        records = dataset.records
        if dataset.problems:
            raise DatasetError(
                f"{root}: not compacted, some of it cannot be read: "
                + "; ".join(str(problem) for problem in dataset.problems)
            )
        old = [path for path in (root / SEGMENTS).iterdir() if path.is_dir()]
        writer = DatasetWriter(root, locked=True)
        try:
            _copy(dataset, writer)
        except BaseException:
            writer.close()
            _drop_segments(writer.segments)
            raise
        _drop_segments(old)
        drop_unused_packages(root / SCENES, {record.scene for record in records})
    return len(records), len(old)


def _copy(dataset: Dataset, writer: DatasetWriter) -> None:
    """Write every trace again and read it back."""
    for record in in_stored_order(dataset.records):
        writer.add(dataset.load_as_stored(record), recorded_at=record.recorded_at)
    writer.close()
    others = frozenset(path.name for path in (dataset.root / SEGMENTS).iterdir())
    merged = Dataset(dataset.root, without_segments=others - {path.name for path in writer.segments})
    bad = sum(check.problem is not None for check in verify_dataset(merged))
    if bad or {r.trace_id for r in merged.records} != {r.trace_id for r in dataset.records}:
        raise DatasetError(f"{dataset.root}: not compacted, {bad} copied traces do not verify")


def _drop_segments(segments: Iterable[Path]) -> None:
    for path in segments:
        # Without its index a segment holds no traces; the other way round it would hold broken ones.
        (path / INDEX).unlink(missing_ok=True)
        shutil.rmtree(path)


def size_on_disk(path: Path) -> int:
    """Bytes of all files below ``path``."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
