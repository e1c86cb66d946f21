"""``mango-trace ls``, ``verify``, ``compact`` and ``extract``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mango_trace.cli import places
from mango_trace.cli.output import format_option, print_rows

if TYPE_CHECKING:
    from mango_trace.store import Dataset, TraceRecord


@click.command(epilog="\b\nExample:\n  mango-trace ls runs --task 3 --fault none --format csv")
@click.argument("dataset", type=places.dataset)
@click.option("--suite", help="Only this suite.")
@click.option("--task", help="Only this task: its index, or a part of its name.")
@click.option("--policy", help="Only this policy.")
@click.option("--fault", help="Only this fault: kind@action, a part of it, or none.")
@click.option("--ended", type=click.Choice(["terminated", "truncated", "error"]))
@click.option("--success/--failure", "success", default=None, help="By the live check.")
@click.option("--sample", help="Only traces that were drawn for this sample; mango-trace sample draws.")
@format_option
def ls(
    dataset: Path,
    suite: str | None,
    task: str | None,
    policy: str | None,
    fault: str | None,
    ended: str | None,
    success: bool | None,
    sample: str | None,
    output_format: str,
) -> None:
    """List the traces of DATASET, one row each."""
    from mango_trace.errors import UnknownNameError
    from mango_trace.store import Dataset

    opened = Dataset(dataset)
    samples = sorted({name for record in opened.records for name in record.samples})
    if sample is not None and sample not in samples:
        _name_problems(opened)  # a file of samples that cannot be read has none
        raise UnknownNameError("sample", sample, samples)
    wanted = {"suite": suite, "policy": policy, "ended": ended}
    rows = [
        _row(record)
        for record in opened.records
        if all(value in (None, getattr(record.metadata, key)) for key, value in wanted.items())
        and _matches_task(record, task)
        and _matches_fault(record, fault)
        and success in (None, record.live_success)
        and (sample is None or sample in record.samples)
    ]
    print_rows(rows, output_format)
    _report(opened)


@click.command(epilog="\b\nExample:\n  mango-trace verify runs")
@click.argument("dataset", type=places.dataset)
def verify(dataset: Path) -> None:
    """Read every trace of DATASET and compare it with its checksums."""
    from tqdm import tqdm

    from mango_trace.store import Dataset, verify_dataset

    opened = Dataset(dataset)
    bad = 0
    with tqdm(total=len(opened.records), unit="trace", disable=None) as bar:
        for check in verify_dataset(opened):
            bar.update()
            if check.problem is not None:
                bad += 1
                bar.write(f"error: trace {check.record.trace_id}: {check.problem}", sys.stderr)
    click.echo(f"{dataset}: {len(opened.records) - bad} of {len(opened.records)} traces are sound")
    _report(opened, failed=bad > 0)


@click.command(epilog="\b\nExample:\n  mango-trace compact runs")
@click.argument("dataset", type=places.local_dataset)
def compact(dataset: Path) -> None:
    """Merge the segments of DATASET into few, more tightly packed ones."""
    from mango_trace.store import compact_dataset, size_on_disk

    before = size_on_disk(dataset)
    traces, segments = compact_dataset(dataset)
    after = size_on_disk(dataset)
    click.echo(
        f"{dataset}: {traces} traces of {segments} segments merged, "
        f"{before / 1e6:.1f} MB -> {after / 1e6:.1f} MB"
    )


@click.command(
    epilog="""\b
Examples:
  mango-trace extract runs 3f2a 81c0 --out few
  mango-trace extract runs --sample paper --out few
"""
)
@click.argument("dataset", type=places.dataset)
@click.argument("traces", nargs=-1)
@click.option("--sample", help="The traces of this sample too.")
@click.option(
    "--out", type=places.local_dataset, required=True, help="Dataset to copy to; made where there is none."
)
def extract(dataset: Path, traces: tuple[str, ...], sample: str | None, out: Path) -> None:
    """Copy some TRACES of DATASET, with scenes and labels, into another dataset."""
    from tqdm import tqdm

    from mango_trace.errors import UnknownNameError, UsageError
    from mango_trace.store import Dataset, extract_traces

    opened = Dataset(dataset)
    chosen = {record.trace_id: record for record in map(opened.find, traces)}
    if sample is not None:
        known = sorted({name for record in opened.records for name in record.samples})
        if sample not in known:
            raise UnknownNameError("sample", sample, known)
        chosen.update((record.trace_id, record) for record in opened.records if sample in record.samples)
    if not chosen:
        raise UsageError("say which traces: beginnings of their ids, or --sample")
    records = list(chosen.values())
    copies = extract_traces(opened, records, out)
    copied = sum(1 for _ in tqdm(copies, total=len(records), unit="trace", disable=None))
    click.echo(f"{out}: {copied} traces copied, {len(records) - copied} were there already")


def _row(record: TraceRecord) -> dict[str, Any]:
    metadata = record.metadata
    return {
        "trace_id": record.trace_id,
        "suite": metadata.suite,
        "task_index": metadata.task_index,
        "task": metadata.task,
        "policy": metadata.policy,
        "fault": metadata.fault,
        "seed": metadata.seed,
        "episode": metadata.episode,
        "init_state_id": metadata.init_state_id,
        "states": record.n_states,
        "ended": metadata.ended,
        "live_success": record.live_success,
        "samples": [f"{name}/{stratum}" for name, stratum in sorted(record.samples.items())],
    }


def _matches_task(record: TraceRecord, task: str | None) -> bool:
    if task is None:
        return True
    if task.isdigit():
        return record.metadata.task_index == int(task)
    return task in record.metadata.task


def _matches_fault(record: TraceRecord, fault: str | None) -> bool:
    if fault is None:
        return True
    if fault == "none":
        return record.metadata.fault is None
    return fault in (record.metadata.fault or "")


def _report(dataset: Dataset, *, failed: bool = False) -> None:
    """Name the segments that could not be read; the exit code says so."""
    _name_problems(dataset)
    if failed or dataset.problems:
        sys.exit(3)


def _name_problems(dataset: Dataset) -> None:
    for problem in dataset.problems:
        click.echo(f"error: {problem}", err=True)
