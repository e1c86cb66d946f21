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
    if hasattr(getattr(env, "env", None), "parsed_problem"):
        from recorder.adapters.libero import LiberoAdapter

        return LiberoAdapter()
    if hasattr(env, "_check_success") and hasattr(getattr(env, "sim", None), "model"):
        from recorder.adapters.robosuite import RobosuiteAdapter

        return RobosuiteAdapter()
    raise UsageError(
        f"cannot record {type(env).__module__}.{type(env).__name__}; there are adapters for: "
        "LIBERO (ControlEnv, OffScreenRenderEnv), robosuite (MujocoEnv)"
    )
