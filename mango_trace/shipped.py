"""Where the files lie that come with the program: queries, datasets and oracles."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from mango_trace.errors import BadInputError, UnknownNameError

SHIPPED: Final = ("datasets", "oracles", "queries")
"""Folders that come with the program."""


def shipped(name: str) -> Path:
    """Find a folder that comes with the program.

    An installed program has it inside the package, under ``_shipped``; in a checkout, and in an
    editable installation, it lies beside the package.

    Args:
        name: ``queries``, ``datasets`` or ``oracles``.

    Raises:
        UnknownNameError: There is no folder of that name.
        BadInputError: The installation lacks it.

    >>> shipped("queries").name
    'queries'
    """
    if name not in SHIPPED:
        raise UnknownNameError("shipped folder", name, SHIPPED)
    package = Path(str(files("mango_trace")))
    if not package.is_dir():  # a namespace prints as something else than its path
        package = Path(__file__).parent
    for folder in (package / "_shipped" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise BadInputError(f"{package}: the folder {name!r} is missing from the installation")
