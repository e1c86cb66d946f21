"""``mango-trace generate``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from generator.lint_cli import lint
from mango_trace.cli import places
from mango_trace.cli.output import format_option, print_rows
from mango_trace.cli.reporting import announce_compiling, print_problems

if TYPE_CHECKING:
    from generator.folder import OracleFolder
    from generator.gate import Gate
    from generator.generation import Generation, PlanResult
    from generator.modules.variant import Variant
    from generator.rules import Reading
    from generator.targets import Target
    from generator.team import Team

_RULES: Final = "rules"

_targets_argument = click.argument("targets", nargs=-1, required=True, metavar="SUITE|TASK|DATASET...")
_out_option = click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder of oracles to write to."
)
_config_option = click.option(
    "--config",
    default=_RULES,
    show_default=True,
    metavar="NAME|FILE",
    help="Who writes, assesses and judges: 'rules' (no model, no network), 'gemini', 'open', or a TOML file.",
)
_baseline_option = click.option(
    "--baseline", is_flag=True, help="One pass a module: no assessors, no judge, no checks."
)
_ablate_option = click.option(
    "--ablate",
    type=click.Choice(["tasks", "oracles", "reliability"]),
    help="Leave a part out: a library, or what the program itself and recorded traces check.",
)
_reading_option = click.option(
    "--reading",
    type=click.Choice(["default", "lenient", "strict"]),
    default="default",
    show_default=True,
    help="How well a thing has to be done where the instruction leaves it open; see docs/oracles.md.",
)


@click.group()
def generate() -> None:
    """Write oracles once: libraries of atomic tasks and oracles, then an oracle for each instruction."""


generate.add_command(lint)


@generate.command(
    epilog="""\b
Examples:
  mango-trace generate library libero_10 --out my_oracles
  mango-trace generate library rollouts --out my_oracles --only I
"""
)
@_targets_argument
@_out_option
@_config_option
@click.option(
    "--only", type=click.Choice(["I", "II"]), help="Only the tasks (I), or only their oracles (II)."
)
@_reading_option
@_baseline_option
@_ablate_option
def library(
    targets: tuple[str, ...],
    out: Path,
    config: str,
    only: str | None,
    reading: str,
    baseline: bool,
    ablate: str | None,
) -> None:
    """Write the libraries that the instructions of some tasks need (modules I and II).

    Libraries that are in the folder already are extended where an instruction is new, and else left alone.
    Calls of models are kept in OUT.work: what was interrupted goes on, and nothing is asked twice.
    """
    from generator.folder import OracleFolder
    from generator.generation import Generation
    from generator.progress import Display
    from generator.rules import Reading
    from generator.targets import resolve

    variant, folder = _variant(baseline=baseline, ablate=ablate), OracleFolder(out, Reading(reading))
    found = resolve(targets)
    with _team(config, folder, found, Reading(reading)) as team, Display(None, "item") as display:
        run = Generation(team, folder, variant=variant, progress=display.show)
        _write_libraries(run, found, ("I", "II") if only is None else (only,))
    print_problems(run.problems)
    click.echo(f"{out}: {len(folder.tasks())} atomic tasks, {len(folder.oracles())} atomic oracles")
    sys.exit(3 if run.problems else 0)


@generate.command(
    epilog="""\b
Examples:
  mango-trace generate oracles libero_10 --out my_oracles --on rollouts
  mango-trace generate oracles rollouts --out my_oracles --only III --format json
  mango-trace generate oracles rollouts --out strict_oracles --reading strict
"""
)
@_targets_argument
@_out_option
@_config_option
@click.option("--only", type=click.Choice(["I", "II", "III"]), help="Only this module.")
@click.option(
    "--on",
    "traces",
    metavar="DATASET",
    type=places.dataset,
    help="Traces that oracles must be borne out by [default: those of a DATASET that names the task].",
)
@_reading_option
@_baseline_option
@_ablate_option
@format_option
def oracles(
    targets: tuple[str, ...],
    out: Path,
    config: str,
    only: str | None,
    traces: Path | None,
    reading: str,
    baseline: bool,
    ablate: str | None,
    output_format: str,
) -> None:
    """Write the oracle of every task, and the libraries as far as they are missing.

    What is accepted is a file TASK.json; what traces show of it, with its mutation score, is in proofs.json.
    An oracle that traces refute is not accepted. The transcript, the calls of models, and the best candidates
    of tasks whose budget was spent are kept in OUT.work. Exit code 3 if any task has no accepted oracle; the
    others are written.
    """
    from generator.folder import OracleFolder
    from generator.generation import Generation
    from generator.progress import Display
    from generator.rules import Reading
    from generator.targets import resolve

    variant, folder = _variant(baseline=baseline, ablate=ablate), OracleFolder(out, Reading(reading))
    found = resolve(targets)
    results: list[PlanResult] = []
    gates = _Gates(traces, found)
    with _team(config, folder, found, Reading(reading)) as team, Display(len(found), "task") as display:
        run = Generation(team, folder, variant=variant, gate_of=gates, progress=display.show)
        _write_libraries(run, found, _modules(variant) if only is None else (only,))
        if only in (None, "III"):
            announce_compiling()
            for result in run.write_plans(found):
                results.append(result)
                display.done()
    if only in ("I", "II"):
        print_problems(run.problems)
        click.echo(f"{out}: {len(folder.tasks())} atomic tasks, {len(folder.oracles())} atomic oracles")
        sys.exit(3 if run.problems else 0)
    print_rows([_row(result) for result in results], output_format)
    print_problems(gates.problems)
    accepted = sum(result.outcome == "accepted" for result in results)
    proven = sum(result.proof is not None and result.proof.outcome == "proven" for result in results)
    click.echo(f"{out}: {accepted} of {len(results)} oracles written, {proven} proven on traces", err=True)
    if accepted < len(results) and folder.calls.exists():
        click.echo(f"the same call gives the same: answers are kept in {folder.calls}", err=True)
    sys.exit(0 if accepted == len(results) and not gates.problems else 3)


def _write_libraries(run: Generation, targets: Sequence[Target], modules: Sequence[str]) -> None:
    if "I" in modules:
        run.write_tasks([target.instruction for target in targets])
    if "II" in modules:
        run.write_oracles()


def _modules(variant: Variant) -> tuple[str, ...]:
    """Modules that write libraries in a variant; without a library of tasks the oracles stay as they are."""
    if not variant.task_library:
        return ()
    return ("I", "II") if variant.oracle_library else ("I",)


def _row(result: PlanResult) -> dict[str, Any]:
    proof = result.proof
    return {
        "task": result.task,
        "outcome": result.outcome,
        "rounds": result.rounds,
        "proof": None if proof is None else proof.outcome,
        "mutation_score": None if proof is None else proof.mutation_score,
        "mutants": None if proof is None else proof.mutants,
        "why": result.why,
    }


class _Gates:
    """Where the traces of tasks are: in the dataset that was given, or in those that name them.

    Args:
        traces: The dataset that was given, if one was.
        targets: The tasks.

    Raises:
        DatasetError: There is no such dataset; said before anything is asked.
    """

    def __init__(self, traces: Path | None, targets: Sequence[Target]) -> None:
        from generator.gate import Gate

        self._traces = traces
        places = {traces or target.dataset for target in targets} - {None}
        self._gates = {place: Gate(place) for place in places if place is not None}

    def __call__(self, target: Target) -> Gate | None:
        place = self._traces or target.dataset
        return None if place is None else self._gates[place]

    @property
    def problems(self) -> list[tuple[str, str]]:
        """Traces and scenes that could not be read."""
        return [problem for gate in self._gates.values() for problem in gate.problems]


@contextmanager
def _team(config: str, folder: OracleFolder, targets: Sequence[Target], reading: Reading) -> Iterator[Team]:
    """Who answers. Calls of models are kept in the folder, so that none is repeated."""
    from generator.members import members_of
    from generator.models.base import Usage
    from generator.team import Team, Transcript

    members = members_of(config, targets, folder.calls)
    folder.work.mkdir(parents=True, exist_ok=True)
    with Transcript(folder.transcript) as transcript:
        team = Team(members.by_role, transcript, reading.data, members.concurrency)
        try:
            yield team
        except KeyboardInterrupt:
            click.echo("interrupted; the same command goes on where it stopped", err=True)
            sys.exit(130)
        finally:
            used = sum(team.usage().values(), start=Usage())
            click.echo(f"{used.calls} calls, {used.tokens} tokens, {used.cost_usd:.2f} USD", err=True)


def _variant(*, baseline: bool, ablate: str | None) -> Variant:
    from generator.modules.variant import ABLATIONS, BASELINE, WHOLE

    if baseline and ablate:
        raise click.UsageError("--baseline leaves out more than --ablate does; give one of them")
    return BASELINE if baseline else ABLATIONS[ablate] if ablate else WHOLE
