"""What a process spares itself that does nothing but judge."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

_SPARED: Final = frozenset({"pandas", "scipy"})
_DO_WITHOUT: Final = frozenset({"mango_trace", "numba", "pyarrow"})
_THRESHOLD: Final = 100_000


class _Spared(MetaPathFinder):
    """Keeps pyarrow from importing pandas, for its types, and numba SciPy, for its linear algebra.

    Both do without where these are not installed, and judging has no use for either: half a second, and as
    much when loops are compiled. Whoever else asks for them, such as an adapter, gets them.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Say that it is not installed."""
        if fullname in _SPARED and _importer() in _DO_WITHOUT:
            raise ModuleNotFoundError(f"{fullname} is not used here", name=fullname)
        return None


def _importer() -> str:
    """Package of the code that imports; pyarrow, which is compiled, is not seen, but who called it."""
    frame = sys._getframe(2)
    while frame.f_back is not None and "importlib" in frame.f_globals.get("__name__", ""):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def collect_less_garbage() -> None:
    """Look for garbage more rarely than Python does by itself.

    Thousands of objects come with the libraries and stay: looking through them again and again costs a fifth
    of the time of a short command, once more at the end.
    """
    gc.set_threshold(_THRESHOLD)


def only_judge() -> None:
    """Make this process start and run faster, which is this program's alone and judges traces."""
    collect_less_garbage()
    if not any(isinstance(finder, _Spared) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Spared())
