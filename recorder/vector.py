"""Recording environments that work side by side, also in processes of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recorder.recording import Recorder


class RecordedFactory:
    """Makes one of several environments and has it recorded, in whichever process it is called.

    Args:
        make: Makes the environment.
        recorder: Recorder, or the copy of it that a worker process has.
        index: Number of the environment.
        count: How many there are; the environment's episodes are ``index``, ``index + count``, ...
    """

    def __init__(self, make: Callable[[], Any], recorder: Recorder, index: int, count: int) -> None:
        self._make, self._recorder, self._index, self._count = make, recorder, index, count

    def __call__(self) -> Any:
        """Make it."""
        return self._recorder.wrap(self._make(), numbered=Strided(self._index, self._count))


class Strided:
    """Numbers the episodes of one environment among several: ``first``, ``first + stride``, ... of a task."""

    def __init__(self, first: int, stride: int) -> None:
        self._first, self._stride = first, stride
        self._episodes: Counter[str] = Counter()

    def __call__(self, task: str) -> int:
        """Number of the next episode of a task."""
        self._episodes[task] += 1
        return self._first + self._stride * (self._episodes[task] - 1)


class Watched:
    """Something whose errors end the recorded episodes in progress; else it is what it was.

    Args:
        watched: A policy, its client, or a function that asks it.
        report: Called with what it raised.
    """

    def __init__(self, watched: Any, report: Callable[[Exception], None]) -> None:
        self._watched, self._report = watched, report

    def __getattr__(self, name: str) -> Any:
        """Its attributes; its methods are watched."""
        value = getattr(self._watched, name)
        return Watched(value, self._report) if callable(value) else value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        try:
            return self._watched(*args, **kwargs)
        except Exception as error:
            self._report(error)
            raise
