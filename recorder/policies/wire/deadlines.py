"""How long a served policy is waited for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Longest waits, in seconds.

    Attributes:
        connect_s: Until the server takes a connection: models are slow to load.
        first_reply_s: For the first reply of a connection: models may be compiled before it.
        reply_s: For every other reply.
    """

    connect_s: float = 300.0
    first_reply_s: float = 600.0
    reply_s: float = 60.0
