"""NPZ files that nobody has checked: bounded, without pickles."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy

from recorder.importing.errors import EpisodeError

_MAX_BYTES: Final = 2 << 30
_HEADERS: Final = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_UNREADABLE: Final = (
    OSError,
    ValueError,
    EOFError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_npz(path: Path) -> Mapping[str, np.ndarray[Any, Any]]:
    """Read all arrays of an NPZ file.

    Raises:
        EpisodeError: It is none, too large once unpacked, or holds Python objects.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if sum(info.file_size for info in members) > _MAX_BYTES:
                raise EpisodeError(f"{path}: more than {_MAX_BYTES >> 30} GiB once unpacked")
            if 8 * sum(_size(archive, info) for info in members) > _MAX_BYTES:
                raise EpisodeError(f"{path}: more than {_MAX_BYTES >> 30} GiB as float64")
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except _UNREADABLE as error:
        raise EpisodeError(f"{path}: cannot be read as NPZ without unpickling: {error}") from error


def _size(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """Elements that a member claims to have."""
    with archive.open(info) as member:
        version = npy.read_magic(member)
        if version not in _HEADERS:
            raise ValueError(f"{info.filename} is of version {version}, which no array of numbers needs")
        shape, _, _ = _HEADERS[version](member)
    return math.prod(shape)


def numeric(arrays: Mapping[str, np.ndarray[Any, Any]], name: str, where: str) -> np.ndarray[Any, Any]:
    """An array of numbers as float64.

    Raises:
        EpisodeError: It is missing or of another type.
    """
    if name not in arrays:
        raise EpisodeError(f"{where}: no array {name!r}; there are: {', '.join(sorted(arrays)) or 'none'}")
    if arrays[name].dtype.kind not in "biuf":
        raise EpisodeError(f"{where}: {name} holds {arrays[name].dtype}, no numbers")
    return np.asarray(arrays[name], dtype=np.float64)
