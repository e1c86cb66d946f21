"""``mango-trace import``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from mango_trace.cli import places
from mango_trace.cli.reporting import print_problems, progress_bar
from mango_trace.errors import UsageError

_EPILOG = """\b
Examples:
  mango-trace import libero_10/*_demo.hdf5 --out demos --workers 2
  mango-trace import rollouts.hdf5 --policy bc-rnn --filter-key valid --out rollouts
  mango-trace import low_dim_v15.hdf5 --assets robosuite-1.5/robosuite --out lift
"""


@click.command("import", epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=places.local_dataset, required=True, help="Dataset to add to.")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["auto", "robomimic", "robocasa", "metasim", "init-states"]),
    default="auto",
    show_default=True,
    help="Format of FILES; auto tells by their names.",
)
@click.option("--filter-key", help="Take only the episodes that this filter key of the file keeps.")
@click.option("--episodes", help="Take only the episodes with these numbers, e.g. 0,3-9 [default: all].")
@click.option("--policy", default="unknown", show_default=True, help="Name of the policy that acted.")
@click.option(
    "--assets",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with meshes that the models name, or package with such a folder; may be repeated. It is"
    " asked before installed packages.",
)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True)
def import_command(
    files: tuple[Path, ...],
    out: Path,
    file_format: str,
    filter_key: str | None,
    episodes: str | None,
    policy: str,
    assets: tuple[Path, ...],
    workers: int,
) -> None:
    """Import episodes that other programs stored, with their full simulator states.

    FILES are HDF5 demonstrations or rollouts of LIBERO, robosuite or robomimic, LeRobot folders of RoboCasa,
    NPZ files with components of MuJoCo's state, or LIBERO's initial states. What a file says of success
    is kept as a label, never as a verdict. Episodes that the dataset already holds are not imported again, so
    an interrupted call goes on where it stopped. One that cannot be imported is a row with its error.
    """
    from mango_trace.store.layout import check_target
    from recorder.importing.run import Choice, import_files

    check_target(out)
    choice = Choice(file_format, filter_key, _numbers(episodes), policy, assets)
    try:
        with progress_bar("episode") as progress:
            report = import_files(files, out, choice, workers=workers, progress=progress)
    except KeyboardInterrupt:
        click.echo(f"interrupted; the same command goes on where {out} stops", err=True)
        sys.exit(130)
    for file in report.files:
        if file.problem is not None:
            print_problems([(str(file.path), file.problem)])
            continue
        print_problems((f"{file.path}: {key}", reason) for key, reason in file.errors.items())
        click.echo(
            f"{file.path}: {file.imported} of {file.total} episodes imported, {file.skipped} were there"
            f" already, {file.total - file.chosen} left out, {len(file.errors)} errors"
        )
    sys.exit(report.exit_code)


def _numbers(text: str | None) -> frozenset[int] | None:
    if text is None:
        return None
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        if match is None:
            raise UsageError(f"--episodes takes numbers and ranges such as 0,3-9, not {text!r}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first > 1_000_000:
            raise UsageError(f"--episodes: {part.strip()!r} is no range")
        found.update(range(first, last + 1))
    return frozenset(found)
