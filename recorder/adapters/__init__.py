"""Adapters: what the recorder needs to know about each simulator."""

from __future__ import annotations

from typing import Any

from mango_trace.errors import UsageError
from recorder.adapters.base import Adapter, TaskIdentity

__all__ = ["Adapter", "TaskIdentity", "adapter_for"]


def adapter_for(env: Any) -> Adapter:
    """Adapter for an environment that somebody else made.

    Args:
        env: The environment.

    Raises:
        UsageError: No adapter knows it.
    """
    if _is_libero(env):
        from recorder.adapters.libero import LiberoAdapter

        return LiberoAdapter()
    if _is_robosuite(env):
        from recorder.adapters.robosuite import RobosuiteAdapter

        return RobosuiteAdapter()
    raise UsageError(
        f"cannot record {type(env).__module__}.{type(env).__name__}; there are adapters for: "
        "LIBERO (ControlEnv, OffScreenRenderEnv, its robosuite environments), robosuite (MujocoEnv), and "
        "what holds one of these"
    )


def known(env: Any) -> bool:
    """Whether there is an adapter for an environment."""
    return _is_libero(env) or _is_robosuite(env)


def _is_libero(env: Any) -> bool:
    """Whether it is LIBERO's ``ControlEnv`` or the environment in it."""
    return hasattr(env, "parsed_problem") or hasattr(getattr(env, "env", None), "parsed_problem")


def _is_robosuite(env: Any) -> bool:
    """Whether it is one of robosuite's own environments."""
    return hasattr(env, "_check_success") and hasattr(getattr(env, "sim", None), "model")
