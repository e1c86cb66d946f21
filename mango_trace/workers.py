"""Processes that work for this one, and end with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import connection
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD: Final = 8
KILLED: Final = "was killed, twice: out of memory?"
"""What is said of a process whose item comes back without a result."""


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
    items: Iterable[Item],
    workers: int,
    begin: Callable[[], None] | None = None,
    *,
    at_once: int | None = None,
) -> Generator[tuple[Item, Result | None], None, None]:
    """Work on items in processes of their own.

    When a process is killed, what was out is done again, one item at a time. Closing the iterator ends the
    processes, whatever they do.

    Args:
        work: What is done with an item; it and its results travel between processes.
        items: The items; each is taken when it is given out.
        workers: Processes.
        begin: What each does first.
        at_once: Items that are given out at the same time; eight for each process, when not given, so that
            they work on while this one does something with the results.

    Yields:
        Each item once with its result, as they come; ``None`` where the process was killed twice.

    Raises:
        RuntimeError: No process can be started.
    """
    waiting, at_once, anything_done = iter(items), at_once or _AHEAD * workers, False
    while True:
        suspects, n_done = yield from _in_processes(work, waiting, workers, begin, at_once)
        if not suspects:
            return
        anything_done |= n_done > 0
        if not anything_done:
            _see_that_one_starts()
        again = iter(suspects)
        while killed := (yield from _in_processes(work, again, 1, begin, 1))[0]:
            for item in killed:
                yield item, None


def _in_processes(
    work: Callable[[Item], Result],
    waiting: Iterator[Item],
    workers: int,
    begin: Callable[[], None] | None,
    at_once: int,
) -> Generator[tuple[Item, Result], None, tuple[list[Item], int]]:
    """Work on items; returns those that were out when a process was killed, and how many were done."""
    pool = worker_pool(workers, begin)
    running: dict[Future[Result], Item] = {}
    lost: list[Item] = []
    n_done = 0
    try:
        while True:
            for item in islice(waiting, 0 if lost else at_once - len(running)):
                try:
                    running[pool.submit(work, item)] = item
                except BrokenProcessPool:
                    lost.append(item)
                    break
            if not running:
                return lost, n_done
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                item = running.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:  # so are all that are not done yet
                    lost.append(item)
                else:
                    n_done += 1
                    yield item, result
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


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
