"""The trace store: datasets of recorded episodes on disk."""

from mango_trace.store.dataset import Dataset
from mango_trace.store.extract import extract_traces
from mango_trace.store.index import TraceRecord
from mango_trace.store.location import locate
from mango_trace.store.metadata import Label, TraceMetadata
from mango_trace.store.sampling import mark_sample
from mango_trace.store.trace import Trace
from mango_trace.store.verify import Check, compact_dataset, size_on_disk, verify_dataset
from mango_trace.store.writer import DatasetWriter

__all__ = [
    "Check",
    "Dataset",
    "DatasetWriter",
    "Label",
    "Trace",
    "TraceMetadata",
    "TraceRecord",
    "compact_dataset",
    "extract_traces",
    "locate",
    "mark_sample",
    "size_on_disk",
    "verify_dataset",
]
