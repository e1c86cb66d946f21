"""``mango-trace annotate`` and ``labels``."""

from __future__ import annotations

import getpass
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from mango_trace.cli import places
from mango_trace.cli.output import format_option, print_rows

if TYPE_CHECKING:
    from mango_trace.store import Dataset, TraceRecord
    from mango_trace.store.labels import TraceLabel


@click.command(
    epilog="""\b
Example:
  mango-trace annotate runs 3f2a --first-failed "pick_up(akita_black_bowl_1)" --class never_grasped
"""
)
@click.argument("dataset", type=places.local_dataset)
@click.argument("trace")
@click.option("--first-failed", "action", required=True, help="ACTION(NAME, ...) that failed first, or none.")
@click.option("--class", "failure_class", help="Class of the failure; mango-trace labels classes lists them.")
@click.option("--state", type=click.IntRange(min=0), help="State at which the failure began.")
@click.option("--note", default="", help="Anything else.")
@click.option("--who", default=getpass.getuser, show_default="your login name", help="Who says so.")
def annotate(
    dataset: Path,
    trace: str,
    action: str,
    failure_class: str | None,
    state: int | None,
    note: str,
    who: str,
) -> None:
    """Label TRACE of DATASET: which action failed first. Show lists the actions of the trace's plan.

    A label is kept beside others; evaluate takes it over, and query localisation and labellers use it.
    """
    from mango_trace.errors import UnknownNameError, UsageError
    from mango_trace.store import Dataset
    from mango_trace.store.labels import TraceLabel, add_labels, check_given, parse_action
    from mango_trace.taxonomy import TAXONOMY

    opened = Dataset(dataset)
    record = opened.find(trace)
    try:
        action_id, parameters = parse_action(action)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if failure_class is not None and failure_class not in TAXONOMY:
        raise UnknownNameError("failure class", failure_class, TAXONOMY)
    if state is not None and state >= record.n_states:
        raise UsageError(f"the trace has no state {state}; its last one is {record.n_states - 1}")
    label = TraceLabel(
        trace_id=record.trace_id,
        who=who,
        when=datetime.now(UTC).replace(microsecond=0),
        action_id=action_id,
        parameters=parameters,
        state=state,
        failure_class=failure_class,
        note=note,
    )
    _check_names(opened, record, label)
    check_given(label)
    add_labels(dataset, [label])
    click.echo(f"{record.trace_id}: {who} says {action}")


@click.group()
def labels() -> None:
    """Labels of traces: list, export, import, and the classes that they may name."""


@labels.command("list", epilog="\b\nExample:\n  mango-trace labels list runs --format json")
@click.argument("dataset", type=places.dataset)
@format_option
def list_labels(dataset: Path, output_format: str) -> None:
    """List the labels of DATASET, injected ones too."""
    from mango_trace.store import Dataset
    from mango_trace.store.labels import action_text

    rows = [
        {
            "trace_id": record.trace_id,
            "task": record.metadata.task,
            "who": label.who,
            "when": None if label.when is None else label.when.isoformat(),
            "first_failed": action_text(label),
            "failure_class": label.failure_class,
            "state": label.state,
            "verified": label.verified,
            "note": label.note,
        }
        for record in Dataset(dataset).records
        for label in record.metadata.labels
    ]
    print_rows(rows, output_format)


@labels.command("export", epilog="\b\nExample:\n  mango-trace labels export runs > labels.csv")
@click.argument("dataset", type=places.dataset)
def export_labels(dataset: Path) -> None:
    """Write the labels that people gave to DATASET as CSV."""
    from mango_trace.store.labels import read_labels, to_csv
    from mango_trace.store.location import reading

    with reading(dataset):
        text = to_csv(read_labels(dataset))
    click.echo(text, nl=False)


@labels.command("import", epilog="\b\nExample:\n  mango-trace labels import runs labels.csv")
@click.argument("dataset", type=places.local_dataset)
@click.argument("file", type=click.File("r", encoding="utf-8"))
def import_labels(dataset: Path, file: IO[str]) -> None:
    """Add labels from a CSV FILE (- for standard input) to DATASET; those that are there are passed over.

    Its columns are those that export writes; trace_id, who and first_failed must be there.
    """
    from mango_trace.errors import MangoTraceError
    from mango_trace.store import Dataset
    from mango_trace.store.labels import add_labels, check_given, from_csv

    opened = Dataset(dataset)
    good, bad = [], 0
    for label in from_csv(file.read(), file.name):
        try:
            record = opened.find(label.trace_id)
            label = label.model_copy(update={"trace_id": record.trace_id})
            _check_names(opened, record, label)
            check_given(label)
        except MangoTraceError as error:
            click.echo(f"error: {error}", err=True)
            bad += 1
        else:
            good.append(label)
    new = add_labels(dataset, good)
    click.echo(f"{dataset}: {new} labels added, {len(good) - new} were there already, {bad} do not fit")
    sys.exit(3 if bad else 0)


@labels.command("classes", epilog="\b\nExample:\n  mango-trace labels classes --format csv")
@format_option
def classes(output_format: str) -> None:
    """List the failure classes that a label may name."""
    from mango_trace.taxonomy import TAXONOMY

    rows = [
        {"class": entry.slug, "family": entry.family, "meaning": entry.meaning} for entry in TAXONOMY.values()
    ]
    print_rows(rows, output_format)


def _check_names(dataset: Dataset, record: TraceRecord, label: TraceLabel) -> None:
    """Refuse names that the trace's scene has not."""
    from mango_trace.errors import UnknownNameError
    from mango_trace.scene.kinds import ArgumentKind

    scene = dataset.scene(record.scene).scene
    known = [name for kind in ArgumentKind for name in scene.names(kind)]
    for name in label.parameters:
        if name not in known:
            raise UnknownNameError(f"thing in the scene of trace {record.trace_id}", name, known)
