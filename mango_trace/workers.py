"""Processes that work for this one, and end with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD: Final = 8
"""Items given out for each process: they work on while this one does something with the results."""


def worker_pool(workers: int, begin: Callable[[], None] | None = None) -> ProcessPoolExecutor:
    """Start a pool of fresh processes.

    Ctrl-C is left to this process. Workers end when it does, even when it is killed: they would else wait
    for work for ever, each with its memory.

    Args:
        workers: How many.
        begin: What each does first.
    """
    return ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(begin,)
    )


def each(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int,
    begin: Callable[[], None] | None = None,
) -> Iterator[tuple[Item, Result | None]]:
    """Work on items in processes of their own.

    When a process is killed, what was out is done again, one item at a time.

    Args:
        work: What is done with an item; it and its results travel between processes.
        items: The items.
        workers: Processes.
        begin: What each does first.

    Yields:
        Each item once with its result, as they come; ``None`` where the process was killed twice.

    Raises:
        RuntimeError: No process can be started.
    """
    waiting = list(reversed(items))
    while waiting:
        pool, at_once = worker_pool(min(workers, len(waiting)), begin), _AHEAD * min(workers, len(waiting))
        suspects = list((yield from _in_processes(pool, work, waiting, at_once)))
        if len(suspects) + len(waiting) == len(items):
            _see_that_one_starts()
        while suspects:
            for item in (yield from _in_processes(worker_pool(1, begin), work, suspects, 1)):
                yield item, None


def _in_processes(
    pool: ProcessPoolExecutor, work: Callable[[Item], Result], waiting: list[Item], at_once: int
) -> Generator[tuple[Item, Result], None, tuple[Item, ...]]:
    """Work on items from the end of a list; returns those that were out when a process was killed."""
    running: dict[Future[Result], Item] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                future = pool.submit(work, waiting[-1])
                running[future] = waiting.pop()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                result = future.result()
                yield running.pop(future), result
    except BrokenProcessPool:
        return tuple(running.values())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return ()


def _see_that_one_starts() -> None:
    """Tell processes that are killed from such that never begin."""
    with worker_pool(1) as pool:
        try:
            pool.submit(os.getpid).result()
        except BrokenProcessPool:
            raise RuntimeError(
                "no process can be started to work in; a script that asks for several workers must do so "
                "under if __name__ == '__main__':, for each of them imports it"
            ) from None


def _begin(first: Callable[[], None] | None) -> None:
    """What a process does before any work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    if first is not None:
        first()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
