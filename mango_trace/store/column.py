"""One array of a segment while it is being written.

Zarr could append by itself, at a price: it reads, decodes and encodes the last chunk again for every
call, and older versions overwrite chunk and metadata files in place, so that a killed process would
spoil rows that were committed long before. Here the chunk that is being filled stays in memory, and
every file is replaced in one step. Zarr reads the result like any other array.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numcodecs.blosc import Blosc

from mango_trace.store.layout import CHUNK_ROWS, write_atomically
from mango_trace.store.stored import StoredArray

_QUICK = 1
"""Effort for a chunk that will be written again soon."""


class Column:
    """Rows of one array, written from the front, committed from outside.

    Rows behind the last commit mean nothing and are written over. A chunk of zeros has no file.

    Args:
        array: Directory of the Zarr array, which is there and empty.
        width: Numbers in a row.
        dtype: Type of a number.
        level: Effort of compression for full chunks, 1 to 9.
    """

    def __init__(self, array: Path, width: int, dtype: np.dtype[Any], level: int) -> None:
        self._array, self._width, self._level = array, width, level
        self._dtype = dtype.newbyteorder("<")
        self._tail: npt.NDArray[Any] | None = self._new_tail()
        self._blank = True  # the last chunk holds zeros only
        self._rows = 0  # committed
        self._next: tuple[npt.NDArray[Any], bool, int] | None = None
        self._shape = 0

    def write(self, values: npt.NDArray[Any]) -> None:
        """Write rows behind the committed ones; they count after :meth:`commit`."""
        self.resume()
        assert self._tail is not None
        tail, blank, row, done = self._tail, self._blank, self._rows, 0
        while done < len(values):
            chunk, offset = divmod(row, CHUNK_ROWS)
            if offset == 0:
                tail, blank = self._new_tail(), True
            count = min(CHUNK_ROWS - offset, len(values) - done)
            piece = values[done : done + count]
            tail[:, offset : offset + count] = piece.T
            blank = blank and not piece.view(np.uint8).any()  # -0.0 is no zero
            self._store(chunk, tail, blank, self._level if offset + count == CHUNK_ROWS else _QUICK)
            row, done = row + count, done + count
        if row > self._shape:
            self._grow(-(-row // CHUNK_ROWS) * CHUNK_ROWS)
        self._next = (tail, blank, row)

    def commit(self) -> None:
        """Keep what was written last."""
        if self._next is not None:
            self._tail, self._blank, self._rows = self._next
        self._next = None

    def release(self) -> None:
        """Store the last chunk with full effort and give up its memory until :meth:`resume`."""
        chunk, offset = divmod(self._rows, CHUNK_ROWS)
        if self._tail is None:
            return
        if offset:
            self._store(chunk, self._tail, self._blank, self._level)
        self._tail = None

    def resume(self) -> None:
        """Take the last chunk back into memory."""
        if self._tail is not None:
            return
        self._tail = self._new_tail()
        chunk, offset = divmod(self._rows, CHUNK_ROWS)
        if offset:
            self._tail[:] = StoredArray(self._array).chunk(chunk).T

    def _new_tail(self) -> npt.NDArray[Any]:
        return np.zeros((self._width, CHUNK_ROWS), self._dtype)  # columns stand together in a chunk

    def _store(self, chunk: int, tail: npt.NDArray[Any], blank: bool, level: int) -> None:
        path = self._array / "c" / str(chunk) / "0"
        if blank:
            path.unlink(missing_ok=True)  # of a write that failed
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        codec = Blosc(cname="zstd", clevel=level, shuffle=Blosc.SHUFFLE, blocksize=0)
        write_atomically(path, codec.encode(tail))

    def _grow(self, rows: int) -> None:
        path = self._array / "zarr.json"
        document = json.loads(path.read_text())
        document["shape"][0] = rows
        write_atomically(path, json.dumps(document, indent=2).encode())
        self._shape = rows
