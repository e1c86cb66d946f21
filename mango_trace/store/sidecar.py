"""Files that stand beside the traces of a dataset: one entry a line, JSON, from any hand."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from mango_trace.errors import DatasetError
from mango_trace.store.location import check_local

_Entry = TypeVar("_Entry", bound=BaseModel)


def read_entries(path: Path, kind: type[_Entry]) -> Iterator[tuple[int, _Entry]]:
    """Entries of a file with the numbers of their lines, from 1; none where there is no file.

    Raises:
        DatasetError: A line is no such entry; it is named.
    """
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for number, line in enumerate(lines, 1):
        try:
            yield number, kind.model_validate_json(line)
        except ValidationError as error:
            raise DatasetError(f"{path}, line {number}: {error}") from error


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Wait until no other process holds the file ``lock``; the system lets go when the process dies.

    Raises:
        UsageError: The file would be at a URL.
    """
    check_local(lock)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
