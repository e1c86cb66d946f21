"""``mango-trace``: finds commands by name and turns errors into messages and exit codes."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points, version
from typing import Any, Final

import click

from mango_trace.errors import MangoTraceError
from mango_trace.startup import collect_less_garbage, only_judge

_COMMANDS: Final = {
    "annotate": "mango_trace.cli.labels:annotate",
    "compact": "mango_trace.cli.store:compact",
    "compare": "mango_trace.cli.compare:compare",
    "doctor": "mango_trace.cli.doctor:doctor",
    "evaluate": "mango_trace.cli.evaluate:evaluate",
    "export": "mango_trace.cli.export:export",
    "extract": "mango_trace.cli.store:extract",
    "labels": "mango_trace.cli.labels:labels",
    "ls": "mango_trace.cli.store:ls",
    "power": "mango_trace.cli.power:power",
    "predicates": "mango_trace.cli.predicates:predicates",
    "prove": "mango_trace.cli.prove:prove",
    "query": "mango_trace.cli.query:query",
    "sample": "mango_trace.cli.sample:sample",
    "show": "mango_trace.cli.show:show",
    "sql": "mango_trace.cli.query:sql",
    "verify": "mango_trace.cli.store:verify",
}

_EXTENSIONS: Final = "mango_trace.commands"
"""Entry-point group by which the recorder and the generator add their commands."""


class _LazyGroup(click.Group):
    """Imports a command only when it is called, so that the program starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the core's commands and of those that other packages add."""
        return sorted({*_COMMANDS, *_extensions()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name in _COMMANDS:
            module, _, attribute = _COMMANDS[cmd_name].partition(":")
            found: click.Command = getattr(importlib.import_module(module), attribute)
            return found
        extension = _extensions().get(cmd_name)
        if extension is None:
            return None
        loaded: click.Command = extension.load()
        return loaded

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a known error becomes its message and exit code."""
        try:
            return super().invoke(ctx)
        except MangoTraceError as error:
            click.echo(f"error: {error}", err=True)
            ctx.exit(error.exit_code)


def _extensions() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=_EXTENSIONS)}


@click.command(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Example:
  mango-trace record libero_10 --task 3 --episodes 4 --out runs
  mango-trace evaluate runs --oracles oracles --db verdicts.duckdb
  mango-trace query agreement --db verdicts.duckdb
""",
)
@click.version_option(version("mango-trace"), prog_name="mango-trace")
def cli() -> None:
    """Judge recorded robot rollouts offline: did the policy do it, and if not, where did it fail?

    Exit codes: 0 done, 1 a gate failed, 2 wrong use, 3 bad input (the rest was done),
    130 interrupted.
    """


def prepare(arguments: Sequence[str]) -> None:
    """Make a process that is this program's alone start fast.

    Args:
        arguments: Those of the command line, the name of the program left out.
    """
    collect_less_garbage()
    if arguments and arguments[0] in _COMMANDS:
        # None of the core's commands draws: MuJoCo need not look for a window system when it is imported.
        os.environ.setdefault("MUJOCO_GL", "disable")
    # Ray brings its own needs.
    if arguments and arguments[0] == "evaluate" and {"ray", "--engine=ray"}.isdisjoint(arguments):
        only_judge()


def main() -> None:
    """Entry point of the console script."""
    prepare(sys.argv[1:])
    try:
        cli()
    except BrokenPipeError:  # the reader of a pipe, such as head, had enough
        sys.stderr.close()
        sys.exit(0)
    finally:
        gc.freeze()
