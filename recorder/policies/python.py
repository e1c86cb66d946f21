"""Policies that are Python objects of somebody's own: ``package.module:name``.

Importing a module runs it. That is what naming it on the command line asks for, and nothing else ever
leads to an import here: no dataset, oracle or server does.

``name`` may be

* a function ``observation -> actions``;
* a class, or a function without arguments, that makes a policy when it is called;
* an object with a method ``act(observation) -> actions``.

A policy object may have ``reset(episode)``, called with an
:class:`~recorder.policies.base.EpisodeContext` before each episode, and ``close()``. Observations are
LIBERO's own with the ``instruction`` added; actions are one action ``(7,)`` or a chunk ``(n, 7)``. The named
thing may say its ``version``, and its ``image_size`` if it wants images.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mango_trace.errors import UnknownNameError, UsageError
from recorder.policies.base import EpisodeContext


def find(address: str) -> Any:
    """Import what ``package.module:name`` names; modules of the current folder are found too.

    Raises:
        UsageError: The module does not exist or does not import.
        UnknownNameError: It has no such name.
    """
    module_name, _, path = address.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # importing runs the module, which may fail in any way
        raise UsageError(
            f"--policy {address}: module {module_name!r} does not import: {type(error).__name__}: {error}"
        ) from error
    for name in path.split("."):
        if not hasattr(found, name):
            known = [known for known in dir(found) if not known.startswith("_")]
            raise UnknownNameError(f"name in {module_name}", name, known)
        found = getattr(found, name)
    return found


class PythonModel:
    """A policy of somebody's own, made when its first episode begins.

    Args:
        address: ``package.module:name``.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._policy: Any = None
        self._instruction = ""

    def reset(self, episode: EpisodeContext) -> None:
        """Make the policy, unless that is done, and have it reset itself."""
        self._instruction = episode.instruction
        if self._policy is None:
            self._policy = _made(self._address)
        if hasattr(self._policy, "reset"):
            self._policy.reset(episode)

    def infer(self, observation: Mapping[str, Any]) -> Any:
        """Ask it for actions."""
        asked = {**observation, "instruction": self._instruction}
        return self._policy.act(asked) if hasattr(self._policy, "act") else self._policy(asked)

    def close(self) -> None:
        """Have it close itself, if it can."""
        if hasattr(self._policy, "close"):
            self._policy.close()
        self._policy = None


def _made(address: str) -> Any:
    found = find(address)
    if inspect.isclass(found) or (callable(found) and not hasattr(found, "act") and not _takes_one(found)):
        found = found()
    if hasattr(found, "act") or (callable(found) and _takes_one(found)):
        return found
    raise UsageError(
        f"--policy {address} is no policy but a {type(found).__name__}; a policy is a function of an "
        "observation, or has a method act(observation)"
    )


def _takes_one(function: Any) -> bool:
    """Whether a callable must be given an argument."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some of C have no signature
        return True
    return any(
        parameter.default is parameter.empty and parameter.kind in _POSITIONAL for parameter in parameters
    )


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
