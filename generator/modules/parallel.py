"""Many items of a module at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from generator.team import Team

Item = TypeVar("Item")
Result = TypeVar("Result")


def each(team: Team, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Work on as many items at once as the team may, and give the results in the order of the items.

    Args:
        team: Who is asked by the work. When the work fails or is interrupted it is stopped, so that items in
            progress end with the call that they are in.
        work: What is done with an item; a failure that is the item's own is a result and no exception.
        items: The items.

    Yields:
        The results.
    """
    pool = ThreadPoolExecutor(team.concurrency, thread_name_prefix="item")
    try:
        for future in [pool.submit(work, item) for item in items]:
            yield future.result()
    except GeneratorExit:
        raise
    except BaseException:
        team.stop()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
