"""Samples: which traces of a dataset were drawn for which question.

They stand beside the traces, in ``DATASET/samples.jsonl``, one trace of one sample a line, sorted, so that
the same samples are the same bytes whoever wrote them and in whatever order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from mango_trace.errors import DatasetError, UsageError
from mango_trace.store.layout import write_atomically
from mango_trace.store.sidecar import alone, read_entries

SAMPLES: Final = "samples.jsonl"
_LOCK: Final = "samples.lock"
_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"

Stratum: TypeAlias = Literal["early", "middle", "late", "success", "failed", "unknown"]
"""Where a run stands: the third of it in which the first failure began, success, failed at a state that
nobody named, or a run of which the benchmark did not say whether it succeeded."""


class SampleEntry(BaseModel):
    """One trace of one sample.

    Attributes:
        sample: Name of the sample.
        trace_id: The trace.
        stratum: Its stratum when it was drawn.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sample: Annotated[str, Field(pattern=_NAME)]
    trace_id: Annotated[str, Field(min_length=1)]
    stratum: Stratum


def read_samples(root: Path) -> dict[str, dict[str, Stratum]]:
    """Samples of a dataset: name, trace, stratum.

    Raises:
        DatasetError: A line is no such entry, or a trace stands in a sample with two strata.
    """
    found: dict[str, dict[str, Stratum]] = {}
    path = root / SAMPLES
    for number, entry in read_entries(path, SampleEntry):
        members = found.setdefault(entry.sample, {})
        if members.setdefault(entry.trace_id, entry.stratum) != entry.stratum:
            raise DatasetError(
                f"{path}, line {number}: trace {entry.trace_id} is in sample {entry.sample} already, "
                f"as {members[entry.trace_id]} and not {entry.stratum}"
            )
    return found


def write_sample(root: Path, name: str, members: Mapping[str, Stratum]) -> bool:
    """Store a sample of a dataset; it replaces the one of that name, the others stay.

    Args:
        root: Directory of the dataset.
        name: Name of the sample: letters, digits, ``_``, ``.`` and ``-``.
        members: Stratum of each of its traces, by trace.

    Returns:
        Whether anything changed; if not, the file is not touched.

    Raises:
        UsageError: The name has other characters.
        DatasetError: The file cannot be read; it is left as it is.
    """
    if not re.fullmatch(_NAME, name):
        raise UsageError(f"{name!r} is no name of a sample; it may have letters, digits, _, . and -")
    with alone(root / _LOCK):
        samples = read_samples(root)
        if samples.get(name, {}) == dict(members):
            return False
        samples[name] = dict(members)
        entries = (
            SampleEntry(sample=sample, trace_id=trace_id, stratum=stratum)
            for sample, found in sorted(samples.items())
            for trace_id, stratum in sorted(found.items())
        )
        lines = (f"{entry.model_dump_json()}\n".encode() for entry in entries)
        write_atomically(root / SAMPLES, b"".join(lines))
    return True
