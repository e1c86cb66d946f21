"""``mango-trace parity``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from mango_trace.cli.output import format_option, print_rows
from mango_trace.workers import KILLED, each

if TYPE_CHECKING:
    from recorder.parity import ParityCount

_EPILOG = """\b
Examples:
  mango-trace parity --suite libero_10 --steps 40
  mango-trace parity --suite all --episodes 2 --steps 160 --workers 2
"""


@click.command(epilog=_EPILOG)
@click.option("--suite", default="all", show_default=True, help="One suite, or all (130 tasks).")
@click.option("--task", type=click.IntRange(0), help="One task of the suite.")
@click.option("--episodes", type=click.IntRange(1), default=2, show_default=True, help="Per task.")
@click.option(
    "--steps", type=click.IntRange(1), default=160, show_default=True, help="Control steps in an episode."
)
@click.option(
    "--every",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Simulator substeps between two compared states.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True)
@format_option
def parity(
    suite: str,
    task: int | None,
    episodes: int,
    steps: int,
    every: int,
    seed: int,
    workers: int,
    output_format: str,
) -> None:
    """Compare every LIBERO predicate and goal with LIBERO's own check on real states.

    Prints how often each was true and false; exits with 1 if any answer differs, else with 3 if a task
    could not be checked.
    """
    from tqdm import tqdm

    from recorder.adapters.libero import SUITES, tasks_of
    from recorder.parity import ParityCount, rows_of

    suites = list(SUITES) if suite == "all" else [suite]
    jobs = [
        (name, index) for name in suites for index in (range(len(tasks_of(name))) if task is None else [task])
    ]
    total, killed = ParityCount(), 0
    with tqdm(total=len(jobs), unit="task", disable=None) as bar:
        for (name, index), count in _counts(jobs, (episodes, steps, every, seed), workers):
            if count is None:
                killed += 1
                bar.write(f"error: {name} task {index}: the process that checked it {KILLED}", sys.stderr)
            else:
                total.merge(count)
            bar.set_postfix(states=total.states, mismatches=total.mismatches)
            bar.update()
    print_rows(list(rows_of(total)), output_format)
    for example in total.examples:
        click.echo(f"mismatch: {example}", err=True)
    click.echo(
        f"{len(jobs) - killed} tasks, {total.states} states, {sum(total.calls.values())} answers, "
        f"{total.mismatches} mismatches",
        err=output_format != "table",
    )
    sys.exit(1 if total.mismatches else 3 if killed else 0)


def _counts(
    jobs: Sequence[tuple[str, int]], settings: tuple[int, int, int, int], workers: int
) -> Iterator[tuple[tuple[str, int], ParityCount | None]]:
    check = partial(_check, settings)
    return ((job, check(job)) for job in jobs) if workers == 1 else each(check, jobs, workers)


def _check(settings: tuple[int, int, int, int], job: tuple[str, int]) -> ParityCount:
    os.environ.setdefault("MUJOCO_GL", "disable")
    from recorder.adapters.libero import tasks_of
    from recorder.parity import check_task

    (suite, index), (episodes, steps, every, seed) = job, settings
    return check_task(tasks_of(suite)[index], episodes=episodes, steps=steps, every=every, seed=seed)
