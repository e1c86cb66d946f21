"""Everything that runs a simulator: adapters, rollout loop, policies, importers.

:class:`Recorder` writes down what happens in any evaluation loop; ``mango-trace record`` runs the
loops that come with the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recorder.recording import RecordedEnv, Recorder

__all__ = ["RecordedEnv", "Recorder"]


def __getattr__(name: str) -> Any:
    """Import the recorder when it is asked for: the command line's help does not need it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from recorder import recording

    return getattr(recording, name)
