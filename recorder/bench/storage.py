"""Size of traces on disk, and what other encodings of the same numbers take."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import h5py
import numpy as np
import numpy.typing as npt
from numcodecs import Blosc, Shuffle, Zstd
from pcodec import ChunkConfig, standalone

from mango_trace.store import Dataset, DatasetWriter, TraceRecord, compact_dataset, size_on_disk
from mango_trace.store.layout import CHUNK_ROWS, LEVEL, SEGMENTS
from recorder.bench.measurements import Measurement, in_turns

_GROUP = "storage"
_STUDY = "encodings"
_AGAINST = "of float64 qpos and qvel"
_OURS = f"byte shuffle, zstd {LEVEL}, columns of {CHUNK_ROWS} states: ours"

Numbers: TypeAlias = npt.NDArray[np.float64]
Blocks: TypeAlias = Sequence[Numbers]
"""Numbers of some arrays, each ``(rows, width)``."""

Encoding: TypeAlias = tuple[Callable[[Blocks], list[bytes]], Callable[[list[bytes]], list[Numbers]]]
"""How to write blocks, and how to read them again."""


def storage(root: Path) -> Iterator[Measurement]:
    """Bytes on disk against the float64 size of positions and velocities.

    Of runs without a fault: faulty ones repeat them up to the fault, which would flatter the ratios.
    """
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "copy"
        _copy_successes(root, copy)
        raw = _raw_bytes(copy)
        compact_dataset(copy)
        whole = size_on_disk(copy / SEGMENTS)
        yield _size("everything, compacted", whole, raw)
        paths = {
            folder.relative_to(group).as_posix()
            for group in (copy / SEGMENTS).glob("*/states.zarr/*")
            for folder in group.glob("*/*")
            if folder.is_dir()
        }
        for path in sorted(paths):
            size = sum(size_on_disk(one) for one in (copy / SEGMENTS).glob(f"*/states.zarr/*/{path}/c"))
            yield _size(path, size, raw)
    yield from _randomness(root)
    dataset = Dataset(root)
    packages = {record.scene: dataset.scene(record.scene) for record in dataset.records}
    scenes = [sum(map(len, package.files.values())) for package in packages.values()]
    yield Measurement(group=_GROUP, what="largest scene package", value=max(scenes) / 1e6, unit="MB")


def encodings(root: Path) -> Iterator[Measurement]:
    """Positions and velocities of the same runs in other encodings, and how fast each is read and written."""
    blocks = list(_blocks(root))
    raw = sum(block.nbytes for block in blocks)
    candidates = _candidates()
    encoded = {what: write(blocks) for what, (write, _) in candidates.items()}
    for what, (_, read) in candidates.items():
        for before, after in zip(blocks, read(encoded[what]), strict=True):
            if before.tobytes() != np.ascontiguousarray(after).tobytes():
                raise RuntimeError(f"{what} loses bits")
    reading = in_turns(*(partial(_seconds, read, encoded[what]) for what, (_, read) in candidates.items()))
    writing = in_turns(*(partial(_seconds, write, blocks) for write, _ in candidates.values()))
    for what, seconds in zip(candidates, reading, strict=True):
        size = sum(map(len, encoded[what]))
        yield Measurement(
            group=_STUDY, what=what, value=raw / seconds / 1e6, unit="MB/s read",
            compared_with=_AGAINST, ratio=size / raw, better="smaller",
        )  # fmt: skip
    ours = writing[list(candidates).index(_OURS)]
    for what, seconds in zip(candidates, writing, strict=True):
        yield Measurement(
            group=_STUDY, what=what, value=raw / seconds / 1e6, unit="MB/s written",
            compared_with="of the speed at which ours is written", ratio=ours / seconds,
        )  # fmt: skip


def _seconds(work: Callable[[Any], object], numbers: object) -> float:
    started = time.perf_counter()
    work(numbers)
    return time.perf_counter() - started


def _candidates() -> dict[str, Encoding]:
    bit = Blosc.BITSHUFFLE
    return {
        "raw float64": (_raw, _unraw),
        "HDF5 without compression, as LIBERO writes demonstrations": _hdf5({}),
        "HDF5, gzip 4": _hdf5({"compression": "gzip", "compression_opts": 4}),
        "HDF5, byte shuffle, gzip 4": _hdf5({"compression": "gzip", "compression_opts": 4, "shuffle": True}),
        f"zstd {LEVEL}, rows": _blosc(shuffle=Blosc.NOSHUFFLE, columns=False),
        f"byte shuffle, zstd {LEVEL}, rows": _blosc(columns=False),
        f"byte shuffle, zstd {LEVEL}, columns of 512 states": _blosc(rows=512),
        _OURS: _blosc(),
        f"byte shuffle, zstd {LEVEL}, columns of 32768 states": _blosc(rows=32768),
        f"byte shuffle, zstd 9, columns of {CHUNK_ROWS} states": _blosc(level=9),
        f"bit shuffle, zstd {LEVEL}, columns of {CHUNK_ROWS} states": _blosc(shuffle=bit),
        f"differences, byte shuffle, zstd {LEVEL}, columns of {CHUNK_ROWS} states": _blosc(delta=True),
        f"byte shuffle, lz4, columns of {CHUNK_ROWS} states": _blosc(codec="lz4"),
        f"pcodec, columns of {CHUNK_ROWS} states": (_pack, _unpack),
    }


def _raw(blocks: Blocks) -> list[bytes]:
    return [_framed(block.shape, block.tobytes()) for block in blocks]


def _unraw(encoded: list[bytes]) -> list[Numbers]:
    return [np.frombuffer(data, np.float64).reshape(shape).copy() for shape, data in map(_unframed, encoded)]


def _hdf5(options: Mapping[str, Any]) -> Encoding:
    def write(blocks: Blocks) -> list[bytes]:
        file = BytesIO()
        with h5py.File(file, "w") as target:
            for number, block in enumerate(blocks):
                target.create_dataset(f"{number:06}", data=block, **options)
        return [file.getvalue()]

    def read(encoded: list[bytes]) -> list[Numbers]:
        with h5py.File(BytesIO(encoded[0]), "r") as source:
            return [source[name][()] for name in sorted(source)]

    return write, read


def _blosc(
    *,
    codec: str = "zstd",
    level: int = LEVEL,
    shuffle: int = Blosc.SHUFFLE,
    columns: bool = True,
    rows: int = CHUNK_ROWS,
    delta: bool = False,
) -> Encoding:
    compressor = Blosc(cname=codec, clevel=level, shuffle=shuffle, blocksize=0)

    def write(blocks: Blocks) -> list[bytes]:
        return [_framed(part.shape, compressor.encode(_laid_out(part))) for part in _parts(blocks, rows)]

    def _laid_out(part: Numbers) -> npt.NDArray[Any]:
        laid = np.ascontiguousarray(part.T if columns else part)
        if delta:
            numbers = laid.view(np.int64)
            laid = np.concatenate([numbers[:, :1], np.diff(numbers, axis=1)], axis=1).view(np.float64)
        return laid

    def read(encoded: list[bytes]) -> list[Numbers]:
        found = []
        for data in encoded:
            shape, body = _unframed(data)
            laid = np.frombuffer(compressor.decode(body), np.float64)
            laid = laid.reshape(shape[::-1] if columns else shape)
            if delta:
                laid = np.cumsum(laid.view(np.int64), axis=1).view(np.float64)
            found.append(np.ascontiguousarray(laid.T if columns else laid))
        return _whole(found)

    return write, read


def _pack(blocks: Blocks) -> list[bytes]:
    return [
        _framed(part.shape, standalone.simple_compress(np.ascontiguousarray(part.T).ravel(), ChunkConfig()))
        for part in _parts(blocks, CHUNK_ROWS)
    ]


def _unpack(encoded: list[bytes]) -> list[Numbers]:
    found = []
    for data in encoded:
        shape, body = _unframed(data)
        numbers = standalone.simple_decompress(body)
        assert numbers is not None
        found.append(np.ascontiguousarray(numbers.reshape(shape[::-1]).T))
    return _whole(found)


def _parts(blocks: Blocks, rows: int) -> Iterator[Numbers]:
    for block in blocks:
        for start in range(0, len(block), rows):
            yield block[start : start + rows]


def _whole(parts: Sequence[Numbers]) -> list[Numbers]:
    """Parts put together again: blocks differ in width from their neighbours."""
    return [np.concatenate(list(own)) for _, own in groupby(parts, key=lambda part: part.shape[1])]


def _framed(shape: tuple[int, ...], body: bytes) -> bytes:
    return np.array(shape, dtype="<u4").tobytes() + bytes(body)


def _unframed(data: bytes) -> tuple[tuple[int, ...], bytes]:
    return tuple(np.frombuffer(data[:8], "<u4").tolist()), data[8:]


def _blocks(root: Path) -> Iterator[Numbers]:
    """Positions, then velocities, of all successes of each scene; neighbours differ in width."""
    dataset = Dataset(root)
    records = sorted(_successes(dataset), key=lambda record: record.scene)
    for _, members in groupby(records, key=lambda record: record.scene):
        traces = [dataset.load(record, ("time", "qpos", "qvel")) for record in members]
        for name in ("qpos", "qvel"):
            yield np.concatenate([trace.states[name] for trace in traces])


def _randomness(root: Path) -> Iterator[Measurement]:
    """How far the low half of each number can be compressed at all, with zstd's greatest effort."""
    dataset = Dataset(root)
    for name in ("qpos", "qvel", "qacc_warmstart"):
        low = b""
        for record in _successes(dataset):
            values = dataset.load(record, (name, "qpos")).states[name]
            low += np.ascontiguousarray(values.T).view("<u4")[:, ::2].tobytes()
        packed = len(Zstd(level=22).encode(Shuffle(4).encode(low)))
        yield Measurement(
            group=_GROUP, what=f"{name}, low 32 bits of each number alone", value=packed / 1e6, unit="MB",
            compared_with="of their size", ratio=packed / len(low), better="smaller",
        )  # fmt: skip


def _size(what: str, size: int, raw: int) -> Measurement:
    return Measurement(
        group=_GROUP, what=what, value=size / 1e6, unit="MB", compared_with=_AGAINST, ratio=size / raw,
        better="smaller",
    )  # fmt: skip


def _successes(dataset: Dataset) -> list[TraceRecord]:
    return [record for record in dataset.records if record.metadata.fault is None]


def _copy_successes(root: Path, target: Path) -> None:
    dataset = Dataset(root)
    with DatasetWriter(target) as writer:
        for record in _successes(dataset):
            writer.add_scene(dataset.scene(record.scene))
            writer.add(dataset.load(record))


def _raw_bytes(root: Path) -> int:
    dataset = Dataset(root)
    return sum(
        dataset.load(record, ("qpos", "qvel")).states[name].nbytes
        for record in dataset.records
        for name in ("qpos", "qvel")
    )
