"""Copying some traces of a dataset into another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mango_trace.store.dataset import Dataset
from mango_trace.store.index import TraceRecord
from mango_trace.store.layout import DATASET_FILE, FORMAT_VERSION
from mango_trace.store.verify import in_stored_order
from mango_trace.store.writer import DatasetWriter


def extract_traces(
    source: Dataset, records: Sequence[TraceRecord], target: Path, *, name: str | None = None
) -> Iterator[TraceRecord]:
    """Copy traces with their scenes and labels; what is there already is left alone.

    Args:
        source: Where they are.
        records: Which.
        target: Dataset that they go to; made where there is none.
        name: Its name, where it is made; the folder's, when not given.

    Yields:
        Every trace that was copied; its id stays what it was.

    Raises:
        DatasetError: The target is no dataset and not empty.
        TraceError: A trace cannot be read.
        SceneError: A scene cannot be read.
    """
    there = set()
    if (target / DATASET_FILE).exists():
        there = {record.trace_id for record in Dataset(target).records}
    info = source.info.model_copy(update={"name": name or target.name, "format_version": FORMAT_VERSION})
    with DatasetWriter(target, info) as writer:
        for record in in_stored_order(records):
            if record.trace_id in there:
                continue
            writer.add_scene(source.scene(record.scene))
            yield writer.add(source.load(record), recorded_at=record.recorded_at)
