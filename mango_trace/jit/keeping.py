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
    return any(next(folder.glob(f"*{_SUFFIX}"), None) is not None for folder in _folders())


def load(name: str) -> bytes | None:
    """What is kept under a name, or ``None`` if that is nothing, or broken."""
    for folder in _folders_of(name):
        try:
            content = (folder / (name + _SUFFIX)).read_bytes()
        except OSError:
            continue
        kept = content[_DIGEST:]
        if hashlib.sha256(kept).digest() == content[:_DIGEST]:
            return kept
    return None


def save(name: str, content: bytes) -> None:
    """Keep something under a name, where that is possible; other processes see all of it or nothing."""
    folder = next(filter(_can_be_written, _folders_of(name)), None)
    if folder is None:
        return
    written = folder / f"{uuid4().hex}.tmp"
    try:
        written.write_bytes(hashlib.sha256(content).digest() + content)
        written.replace(folder / (name + _SUFFIX))
    except OSError:  # the disk is full, say; the next process compiles again
        with suppress(OSError):
            written.unlink()


def _folders_of(name: str) -> tuple[Path, ...]:
    """Where a loop may be; those of other packages are nowhere: nothing tells when their sources change."""
    return _folders() if name.startswith(_KEPT) else ()


def _can_be_written(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


@cache
def _folders() -> tuple[Path, ...]:
    """Where machine code may be kept, the best place first.

    What code comes from the compiler depends on the sources of all functions and constants in it, on the
    compiler, its settings and the processor; so each of their states has a folder of its own. The user's
    choice (``NUMBA_CACHE_DIR``) comes first, then the package, then the user's cache. What is kept is loaded
    as code is: a temporary folder that others can write to is no place for it, nor one that depends on where
    a process runs.
    """
    settings = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("NUMBA_"))
    digest = hashlib.sha256(
        f"{version('numba')} {version('llvmlite')} {sys.implementation.cache_tag} {processor()} "
        f"{[one for one in settings if not one.startswith('NUMBA_CACHE_DIR=')]}".encode()
    )
    for path in (one for name in _COMPILED for one in sorted((_PACKAGE / name).glob("*.py"))):
        digest.update(path.read_bytes())
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111  never raises
    parents = [
        *([Path(chosen).absolute()] if chosen else []),
        _PACKAGE / "__pycache__",
        Path(home) / "mango-trace",
    ]
    return tuple(parent / f"compiled-{digest.hexdigest()[:16]}" for parent in parents if parent.is_absolute())
