"""HDF5 that nobody has checked: bounded, without links that lead elsewhere."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, Final

import numpy as np

from mango_trace.errors import UsageError, suggest
from recorder.importing.episode import Array
from recorder.importing.errors import EpisodeError, SourceError

_TRUNCATED = re.compile(r"truncated file: eof = (\d+).*stored_eof = (\d+)")
_MAX_NUMBERS: Final = 1 << 28
"""Numbers in one array, at most: 2 GiB. A few bytes of HDF5 can claim any size."""
_MAX_TEXT: Final = 64 << 20
_MAX_NAMES: Final = 1 << 16
_MAX_NAME: Final = 1 << 10


def open_file(path: Path) -> Any:
    """Open an HDF5 file for reading; readers do not exclude each other.

    Raises:
        UsageError: h5py is not installed.
        SourceError: It is cut off, or no HDF5.
    """
    try:
        import h5py
    except ModuleNotFoundError as error:
        raise UsageError(f"{path}: reading it needs h5py; pip install 'mango-trace[import]'") from error
    try:
        return h5py.File(path, "r", locking="best-effort")
    except OSError as error:
        cut = _TRUNCATED.search(str(error))
        if cut:
            raise SourceError(f"{path}: truncated: {cut[1]} of {cut[2]} bytes") from error
        raise SourceError(f"{path}: cannot be read as HDF5: {error}") from error


def has(group: Any, name: str) -> bool:
    """Whether a group has a link of that name, without following it."""
    return "/" not in name and name not in ("", ".") and bool(group.id.links.exists(name.encode()))


def child(group: Any, name: str, where: str) -> Any:
    """An object below a group, if it lies in this file.

    Raises:
        EpisodeError: There is none, or it is a link to another place.
    """
    import h5py

    if not has(group, name):
        raise EpisodeError(f"{where}: no {name!r}{suggest(name, list(group))}")
    if group.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
        raise EpisodeError(f"{where}: {name!r} is a link to another place, which is not followed")
    return group[name]


def subgroup(group: Any, name: str, where: str) -> Any:
    """A group below a group, if it lies in this file.

    Raises:
        EpisodeError: There is none, it is a link to another place, or something else.
    """
    import h5py

    found = child(group, name, where)
    if not isinstance(found, h5py.Group):
        raise EpisodeError(f"{where}: {name!r} is no group")
    return found


def numbers(group: Any, name: str, where: str, ndim: int) -> Array:
    """Read an array of numbers as float64.

    Args:
        group: Group that holds it.
        name: Its name.
        where: Group's name, for messages.
        ndim: Axes that it must have.

    Raises:
        EpisodeError: It is missing, no array of numbers, of another shape, too large, or its data lie in
            another file.
    """
    found = _array(group, name, where, ndim, _MAX_NUMBERS)
    if found.dtype.kind not in "biuf":
        raise EpisodeError(f"{where}/{name}: not an array of numbers")
    try:
        return np.asarray(found[()], dtype=np.float64)
    except OSError as error:
        raise EpisodeError(f"{where}/{name}: {error}") from error


def names(group: Any, name: str, where: str) -> set[str]:
    """Read a list of texts.

    Args:
        group: Group that holds it.
        name: Its name.
        where: Group's name, for messages.

    Raises:
        EpisodeError: It is missing, no list of texts, too large, or its data lie in another file.
    """
    import h5py

    found = _array(group, name, where, 1, _MAX_NAMES)
    if h5py.check_string_dtype(found.dtype) is None or found.dtype.itemsize > _MAX_NAME:
        raise EpisodeError(f"{where}/{name}: no list of names")
    kept: set[str] = set()
    try:  # texts of any length one by one: all of them may be one long text
        fixed = found.dtype.kind == "S"
        for value in found[()] if fixed else (found[row] for row in range(len(found))):
            if len(value) > _MAX_NAME:
                raise EpisodeError(f"{where}/{name}: a name of {len(value)} bytes")
            kept.add(value.decode(errors="replace"))
    except OSError as error:
        raise EpisodeError(f"{where}/{name}: {error}") from error
    return kept


def _array(group: Any, name: str, where: str, ndim: int, limit: int) -> Any:
    """An array that lies in this file whole and is of bounded size, not yet read."""
    import h5py

    found = child(group, name, where)
    if not isinstance(found, h5py.Dataset) or found.shape is None:
        raise EpisodeError(f"{where}/{name}: not an array")
    if found.ndim != ndim or found.size > limit:
        raise EpisodeError(f"{where}/{name}: shape {found.shape}, expected {ndim} axes of bounded size")
    if math.prod(found.chunks or ()) * found.dtype.itemsize > 8 * _MAX_NUMBERS:
        raise EpisodeError(f"{where}/{name}: chunks of shape {found.chunks}, too large")
    if found.external or found.is_virtual:
        raise EpisodeError(f"{where}/{name}: its data lie in other files, which are not read")
    return found


def text(holder: Any, name: str) -> str | None:
    """A text attribute, or ``None``.

    Raises:
        EpisodeError: It is no text, or too long.
    """
    if name not in holder.attrs:
        return None
    value = holder.attrs[name]
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise EpisodeError(f"{holder.name}: attribute {name!r} is no text of bounded length")
    return value


def document(holder: Any, name: str) -> dict[str, Any]:
    """A JSON object in an attribute; empty where there is none."""
    value = text(holder, name)
    if not value:
        return {}
    try:
        found = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise EpisodeError(f"{holder.name}: attribute {name!r} is no JSON: {error}") from error
    return found if isinstance(found, dict) else {}


def numbered(names: Any, prefix: str) -> list[str]:
    """Names with a prefix and a number, by the number: HDF5 lists demo_10 before demo_2."""
    pattern = re.compile(re.escape(prefix) + r"([0-9]{1,18})")
    found = [(int(match[1]), name) for name in names if (match := pattern.fullmatch(name))]
    return [name for _, name in sorted(found)]
