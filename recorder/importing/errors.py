"""What can be wrong with a file of another program.

::

    BadInputError
    ├── SourceError             exit 3  a whole file or folder cannot be read
    └── EpisodeError            exit 3  one episode cannot be imported; the others may be fine
        └── MissingAssetsError  exit 3  files that its model names are on another machine only
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from mango_trace.errors import BadInputError, MangoTraceError

_MAX_REASON: Final = 2000


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


@contextmanager
def untrusted(where: str) -> Iterator[None]:
    """Make one kind of error of whatever libraries raise inside, who read what nobody has checked.

    Args:
        where: What is read, for messages.

    Raises:
        EpisodeError: Something was raised that is no error of this program.
    """
    try:
        yield
    except MangoTraceError:
        raise
    except Exception as error:
        said = reason(error)
        said = said if len(said) <= _MAX_REASON else f"{said[:_MAX_REASON]}..."
        raise EpisodeError(f"{where}: {type(error).__name__}: {said}") from error


def reason(error: Exception) -> str:
    """What an error says, which may quote a file that is in no encoding."""
    return str(error).encode(errors="replace").decode()
