"""Copying some traces of a dataset into another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mango_trace.store.dataset import Dataset
from mango_trace.store.index import TraceRecord
from mango_trace.store.labels import TraceLabel, add_labels
from mango_trace.store.layout import DATASET_FILE, FORMAT_VERSION
from mango_trace.store.verify import in_stored_order
from mango_trace.store.writer import DatasetWriter


def extract_traces(source: Dataset, records: Sequence[TraceRecord], target: Path) -> Iterator[TraceRecord]:
    """Copy traces with their scenes and labels; what is there already is left alone.

    Args:
        source: Where they are.
        records: Which.
        target: Dataset that they go to; made where there is none.

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
    info = source.info.model_copy(update={"name": target.name, "format_version": FORMAT_VERSION})
    labels = [
        TraceLabel(trace_id=record.trace_id, **label.model_dump())
        for record in records
        for label in source.given_labels.get(record.trace_id, ())
    ]
    with DatasetWriter(target, info) as writer:
        if labels:
            add_labels(target, labels)
        for record in in_stored_order(records):
            if record.trace_id in there:
                continue
            writer.add_scene(source.scene(record.scene))
            yield writer.add(source.load_as_stored(record), recorded_at=record.recorded_at)
