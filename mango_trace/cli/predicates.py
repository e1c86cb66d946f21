"""``mango-trace predicates``."""

from __future__ import annotations

import click

from mango_trace.cli.output import format_option, print_rows


@click.command(epilog="\b\nExample:\n  mango-trace predicates --format json")
@click.argument("name", required=False)
@format_option
def predicates(name: str | None, output_format: str) -> None:
    """List the predicates that an oracle can use, or describe the one called NAME."""
    from mango_trace.errors import UnknownNameError
    from mango_trace.predicates.catalogue import CATALOGUE

    if name is None:
        rows = [
            {
                "predicate": entry.signature(),
                "result": entry.result,
                "needs": " ".join(entry.needs),
                "source": entry.source,
                "meaning": entry.doc,
            }
            for entry in CATALOGUE.values()
        ]
        print_rows(rows, output_format)
        return
    if name not in CATALOGUE:
        raise UnknownNameError("predicate", name, CATALOGUE)
    entry = CATALOGUE[name]
    click.echo(f"{entry.signature()}\n\n{entry.doc} Source: {entry.source}.")
    click.echo(f"Needs: {', '.join(entry.needs)}.\n")
    for parameter in entry.parameters:
        click.echo(f"  {parameter}\n      {parameter.doc}")
    click.echo(f"\n{(entry.evaluate.__doc__ or '').strip()}")
