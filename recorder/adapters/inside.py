"""Environments that hold the simulator's own inside, as gymnasium classes of other projects do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_DEEPEST: Final = 8
_HELD_AS: Final = ("_env", "env")
_MADE_BY: Final = "_ensure_env"


def replace_inside(env: Any, known: Callable[[Any], bool], wrap: Callable[[Any], Any]) -> bool:
    """Put a wrapped environment in the place of the one that ``env`` holds.

    It is looked for in the attributes ``_env`` and ``env``, through as many layers as there are. One that
    is made only when it is needed, as LeRobot's is, is wrapped when it is made.

    Args:
        env: What may hold it.
        known: Whether an environment is one to wrap.
        wrap: Wraps it.

    Returns:
        Whether one was found.
    """
    holder = env
    for _ in range(_DEEPEST):
        attributes = vars(holder) if hasattr(holder, "__dict__") else {}
        name = next((name for name in _HELD_AS if name in attributes), None)
        if name is None:
            return False
        held = attributes[name]
        if known(held):
            setattr(holder, name, wrap(held))
            return True
        if held is None and callable(getattr(holder, _MADE_BY, None)):
            _wrap_when_made(holder, name, wrap)
            return True
        holder = held
    return False


def _wrap_when_made(holder: Any, name: str, wrap: Callable[[Any], Any]) -> None:
    make = getattr(holder, _MADE_BY)

    def made(*args: Any, **kwargs: Any) -> Any:
        absent = getattr(holder, name) is None
        result = make(*args, **kwargs)
        if absent:
            setattr(holder, name, wrap(getattr(holder, name)))
        return result

    setattr(holder, _MADE_BY, made)
