"""How fast a run may ask: requests in flight at once, and requests a minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final

CONCURRENCY: Final = 8
"""Most requests in flight where nothing else is said."""

_MINUTE_S: Final = 60.0


class Pace:
    """Holds the requests of all threads of a run back.

    Args:
        concurrency: Most requests in flight at once, of all models together; ``None`` is no limit.
        calls_per_minute: Most requests a minute by name of the model. They are spaced evenly: a server counts
            by windows of its own, and bursts would fill one of them.
    """

    def __init__(
        self, concurrency: int | None = None, calls_per_minute: Mapping[str, float] | None = None
    ) -> None:
        self._slots: AbstractContextManager[object] = (
            nullcontext() if concurrency is None else threading.BoundedSemaphore(concurrency)
        )
        self._apart_s = {name: _MINUTE_S / rate for name, rate in (calls_per_minute or {}).items()}
        self._lock = threading.Lock()
        self._next: dict[str, float] = {}

    def slot(self) -> AbstractContextManager[object]:
        """One of the places for requests in flight: entered when one is free, left when it is answered."""
        return self._slots

    def wait(self, model: str) -> None:
        """Wait until a model may be asked.

        Args:
            model: Its name.
        """
        time.sleep(self._wait_s(model))

    def _wait_s(self, model: str) -> float:
        """Take the next moment at which the model may be asked, and say how long it is until then."""
        apart_s = self._apart_s.get(model, 0.0)
        with self._lock:
            now = time.monotonic()
            at = max(now, self._next.get(model, now))
            self._next[model] = at + apart_s
        return at - now
