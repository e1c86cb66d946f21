"""Compiling loops over states to machine code."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from numba import config, njit

Function = TypeVar("Function", bound=Callable[..., object])

_HERE: Final = Path(__file__).parent
_COMPILED: Final = ("signals", "oracle")
"""Folders with functions that are compiled, and with what these call and read."""


def jit(function: Function) -> Function:
    """Compile a function of numbers and arrays when it is first called, and keep the result on disk.

    Arithmetic stays IEEE's, in the order it is written in: no reassociation, no contraction. A division
    by zero gives what numpy gives.
    """
    return _compiled(function)


def jit_inline(function: Function) -> Function:
    """As :func:`jit`, and put the body of the function in place of each call: for inner loops."""
    return _compiled(function, inline="always")


def is_compiled() -> bool:
    """Whether machine code of these sources is kept: else first calls compile, some 20 seconds in all."""
    folder = _folder()
    return folder is not None and next(folder.rglob("*.nbi"), None) is not None


def _compiled(function: Function, **options: Any) -> Function:
    with _cache_in(_folder()) as found:
        kept: Function = njit(cache=found, nogil=True, error_model="numpy", **options)(function)
    return kept


@cache
def _folder() -> Path | None:
    """Where machine code is kept, or ``None`` where nothing can be written.

    numba looks only at the file of a function to see whether it changed, and not at those of the functions
    and constants in it; so each state of the sources has a folder of its own. The user's choice
    (``NUMBA_CACHE_DIR``) comes first, then the package, then the user's cache. What is kept is loaded as
    code is: a temporary folder that others can write to is no place for it.
    """
    digest = hashlib.sha256()
    for path in (Path(__file__), *(one for name in _COMPILED for one in sorted((_HERE / name).glob("*.py")))):
        digest.update(path.read_bytes())
    chosen = [Path(config.CACHE_DIR)] if config.CACHE_DIR else []
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111  never raises
    for parent in (*chosen, _HERE / "__pycache__", Path(home) / "mango-trace"):
        folder = parent / f"compiled-{digest.hexdigest()[:16]}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None


@contextmanager
def _cache_in(folder: Path | None) -> Iterator[bool]:
    """Have numba use a folder for what is decorated now and nothing else; says whether there is one."""
    before = config.CACHE_DIR
    if folder is not None:
        config.CACHE_DIR = str(folder)
    try:
        yield folder is not None
    finally:
        config.CACHE_DIR = before
