"""NPZ files that nobody has checked: bounded, without pickles."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from recorder.importing.errors import EpisodeError

_MAX_BYTES: Final = 2 << 30


def read_npz(path: Path) -> Mapping[str, np.ndarray[Any, Any]]:
    """Read all arrays of an NPZ file.

    Raises:
        EpisodeError: It is none, too large once unpacked, or holds Python objects.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(info.file_size for info in archive.infolist()) > _MAX_BYTES:
                raise EpisodeError(f"{path}: more than {_MAX_BYTES >> 30} GiB once unpacked")
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise EpisodeError(f"{path}: cannot be read as NPZ without unpickling: {error}") from error


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
