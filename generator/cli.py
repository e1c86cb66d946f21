"""``mango-trace generate``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mango_trace.cli import places
from mango_trace.cli.output import format_option, print_rows

if TYPE_CHECKING:
    from generator.modules.oracles import Oracles
    from generator.modules.tasks import Tasks
    from generator.modules.variant import Variant
    from generator.team import Member, Team
    from mango_trace.scene.package import ScenePackage

_TRANSCRIPT: Final = "transcript.jsonl"
_CALLS: Final = "calls"
_TASKS: Final = "atomic_tasks.json"
_ORACLES: Final = "atomic_oracles.json"
_UNPROVEN: Final = "unproven"
_RULES: Final = "rules"

_profile_option = click.option(
    "--profile",
    default=_RULES,
    show_default=True,
    help="Who writes, assesses and judges: 'rules' (no model, no network), 'gemini', 'open', or a TOML file.",
)


@click.group()
def generate() -> None:
    """Write oracles once: libraries of atomic tasks and oracles, then an oracle for each instruction."""


@generate.command(epilog="\b\nExample:\n  mango-trace generate library rollouts --out my_oracles")
@click.argument("dataset", type=places.dataset)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder to write to.")
@_profile_option
def library(dataset: Path, out: Path, profile: str) -> None:
    """Write the libraries that the instructions of DATASET's tasks need (modules I and II).

    Libraries that are in the folder already are extended.
    """
    from generator.modules.oracles import oracles_as_data, write_oracles
    from generator.modules.tasks import as_data, write_tasks

    scenes = dict(_scenes(dataset))
    instructions = list(dict.fromkeys(instruction for instruction, _ in scenes.values()))
    with _team(profile, out, scenes) as team:
        tasks = write_tasks(team, instructions, existing=_read_tasks(out))
        if not tasks.accepted or tasks.candidate is None:
            transcript = _work(out) / _TRANSCRIPT
            click.echo(f"error: no library of atomic tasks was accepted; see {transcript}", err=True)
            sys.exit(3)
        _write(out / _TASKS, {"atomic_tasks": as_data(tasks.candidate)})
        found = write_oracles(team, tasks.candidate, existing=_read_oracles(out))
        _write(out / _ORACLES, {"atomic_oracles": oracles_as_data(found.oracles)})
    click.echo(f"{out}: {len(tasks.candidate)} atomic tasks, {len(found.oracles)} atomic oracles")
    if not found.accepted:
        click.echo("error: the library of atomic oracles was not accepted", err=True)
        sys.exit(3)


@generate.command(epilog="\b\nExample:\n  mango-trace generate oracles rollouts --out my_oracles")
@click.argument("dataset", type=places.dataset)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder with the libraries; written to."
)
@_profile_option
@click.option("--baseline", is_flag=True, help="One pass: no assessors, no judge, no checks.")
@click.option(
    "--ablate",
    type=click.Choice(["tasks", "oracles", "reliability"]),
    help="Leave a part out: a library, or what the program itself checks.",
)
@format_option
def oracles(
    dataset: Path, out: Path, profile: str, baseline: bool, ablate: str | None, output_format: str
) -> None:
    """Write the oracle of every task of DATASET (module III).

    What is accepted is a file TASK.json. The transcript, the calls of models, and the best candidates of
    tasks whose budget was spent are kept in OUT.work. Exit code 3 if any task has no accepted oracle; the
    others are written.
    """
    from tqdm import tqdm

    from generator.modules.plans import write_plan
    from mango_trace.errors import MangoTraceError, UsageError

    variant = _variant(baseline=baseline, ablate=ablate)
    tasks, atomic = _read_tasks(out), _read_oracles(out)
    if (variant.task_library and not tasks) or (variant.oracle_library and not atomic):
        raise UsageError(f"{out}: no libraries there; mango-trace generate library writes them")
    scenes = dict(_scenes(dataset))
    rows: list[dict[str, Any]] = []
    with _team(profile, out, scenes) as team:
        for name, (instruction, package) in tqdm(scenes.items(), unit="task", disable=None):
            row: dict[str, Any] = {"task": name, "outcome": "error", "rounds": 0, "why": ""}
            rows.append(row)
            try:
                found = write_plan(team, instruction, package.scene, tasks, atomic, variant=variant)
            except MangoTraceError as error:
                row["why"] = str(error)
                continue
            row["rounds"], row["outcome"] = len(found.rounds), "accepted" if found.accepted else "unproven"
            if not found.accepted and found.rounds:
                row["why"] = "; ".join(found.rounds[-1].problems)
            if found.candidate is not None:
                folder = out if found.accepted else _work(out) / _UNPROVEN
                document = found.candidate.model_dump(mode="json", exclude_defaults=True)
                _write(folder / f"{name}.json", document)
    print_rows(rows, output_format)
    accepted = sum(row["outcome"] == "accepted" for row in rows)
    click.echo(f"{out}: {accepted} of {len(rows)} oracles written", err=True)
    sys.exit(0 if accepted == len(rows) else 3)


def _scenes(dataset: Path) -> Iterator[tuple[str, tuple[str, ScenePackage]]]:
    """Tasks of a dataset by name, each with its instruction and one of its scenes."""
    from mango_trace.store import Dataset

    opened = Dataset(dataset)
    seen = set()
    for record in opened.records:
        if record.metadata.task not in seen:
            seen.add(record.metadata.task)
            yield record.metadata.task, (record.metadata.instruction, opened.scene(record.scene))


@contextmanager
def _team(profile: str, out: Path, scenes: Mapping[str, tuple[str, ScenePackage]]) -> Iterator[Team]:
    """Who answers, by a profile. Calls of models are kept in the folder, so that none is repeated."""
    from generator.models.base import Usage
    from generator.team import Team, Transcript

    work = _work(out)
    members = _by_rules(scenes) if profile == _RULES else _by_models(profile, work / _CALLS)
    work.mkdir(parents=True, exist_ok=True)
    with Transcript(work / _TRANSCRIPT) as transcript:
        team = Team(members, transcript)
        try:
            yield team
        finally:
            used = sum(team.usage().values(), start=Usage())
            click.echo(f"{used.calls} calls, {used.tokens} tokens, {used.cost_usd:.2f} USD", err=True)


def _by_rules(scenes: Mapping[str, tuple[str, ScenePackage]]) -> dict[str, Member]:
    from generator.prompting import ROLES
    from generator.rules.model import RulesModel
    from generator.team import Member

    known = {
        name: (package.scene, package.problem)
        for name, (_, package) in scenes.items()
        if package.problem is not None
    }
    return {role: Member(RulesModel(known)) for role in ROLES}


def _by_models(profile: str, calls: Path) -> dict[str, Member]:
    from generator.models.config import read_profile
    from generator.models.opening import open_models
    from generator.team import Member

    chosen = read_profile(profile)
    models = open_models(chosen, calls)
    return {
        role: Member(model, chosen.by_role[role].settings, chosen.by_role[role].prompt_version)
        for role, model in models.items()
    }


def _work(out: Path) -> Path:
    """Beside the oracles: a folder of oracles is judged by whole, and nothing else may lie in it."""
    return out.with_name(f"{out.name}.work")


def _variant(*, baseline: bool, ablate: str | None) -> Variant:
    from generator.modules.variant import ABLATIONS, BASELINE, WHOLE

    if baseline and ablate:
        raise click.UsageError("--baseline leaves out more than --ablate does; give one of them")
    return BASELINE if baseline else ABLATIONS[ablate] if ablate else WHOLE


def _read_tasks(folder: Path) -> Tasks:
    from mango_trace.oracle import read_tasks

    return read_tasks(folder / _TASKS) if (folder / _TASKS).exists() else ()


def _read_oracles(folder: Path) -> Oracles:
    from mango_trace.oracle import read_oracles

    return read_oracles(folder / _ORACLES) if (folder / _ORACLES).exists() else ()


def _write(path: Path, document: object) -> None:
    from mango_trace.store.layout import write_atomically

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode())
