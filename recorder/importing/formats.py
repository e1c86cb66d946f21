"""Which reader a file is for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from mango_trace.errors import UnknownNameError
from recorder.importing.episode import Source
from recorder.importing.errors import SourceError
from recorder.importing.init_states import InitStatesFile
from recorder.importing.metasim import MetasimFiles
from recorder.importing.robocasa import RobocasaFolder
from recorder.importing.robomimic import RobomimicFile

FORMATS: Final[dict[str, Callable[[Path], Source]]] = {
    "robomimic": RobomimicFile,
    "robocasa": RobocasaFolder,
    "metasim": MetasimFiles,
    "init-states": InitStatesFile,
}
"""Readers by the name of their format."""


def open_source(path: Path, file_format: str = "auto") -> Source:
    """Open a file or folder of episodes.

    Args:
        path: Where it is.
        file_format: One of :data:`FORMATS`, or ``auto`` to tell by the name.

    Raises:
        UnknownNameError: There is no such format.
        SourceError: There is no such file, no reader is for it, or it cannot be read.
    """
    if file_format != "auto" and file_format not in FORMATS:
        raise UnknownNameError("format", file_format, ["auto", *FORMATS])
    if not path.exists():
        raise SourceError(f"{path}: no such file or folder")
    return FORMATS[_tell(path) if file_format == "auto" else file_format](path)


def _tell(path: Path) -> str:
    if path.suffix in (".hdf5", ".h5"):
        return "robomimic"
    name = path.name.removesuffix(".npz")
    if path.is_file() and name.endswith((".pruned_init", ".init")):
        return "init-states"
    if (path / "extras").is_dir() or path.name == "extras":
        return "robocasa"
    if path.suffix == ".npz" or (path.is_dir() and any(path.glob("*.npz"))):
        return "metasim"
    raise SourceError(f"{path}: no reader is for it; --format names one of: {', '.join(FORMATS)}")
