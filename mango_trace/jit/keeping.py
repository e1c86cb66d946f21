"""Object files on disk: of one state of the sources, one compiler and one processor."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final
from uuid import uuid4

from mango_trace.jit.linking import processor

_PACKAGE: Final = Path(__file__).parents[1]
_COMPILED: Final = ("jit", "signals", "oracle")
"""Folders with functions that are compiled, with what these call and read, and with what compiles them."""
_KEPT: Final = tuple(f"{__package__.partition('.')[0]}.{name}." for name in _COMPILED)
_SUFFIX: Final = ".loop"
_DIGEST: Final = 32
"""Bytes of the checksum that a file starts with."""


def is_compiled() -> bool:
    """Whether machine code of these sources is kept: else first calls compile, some 20 seconds in all."""
    folder = kept_in()
    return folder is not None and next(folder.glob(f"*{_SUFFIX}"), None) is not None


def load(name: str) -> bytes | None:
    """What is kept under a name, or ``None`` if that is nothing, or broken."""
    folder = _folder_of(name)
    try:
        content = b"" if folder is None else (folder / (name + _SUFFIX)).read_bytes()
    except OSError:
        return None
    kept = content[_DIGEST:]
    return kept if hashlib.sha256(kept).digest() == content[:_DIGEST] else None


def save(name: str, content: bytes) -> None:
    """Keep something under a name, where that is possible; other processes see all of it or nothing."""
    folder = _folder_of(name)
    if folder is None:
        return
    written = folder / f"{uuid4().hex}.tmp"
    try:
        written.write_bytes(hashlib.sha256(content).digest() + content)
        written.replace(folder / (name + _SUFFIX))
    except OSError:  # the disk is full, say; the next process compiles again
        with suppress(OSError):
            written.unlink()


def _folder_of(name: str) -> Path | None:
    """Where a loop is kept; those of other packages are not, for nothing tells when their sources change."""
    return kept_in() if name.startswith(_KEPT) else None


@cache
def kept_in() -> Path | None:
    """Where machine code is kept, or ``None`` where nothing can be written.

    What code comes from the compiler depends on the sources of all functions and constants in it, on the
    compiler and on the processor; so each of their states has a folder of its own. The user's choice
    (``NUMBA_CACHE_DIR``) comes first, then the package, then the user's cache. What is kept is loaded as
    code is: a temporary folder that others can write to is no place for it.
    """
    digest = hashlib.sha256(
        f"{version('numba')} {version('llvmlite')} {sys.implementation.cache_tag} {processor()}".encode()
    )
    for path in (one for name in _COMPILED for one in sorted((_PACKAGE / name).glob("*.py"))):
        digest.update(path.read_bytes())
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111  never raises
    parents = [*([Path(chosen)] if chosen else []), _PACKAGE / "__pycache__", Path(home) / "mango-trace"]
    for parent in parents:
        folder = parent / f"compiled-{digest.hexdigest()[:16]}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None
