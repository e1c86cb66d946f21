"""What a long command says while it works, and what was wrong with its input: on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import click


def announce_compiling() -> None:
    """Say why the first call takes longer, if it is that."""
    from mango_trace.jit import is_compiled

    if not is_compiled():
        click.echo("compiling for this machine, once; some 20 seconds", err=True)


@contextmanager
def progress_bar(unit: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far some work is, on a terminal only.

    Args:
        unit: What is counted.

    Yields:
        A function to call with the number that is done and that of all.
    """
    from tqdm import tqdm

    with tqdm(unit=unit, disable=None) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield progress


def print_problems(problems: Iterable[tuple[str, str]]) -> None:
    """Print problems, each a subject and what is wrong, which may begin with the subject."""
    for subject, message in problems:
        text = message if message.startswith(subject) else f"{subject}: {message}"
        click.echo(f"error: {text}", err=True)
