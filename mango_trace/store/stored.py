"""Reading one array of a segment, chunk by chunk.

Any encoding that Zarr knows is read through Zarr. An array that is encoded as this program encodes
it is decoded directly, with the same codec: a call through Zarr takes three times as long as the
decoding itself.
"""

from __future__ import annotations

import json
import struct
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numcodecs.blosc import Blosc

from mango_trace.store.layout import CHUNK_ROWS

_HEADER: Final = struct.Struct("<4sIII")
_DTYPES: Final[dict[str, np.dtype[Any]]] = {"float64": np.dtype("<f8"), "uint8": np.dtype("u1")}


class StoredArray:
    """An array of shape ``(N, width)`` on disk.

    Args:
        path: Directory of the Zarr array.

    Raises:
        Exception: Whatever Zarr raises for an array that it cannot open.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        document = json.loads((path / "zarr.json").read_bytes())
        self._dtype: np.dtype[Any] | None = None
        if _is_ours(document):
            self.rows, self._width = (int(size) for size in document["shape"])
            self._dtype = _DTYPES[document["data_type"]]
        else:
            self.rows = int(self._zarr.shape[0])

    @cached_property
    def _zarr(self) -> Any:
        import zarr  # only for arrays of other programs

        return zarr.open_array(str(self._path), mode="r")

    def chunk(self, number: int) -> npt.NDArray[Any]:
        """Rows of one chunk, ``(at most CHUNK_ROWS, width)``; zeros where there is no file.

        In memory each column stands together, as on disk.

        Raises:
            Exception: Whatever a codec raises for bytes that it did not write.
        """
        if self._dtype is None:
            return np.asarray(self._zarr[number * CHUNK_ROWS : (number + 1) * CHUNK_ROWS])
        rows = max(0, min(CHUNK_ROWS, self.rows - number * CHUNK_ROWS))
        size = CHUNK_ROWS * self._width * self._dtype.itemsize
        try:
            encoded = (self._path / "c" / str(number) / "0").read_bytes()
        except FileNotFoundError:
            return np.zeros((rows, self._width), self._dtype)
        if _sizes(encoded) != (size, len(encoded)):
            raise ValueError(f"chunk {number} is cut off or of another size")
        columns = np.frombuffer(Blosc().decode(encoded), self._dtype).reshape(self._width, CHUNK_ROWS)
        return columns.T[:rows]


def _sizes(encoded: bytes) -> tuple[int, int]:
    """Decoded and encoded bytes of a buffer, by the header that Blosc puts before it."""
    if len(encoded) < _HEADER.size:
        return 0, 0
    _, decoded, _, whole = _HEADER.unpack_from(encoded)
    return int(decoded), int(whole)


def _is_ours(document: Any) -> bool:
    """Whether an array's ``zarr.json`` says what :mod:`mango_trace.store.layout` writes."""
    try:
        names = [codec["name"] for codec in document["codecs"]]
        transpose, serializer, _ = (codec.get("configuration", {}) for codec in document["codecs"])
        rows, width = document["shape"]
        return bool(
            document["zarr_format"] == 3
            and document["node_type"] == "array"
            and document["data_type"] in _DTYPES
            and names == ["transpose", "bytes", "blosc"]
            and list(transpose["order"]) == [1, 0]
            and serializer.get("endian", "little") == "little"
            and document["chunk_grid"]["configuration"]["chunk_shape"] == [CHUNK_ROWS, width]
            and document["chunk_key_encoding"] == {"name": "default", "configuration": {"separator": "/"}}
            and document["fill_value"] == 0
            and not document.get("storage_transformers")
            and isinstance(rows, int)
            and isinstance(width, int)
            and rows >= 0 < width
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
