"""Reading a dataset."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mango_trace.errors import DatasetError, SceneError, TraceError
from mango_trace.scene.package import ScenePackage, read_package
from mango_trace.store.index import TraceRecord, read_index
from mango_trace.store.labels import read_labels
from mango_trace.store.layout import ARRAYS, CHUNK_ROWS, SCENES, SEGMENTS, read_info
from mango_trace.store.location import forget_listings, locate, reading
from mango_trace.store.metadata import Label
from mango_trace.store.samples import Stratum, read_samples
from mango_trace.store.stored import StoredArray
from mango_trace.store.trace import Trace
from mango_trace.store.writer import checksum

_DIGEST = re.compile(r"@[0-9a-f]+\Z")
_KEPT_CHUNKS = 24  # decoded chunks kept at a time; bounds memory, serves traces in stored order


class Dataset:
    """A dataset: the union of its segments.

    Opening never fails because of one bad segment: what cannot be read is listed in ``problems``.

    Args:
        root: Directory of the dataset, or its URL (:func:`~mango_trace.store.location.locate`).
        without_segments: Names of segments to leave out.

    Raises:
        DatasetError: The directory is no dataset at all, or cannot be reached.
        NewerFormatError: It is of a newer format.
        UsageError: The URL is none that can be read.
    """

    def __init__(self, root: Path | str, *, without_segments: frozenset[str] = frozenset()) -> None:
        self.root = locate(root)
        self._without = without_segments
        with reading(self.root):
            forget_listings(self.root)
            self.info = read_info(self.root)
        self.problems: list[DatasetError] = []
        self._arrays: dict[tuple[str, str, str], StoredArray] = {}
        self._chunks: dict[tuple[str, str, str, int], npt.NDArray[Any]] = {}
        self._scenes: dict[str, ScenePackage] = {}

    @cached_property
    def records(self) -> tuple[TraceRecord, ...]:
        """Every trace, in a stable order; one that is stored twice is listed once.

        An episode that could not be imported at first is not listed once it was.
        """
        found: dict[str, TraceRecord] = {}
        for segment in self._segments():
            try:
                with reading(segment):
                    records = read_index(segment)
            except DatasetError as error:
                self.problems.append(error)
                continue
            for record in records:
                found.setdefault(record.trace_id, record)
        _drop_superseded(found)
        for trace_id, labels in self.given_labels.items():
            if trace_id in found:
                found[trace_id] = _with_labels(found[trace_id], labels)
        for sample, members in (self.samples or {}).items():
            for trace_id, stratum in members.items():
                if trace_id in found:
                    record = found[trace_id]
                    found[trace_id] = replace(record, samples={**record.samples, sample: stratum})
        return tuple(
            sorted(
                found.values(),
                key=lambda record: (
                    record.metadata.suite,
                    record.metadata.task_index if record.metadata.task_index is not None else -1,
                    record.metadata.task,
                    record.metadata.policy,
                    record.metadata.fault or "",
                    record.metadata.seed,
                    record.metadata.episode,
                    record.trace_id,
                ),
            )
        )

    def _segments(self) -> list[Path]:
        with reading(self.root / SEGMENTS):
            try:
                inside = sorted((self.root / SEGMENTS).iterdir())
            except (FileNotFoundError, NotADirectoryError):
                return []
            return [path for path in inside if path.is_dir() and path.name not in self._without]

    @cached_property
    def given_labels(self) -> Mapping[str, tuple[Label, ...]]:
        """Labels that stand beside the traces, by trace; none, and a problem, if they cannot be read."""
        try:
            with reading(self.root):
                return read_labels(self.root)
        except DatasetError as error:
            self.problems.append(error)
            return {}

    @cached_property
    def samples(self) -> Mapping[str, Mapping[str, Stratum]] | None:
        """Samples by name: stratum by trace; ``None`` if they cannot be read, which is a problem then."""
        try:
            with reading(self.root):
                return read_samples(self.root)
        except DatasetError as error:
            self.problems.append(error)
            return None

    def find(self, prefix: str) -> TraceRecord:
        """The trace whose id starts with ``prefix``.

        Raises:
            DatasetError: None or several do.
        """
        hits = [record for record in self.records if record.trace_id.startswith(prefix)]
        if len(hits) == 1:
            return hits[0]
        if hits:
            listed = ", ".join(record.trace_id for record in hits[:6])
            raise DatasetError(f"{self.root}: {len(hits)} traces start with {prefix!r}: {listed}")
        some = ", ".join(record.trace_id for record in self.records[:6]) or "none"
        raise DatasetError(f"{self.root}: no trace {prefix!r}; there are, among others: {some}")

    def scene(self, digest: str) -> ScenePackage:
        """A scene package of the dataset.

        Raises:
            SceneError: It is missing, changed or malformed.
            DatasetError: It cannot be reached.
        """
        if digest not in self._scenes:
            if not digest.isalnum():
                raise SceneError(f"{self.root}: {digest!r} is no scene digest")
            with reading(self.root / SCENES / digest):
                self._scenes[digest] = read_package(self.root / SCENES / digest)
        return self._scenes[digest]

    def load(
        self,
        record: TraceRecord,
        paths: Iterable[str] | None = None,
        *,
        actions: bool = True,
        verify: bool = True,
    ) -> Trace:
        """Read a trace.

        Args:
            record: Its row in the index.
            paths: State components to read; all, when not given.
            actions: Read actions and rewards. Else there are none, ``(n_steps, 0)``, and NaN.
            verify: Compare every array that is read with its checksum.

        Returns:
            The trace.

        Raises:
            TraceError: An array is missing, cut off or does not match its checksum; the message
                names the array and its chunks.
        """
        names = [path for path in record.checksums if path.startswith("state/")]
        if paths is not None:
            wanted = {f"state/{path}" for path in paths}
            names = [name for name in names if name in wanted]
        steps = ("step/success", *(("step/action", "step/reward") if actions else ()))
        read = {name: self._read(record, name, verify) for name in (*names, *steps)}
        return Trace(
            scene=record.scene,
            states={name.removeprefix("state/"): read[name] for name in names},
            action=read["step/action"] if actions else np.zeros((record.n_steps, 0)),
            reward=read["step/reward"][:, 0] if actions else np.full(record.n_steps, np.nan),
            success=read["step/success"][:, 0],
            metadata=record.metadata,
        )

    def load_as_stored(self, record: TraceRecord) -> Trace:
        """Read a trace whole, without the labels that stand beside it, to store it elsewhere.

        Raises:
            TraceError: See :meth:`load`.
        """
        given = self.given_labels.get(record.trace_id, ())
        own = tuple(label for label in record.metadata.labels if label not in given)
        return replace(self.load(record), metadata=record.metadata.model_copy(update={"labels": own}))

    def _read(self, record: TraceRecord, name: str, verify: bool) -> npt.NDArray[Any]:
        is_state = name.startswith("state/")
        start = record.state_start if is_state else record.step_start
        count = record.n_states if is_state else record.n_steps
        first, last = start // CHUNK_ROWS, max(start, start + count - 1) // CHUNK_ROWS
        try:
            there = self._array(record, name).rows
            if there < start + count:
                raise ValueError(f"the array ends at row {there}, the trace at {start + count}")
            pieces = [self._chunk(record, name, chunk) for chunk in range(first, last + 1)]
        except Exception as error:  # zarr and its codecs raise whatever they like
            reason = f"{name} cannot be read: {error}; chunks {self._names(record, name, first, last)}"
            raise TraceError(record.trace_id, reason) from error
        whole = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        offset = start - first * CHUNK_ROWS
        values = np.ascontiguousarray(whole[offset : offset + count])
        if verify and checksum(values) != record.checksums.get(name):
            raise TraceError(record.trace_id, self._mismatch(record, name, first, last))
        values.setflags(write=False)
        return values

    def _chunk(self, record: TraceRecord, name: str, chunk: int) -> npt.NDArray[Any]:
        key = (record.segment, record.group, name, chunk)
        if key not in self._chunks:
            values = self._array(record, name).chunk(chunk)
            while len(self._chunks) >= _KEPT_CHUNKS:
                self._chunks.pop(next(iter(self._chunks)))
            self._chunks[key] = values
        return self._chunks[key]

    def _array(self, record: TraceRecord, name: str) -> StoredArray:
        key = (record.segment, record.group, name)
        if key not in self._arrays:
            path = self.root / SEGMENTS / record.segment / ARRAYS / record.group / name
            self._arrays[key] = StoredArray(path)
        return self._arrays[key]

    def _mismatch(self, record: TraceRecord, name: str, first: int, last: int) -> str:
        folder = self.root / SEGMENTS / record.segment / ARRAYS / record.group / name / "c"
        with reading(folder):
            missing = [
                f"c/{chunk}/0" for chunk in range(first, last + 1) if not (folder / str(chunk) / "0").exists()
            ]
        if missing:
            return f"{name} does not match its checksum: missing {', '.join(missing)}"
        return f"{name} does not match its checksum; chunks {self._names(record, name, first, last)}"

    def _names(self, record: TraceRecord, name: str, first: int, last: int) -> str:
        return ", ".join(
            f"{record.segment}/{ARRAYS}/{record.group}/{name}/c/{chunk}/0" for chunk in range(first, last + 1)
        )


def _drop_superseded(found: dict[str, TraceRecord]) -> None:
    """Drop rows of failed imports whose episode was imported since.

    A source is ``file#episode@digest``; an episode that could not even be read has no digest, and whatever
    was imported under its name since stands for it.
    """
    imported = {one.metadata.source for one in found.values() if one.metadata.ended != "error"} - {None}
    imported |= {source.rpartition("@")[0] for source in imported if source and _DIGEST.search(source)}
    failed = [
        trace_id
        for trace_id, one in found.items()
        if one.metadata.ended == "error" and one.n_steps == 0 and one.metadata.source in imported
    ]
    for trace_id in failed:
        del found[trace_id]


def _with_labels(record: TraceRecord, labels: Iterable[Label]) -> TraceRecord:
    """A trace with the labels that people gave it, after its own."""
    merged = tuple(dict.fromkeys((*record.metadata.labels, *labels)))
    return replace(record, metadata=record.metadata.model_copy(update={"labels": merged}))
