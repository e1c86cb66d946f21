"""``mango-trace datasets``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from mango_trace.cli import places
from mango_trace.cli.output import format_option, print_rows


@click.group()
def datasets() -> None:
    """Shared datasets that anybody can record again: list, info, build."""


@datasets.command("list", epilog="\b\nExample:\n  mango-trace datasets list")
@format_option
def list_datasets(output_format: str) -> None:
    """List the datasets that there are recipes for."""
    from recorder.recipes import read_recipe, recipe_names

    recipes = {name: read_recipe(name) for name in recipe_names()}
    rows = [
        {
            "name": name,
            "rollouts": recipe.n_rollouts,
            "tasks": len(recipe.tasks),
            "suite": recipe.suite,
            "policy": recipe.policy,
            "licence": recipe.licence,
            "title": recipe.title,
        }
        for name, recipe in recipes.items()
    ]
    print_rows(rows, output_format)


@datasets.command(epilog="\b\nExample:\n  mango-trace datasets info libero-10-scripted")
@click.argument("name")
def info(name: str) -> None:
    """Show the card of the dataset NAME."""
    from recorder.recipes import read_card

    click.echo(read_card(name), nl=False)


@datasets.command(
    epilog="\b\nExample:\n  mango-trace datasets build libero-10-scripted --out runs/libero-10-scripted"
)
@click.argument("name")
@click.option("--out", type=places.local_dataset, help="Where [default: runs/NAME].")
@click.option(
    "--workers", type=click.IntRange(1), default=os.cpu_count, show_default="all cores", help="Processes."
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="Record only this share of each task's rollouts, the first ones of each kind.",
)
def build(name: str, out: Path | None, workers: int, share: float) -> None:
    """Record the dataset NAME and draw the sample that is called paper.

    Interrupted, it goes on where it stopped; done, it changes nothing.
    """
    from mango_trace.store.layout import DatasetInfo, check_target, create_dataset
    from mango_trace.store.sampling import PAPER, mark_sample
    from recorder.cli import record_specs
    from recorder.recipes import read_recipe

    recipe = read_recipe(name)
    part = recipe.model_copy(
        update={"successes": _part(recipe.successes, share), "faulty": _part(recipe.faulty, share)}
    )
    target = out or Path("runs") / name
    check_target(target)
    made_by = f"mango-trace datasets build {name}"
    create_dataset(target, DatasetInfo(name=name, licence=recipe.licence, made_by=made_by))
    failed = record_specs(target, part.specs(), workers)
    draw = mark_sample(target)
    click.echo(f"{target}: {len(draw.chosen)} rollouts are in its sample {PAPER!r}")
    sys.exit(3 if failed else 0)


def _part(count: int, share: float) -> int:
    return max(1, round(count * share)) if count else 0
