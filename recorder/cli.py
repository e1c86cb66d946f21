"""``mango-trace record``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mango_trace.cli import places
from mango_trace.errors import UsageError
from recorder.policy_options import policy_options

if TYPE_CHECKING:
    from recorder.policies.source import PolicyOptions, PolicySource
    from recorder.specs import EpisodeSpec

_EPILOG = """\b
Examples:
  mango-trace record libero_10 --task 3 --policy scripted --episodes 20 --out runs
  mango-trace record libero_10 --task 0,3 --policy scripted --fault all --episodes 2 --out runs
  mango-trace record libero_goal --task all --policy random --episodes 5 --workers 2 --out runs
  mango-trace record libero_10 --task 3 --policy replay --source runs --out again
  mango-trace record libero_10 --policy ws://localhost:8000 --policy-name pi05 --episodes 50 --out runs
"""


@click.command(epilog=_EPILOG)
@click.argument("suite")
@click.option("--task", "tasks", default="all", show_default=True, help="Task index, a,b,c or all.")
@click.option(
    "--policy",
    default="scripted",
    show_default=True,
    help="noop, random, replay or scripted; ws://host:port or gr00t://host:port of a served policy; "
    "package.module:name of your own Python object, which is imported; lerobot:FOLDER of a pretrained one.",
)
@click.option("--episodes", type=click.IntRange(1), default=1, show_default=True, help="Per task.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--fault", "faults", multiple=True, help="kind@action, or all; may be repeated.")
@click.option("--horizon", type=click.IntRange(1), help="Policy steps [default: the suite's].")
@click.option(
    "--after-success",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Steps recorded past the first success.",
)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True)
@click.option("--source", type=places.local_dataset, help="Dataset that replay plays.")
@click.option("--out", type=places.local_dataset, required=True, help="Dataset to add to.")
@policy_options
def record(
    suite: str,
    tasks: str,
    policy: str,
    episodes: int,
    seed: int,
    faults: tuple[str, ...],
    horizon: int | None,
    after_success: int,
    workers: int,
    source: Path | None,
    out: Path,
    options: PolicyOptions,
) -> None:
    """Record a policy on LIBERO: the full simulator state of every step.

    SUITE is libero_spatial, libero_object, libero_goal, libero_90 or libero_10. Episodes that the
    dataset already holds are not recorded again, so an interrupted call goes on where it stopped.

    Served and pretrained policies are shown two rendered cameras. An episode whose policy gives no
    answer in time, or a wrong one, is stored as an error, which is no failed policy; the same command
    tries it again.
    """
    from dataclasses import replace

    from mango_trace.store.layout import check_target
    from recorder.policies.source import resolve

    check_target(out)
    # First, since a server may be waited for that a wrong call does not need.
    specs = _specs(suite, tasks, policy, episodes, seed, faults, horizon, after_success, source)
    served = resolve(policy, options)
    if served:
        specs = [replace(spec, policy=served.name, policy_version=served.version) for spec in specs]
    sys.exit(3 if record_specs(out, specs, workers, source, served) else 0)


def _specs(
    suite: str,
    tasks: str,
    policy: str,
    episodes: int,
    seed: int,
    faults: tuple[str, ...],
    horizon: int | None,
    after_success: int,
    source: Path | None,
) -> list[EpisodeSpec]:
    from recorder.adapters.libero import SUITES, tasks_of
    from recorder.policies.registry import fault_names
    from recorder.specs import EpisodeSpec

    indices = _task_indices(tasks, len(tasks_of(suite)))
    steps = horizon or SUITES[suite].horizon
    if policy == "replay":
        return _replays(suite, indices, source)
    if faults and policy != "scripted":
        raise UsageError("--fault needs --policy scripted")
    if policy == "scripted":
        indices = _planned(suite, indices, all_tasks=tasks == "all")
    return [
        EpisodeSpec(
            suite=suite,
            task_index=index,
            policy=policy,
            seed=seed,
            episode=episode,
            init_state_id=episode % 50,
            horizon=steps,
            after_success=after_success,
            fault=fault,
        )
        for index in indices
        for fault in (fault_names(suite, index, faults) if policy == "scripted" else (None,))
        for episode in range(episodes)
    ]


def _planned(suite: str, indices: list[int], *, all_tasks: bool) -> list[int]:
    """Tasks that the scripted policy has a plan for; a task that was named must have one."""
    from recorder.policies.scripted import PLANS

    planned = [index for index in indices if (suite, index) in PLANS]
    lacking = ", ".join(str(index) for index in indices if index not in planned)
    known = ", ".join(f"{name} {index}" for name, index in PLANS)
    if lacking and not (all_tasks and planned):
        raise UsageError(f"policy scripted has no plan for {suite} {lacking}; it has: {known}")
    if lacking:
        click.echo(f"left out, policy scripted has no plan for: {suite} {lacking}", err=True)
    return planned


def _replays(suite: str, indices: Sequence[int], source: Path | None) -> list[EpisodeSpec]:
    from mango_trace.store import Dataset
    from recorder.specs import EpisodeSpec

    if source is None:
        raise UsageError("--policy replay needs --source DATASET")
    return [
        EpisodeSpec(
            suite=suite,
            task_index=record.metadata.task_index or 0,
            policy="replay",
            seed=record.metadata.seed,
            episode=record.metadata.episode,
            init_state_id=record.metadata.init_state_id or 0,
            horizon=record.n_steps - record.metadata.warmup_steps,
            after_success=record.n_steps,
            source=record.trace_id,
        )
        for record in Dataset(source).records
        if record.metadata.suite == suite
        and record.metadata.task_index in indices
        and record.n_steps > record.metadata.warmup_steps
    ]


def _task_indices(text: str, n_tasks: int) -> list[int]:
    if text == "all":
        return list(range(n_tasks))
    try:
        indices = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--task takes an index, a list a,b,c or all, not {text!r}") from error
    for index in indices:
        if not 0 <= index < n_tasks:
            raise UsageError(f"no task {index}; the suite has tasks 0 to {n_tasks - 1}")
    return indices


def record_specs(
    out: Path,
    specs: Sequence[EpisodeSpec],
    workers: int,
    source: Path | None = None,
    policy: PolicySource | None = None,
) -> int:
    """Record what is missing, with progress, and report.

    Args:
        out: Dataset to add to.
        specs: Every episode that shall be in it.
        workers: Processes.
        source: Dataset that ``replay`` plays.
        policy: Where the policy is, when it is none of the recorder's own.

    Returns:
        Number of episodes that ended in an error.
    """
    from tqdm import tqdm

    from mango_trace.store import Dataset
    from mango_trace.store.layout import DATASET_FILE
    from recorder.campaign import record_all
    from recorder.specs import missing

    todo = list(specs)
    if (out / DATASET_FILE).exists():
        todo = missing(specs, Dataset(out).records)
    done = len(specs) - len(todo)
    recorded = successes = errors = 0
    hopeless: str | None = None
    bar = tqdm(total=len(specs), initial=done, unit="episode", disable=None)
    outcomes = record_all(out, todo, workers=workers, source=source, policy=policy)
    try:
        with bar:
            for outcome in outcomes:
                successes += outcome.success is True
                recorded += outcome.error is None
                errors += outcome.error is not None
                hopeless = hopeless or outcome.hopeless
                if outcome.error:
                    bar.write(f"error: {_name(outcome.spec)}: {outcome.error}", file=sys.stderr)
                bar.set_postfix(successes=successes, errors=errors)
                bar.update()
    except KeyboardInterrupt:
        outcomes.close()  # type: ignore[attr-defined]
        click.echo(f"interrupted; the same command goes on where {out} stops", err=True)
        sys.exit(130)
    click.echo(
        f"{out}: {recorded} episodes recorded, {successes} of them successful, "
        f"{done} were there already, {errors} errors"
    )
    if errors:
        click.echo(f"{errors} episodes ended in an error; they count as no failed policy", err=True)
    if hopeless:
        left = len(todo) - recorded - errors
        click.echo(
            f"stopped there, {left} episodes before the end: {hopeless}; the same command goes on", err=True
        )
    return errors


def _name(spec: EpisodeSpec) -> str:
    fault = f" {spec.fault}" if spec.fault else ""
    return f"{spec.suite} task {spec.task_index} episode {spec.episode}{fault}"
