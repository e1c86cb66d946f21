"""``mango-trace generate lint``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mango_trace.cli.output import format_option, print_rows
from mango_trace.cli.reporting import print_problems

if TYPE_CHECKING:
    from generator.linting import Linted

_COLUMNS: Final = ("suite", "task", "kind", "what", "names")
_ALL: Final = "all"
_ERROR: Final = "error"


@click.command(
    epilog="""\b
Examples:
  mango-trace generate lint libero_10
  mango-trace generate lint libero_90 libero_goal --workers 2 --format md
  mango-trace generate lint rollouts --oracles my_oracles --kind all
"""
)
@click.argument("targets", nargs=-1, required=True, metavar="SUITE|TASK|DATASET...")
@click.option(
    "--oracles",
    "folder",
    type=click.Path(path_type=Path),
    help="Oracles, a file or folder [default: what the rules write].",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="Show only this kind; may be repeated. 'all' shows, too, where the oracle merely goes further than "
    "the goal [default: all but that].",
)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@format_option
def lint(
    targets: tuple[str, ...], folder: Path | None, kinds: tuple[str, ...], workers: int, output_format: str
) -> None:
    """List where the instruction of a task, its BDDL goal and its oracle disagree.

    One row a finding: a clause that is never checked, a condition that nobody asked for, a place or order
    that the goal checks otherwise, another wording. How many there are of each kind is on standard error.
    Exit code 0 if nothing is listed but where the oracle goes further than the goal, 1 if anything else is, 3
    if a task or an oracle could not be read; the others are looked at.
    """
    from tqdm import tqdm

    from generator.linting import lint_targets
    from generator.rules.lint import FURTHER
    from generator.targets import resolve
    from mango_trace.evaluation.oracle_files import load_oracles

    shown = _kinds(kinds)
    found = resolve(targets)
    oracles = None
    if folder is not None:
        oracles = load_oracles([folder], frozenset(target.name for target in found))
    results = list(tqdm(lint_targets(found, oracles, workers), total=len(found), unit="task", disable=None))
    print_rows([row for one in results for row in _rows(one, shown)], output_format, _COLUMNS)
    _summarise(results)
    problems = [] if oracles is None else [(str(folder), str(error)) for error in oracles.problems]
    print_problems(problems)
    if problems or any(one.error for one in results):
        sys.exit(3)
    listed = {finding.kind for one in results for finding in one.findings} & shown
    sys.exit(1 if listed - FURTHER else 0)


def _kinds(names: Sequence[str]) -> set[Any]:
    from generator.rules.lint import FURTHER, Kind
    from mango_trace.errors import UnknownNameError

    known = {kind.value: kind for kind in Kind}
    for name in names:
        if name not in known and name != _ALL:
            raise UnknownNameError("kind of finding", name, [*known, _ALL])
    if not names:
        return set(Kind) - FURTHER
    return set(Kind) if _ALL in names else {known[name] for name in names}


def _rows(one: Linted, shown: set[Any]) -> list[dict[str, Any]]:
    about = {"suite": one.suite, "task": one.task}
    if one.error:
        return [{**about, "kind": _ERROR, "what": one.error, "names": []}]
    return [
        {**about, "kind": finding.kind.value, "what": finding.text, "names": list(finding.concerns)}
        for finding in one.findings
        if finding.kind in shown
    ]


def _summarise(results: Sequence[Linted]) -> None:
    from generator.rules.lint import FURTHER, Kind

    counts = Counter(finding.kind for one in results for finding in one.findings)
    for kind in Kind:
        if counts[kind]:
            note = " (the oracle goes further than the goal)" if kind in FURTHER else ""
            click.echo(f"{counts[kind]:5} {kind.value}{note}", err=True)
    errors = sum(bool(one.error) for one in results)
    findings = sum(count for kind, count in counts.items() if kind not in FURTHER)
    click.echo(
        f"{len(results)} tasks, {findings} disagreements, {errors} tasks could not be looked at", err=True
    )
