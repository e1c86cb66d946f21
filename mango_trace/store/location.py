"""Where datasets are: in folders, or at URLs of storage that fsspec reaches.

A URL becomes an object with the interface of :class:`pathlib.Path`, so that readers do not know the
difference. Only reading works there; what writes calls :func:`check_local`.

Credentials and endpoints come from where the storage's own package looks for them, the environment above
all. They are no part of a URL, because URLs are stored and printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import unquote

from mango_trace.errors import DatasetError, MangoTraceError, UnknownNameError, UsageError

_MARK: Final = "://"
_LOCAL: Final = ("", "file", "local")
_KINDS: Final = ("abfs", "az", "ftp", "gcs", "gs", "hdfs", "hf", "memory", "s3", "sftp", "smb")
"""Storage with folders that a URL alone names: no archives, no caches, no pages that a server lists."""
_URL_AS_PATH: Final = re.compile(r"[a-z][a-z0-9+.-]+:/")
"""What is left of a URL once it was taken for a path: of two slashes one goes."""


def locate(place: Path | str) -> Path:
    """A folder, or what stands at a URL, as a path to read from.

    Args:
        place: A path, ``file:///...`` (what is percent-encoded is decoded), or the URL of storage that
            fsspec reaches: ``s3://...``, ``gs://...``, ``az://...`` A path object is taken as it is.

    Returns:
        A path; for a URL an object that does what a path does, reading.

    Raises:
        UsageError: The text is no such URL, or what reads it is not installed.
    """
    if not isinstance(place, str):
        return place
    scheme, mark, rest = place.partition(_MARK)
    if not mark:
        return Path(place)
    if scheme == "file":
        return _local(place, rest)
    if scheme not in _KINDS:
        raise UnknownNameError("kind of storage", scheme, (*_KINDS, "file"))
    if ":" in rest.partition("/")[0].rpartition("@")[0]:
        raise UsageError(f"{scheme}{_MARK}...: a URL is stored and printed, so it must not hold a password")
    try:
        from upath import UPath
    except ImportError as error:
        raise UsageError(
            f"{place}: reading from a URL needs the extra 'remote': pip install 'mango-trace[remote]'"
        ) from error
    try:
        path = UPath(place)
        with suppress(OSError):  # not reached; named when it is read
            _ = path.fs  # the package that reads must be there
    except (ImportError, ValueError) as error:
        raise UsageError(f"{place}: {error}") from error
    return cast("Path", path)


def is_remote(place: Path) -> bool:
    """Whether a path stands for a URL of other storage than this machine's folders."""
    return _protocol(place) not in _LOCAL


def is_of_this_process(place: Path) -> bool:
    """Whether a path stands for memory of this process, which no other one sees."""
    return _protocol(place) == "memory"


def check_local(place: Path | str) -> None:
    """See that something can be written to.

    Raises:
        UsageError: It is a URL, or was one.
    """
    if _protocol(place) not in _LOCAL or _URL_AS_PATH.match(str(place)):
        raise UsageError(f"{place}: what is at a URL can be read only; write to a folder")


def forget_listings(place: Path) -> None:
    """Ask other storage anew which files there are; fsspec keeps answers as long as the process lives."""
    if is_remote(place):
        cast("Any", place).fs.invalidate_cache()


@contextmanager
def reading(place: Path) -> Iterator[None]:
    """Turn what a storage raises into an error that names the place.

    Raises:
        DatasetError: The storage cannot be reached, refuses, or answers with nonsense.
    """
    try:
        yield
    except MangoTraceError:
        raise
    except Exception as error:  # packages for storage raise whatever they like
        if not (isinstance(error, OSError) or is_remote(place)):
            raise
        reason = str(error) or type(error).__name__
        raise DatasetError(f"{place}: cannot be read: {reason}") from error


def _local(url: str, rest: str) -> Path:
    host, slash, path = rest.partition("/")
    if not slash or host not in ("", "localhost"):
        raise UsageError(f"{url}: a file URL is file:///, then the path from the root on")
    return Path("/" + unquote(path))


def _protocol(place: Path | str) -> str:
    return str(getattr(place, "protocol", ""))
