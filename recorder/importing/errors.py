"""What can be wrong with a file of another program.

::

    BadInputError
    ├── SourceError             exit 3  a whole file or folder cannot be read
    └── EpisodeError            exit 3  one episode cannot be imported; the others may be fine
        └── MissingAssetsError  exit 3  files that its model names are on another machine only
"""

from __future__ import annotations

from collections.abc import Sequence

from mango_trace.errors import BadInputError


class SourceError(BadInputError):
    """A file or folder cannot be read as what it should be."""


class EpisodeError(BadInputError):
    """One episode of a file cannot be imported."""


class MissingAssetsError(EpisodeError):
    """Files that a model names exist on no installed package; all of them are listed.

    Args:
        names: Their paths as the model has them.
        roots: Where they were looked for.
    """

    def __init__(self, names: Sequence[str], roots: Sequence[str]) -> None:
        self.names = tuple(names)
        count = "1 file" if len(names) == 1 else f"{len(names)} files"
        where = f"below {', '.join(roots)}" if roots else "anywhere: no package with assets is installed"
        super().__init__(
            f"missing assets: {count} of its model not found {where}: {', '.join(sorted(names))}; "
            "name their folder with --assets"
        )
