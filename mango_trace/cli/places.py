"""Where a dataset is, as an argument of a command: types for ``click``."""

from __future__ import annotations

from pathlib import Path


def dataset(text: str) -> Path:
    """A dataset to read: its folder or its URL."""
    from mango_trace.store.location import locate

    return locate(text)


def local_dataset(text: str) -> Path:
    """A dataset to write to: its folder."""
    from mango_trace.store.location import check_local, locate

    if not text.startswith("file://"):
        check_local(text)
    return locate(text)
