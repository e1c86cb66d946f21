"""Looking through whole datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final

from mango_trace.doctor.checks import check_policy, check_suite, check_task
from mango_trace.doctor.findings import ADVICE, Finding
from mango_trace.doctor.seen import Seen, look_at
from mango_trace.errors import MangoTraceError
from mango_trace.evaluation.shard import Workplace
from mango_trace.store import Dataset, TraceRecord
from mango_trace.store.verify import in_stored_order

_TOGETHER: Final = 32
"""Traces that are in memory at a time."""


@dataclass(slots=True)
class Report:
    """What was found.

    Attributes:
        findings: By kind, then by task and policy.
        n_traces: Traces that were looked at; one that several datasets have counts once.
        problems: What could not be read: subject and reason.
    """

    findings: list[Finding] = field(default_factory=list)
    n_traces: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 when nothing was found, 1 when something was, 3 when some input could not be read."""
        if self.problems:
            return 3
        return 1 if self.findings else 0


def examine(
    roots: Sequence[Path | str],
    *,
    min_runs: int = 10,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Find what makes comparisons of the runs in some datasets wrong.

    Args:
        roots: Datasets, folders or URLs; their runs are looked at together.
        min_runs: So many runs of a task and a policy are enough.
        progress: Called with the number of traces done and of all.

    Returns:
        What was found; a trace that cannot be read is a finding and a problem, the others are looked at.

    Raises:
        DatasetError: One of them is no dataset.
    """
    report, seen = Report(), []
    known: set[str] = set()
    work: list[tuple[Dataset, list[TraceRecord]]] = []
    for root in roots:
        dataset = Dataset(root)
        records = [record for record in in_stored_order(dataset.records) if record.trace_id not in known]
        known.update(record.trace_id for record in records)
        report.problems += [(str(dataset.root), str(problem)) for problem in dataset.problems]
        work += [(dataset, list(members)) for _, members in groupby(records, key=lambda record: record.scene)]
    for dataset, records in work:
        for one in _read(dataset, records, report):
            seen.append(one)
            if progress is not None:
                progress(len(seen), len(known))
    report.n_traces = len(seen)
    report.problems += [(one.record.trace_id, one.error) for one in seen if one.error is not None]
    report.findings = sorted(_findings(seen, min_runs), key=_order)
    return report


def _read(dataset: Dataset, records: Sequence[TraceRecord], report: Report) -> Iterator[Seen]:
    """Read the traces of a scene."""
    try:
        workplace = Workplace(dataset.scene(records[0].scene))
    except MangoTraceError as error:
        yield from (Seen(record, error=str(error)) for record in records)
        return
    if workplace.goal_problem is not None:
        report.problems.append((f"{workplace.package.scene.task}.end_state", workplace.goal_problem))
    for start in range(0, len(records), _TOGETHER):
        yield from look_at(dataset, workplace, records[start : start + _TOGETHER])


def _findings(seen: Sequence[Seen], min_runs: int) -> Iterator[Finding]:
    ordered = sorted(seen, key=_place)
    for _, runs in groupby(ordered, key=lambda one: (one.suite, one.task, one.policy)):
        yield from check_policy(list(runs), min_runs)
    sound = [one for one in ordered if one.is_sound]
    for _, runs in groupby(sound, key=lambda one: (one.suite, one.task)):
        yield from check_task(list(runs))
    for _, runs in groupby(sound, key=lambda one: one.suite):
        yield from check_suite(list(runs))


def _place(one: Seen) -> tuple[str, str, str, int, int, str]:
    metadata = one.record.metadata
    return one.suite, one.task, one.policy, metadata.seed, metadata.episode, one.record.trace_id


def _order(finding: Finding) -> tuple[int, str, str, str, str]:
    kinds = list(ADVICE)
    place = finding.suite, finding.task or "", finding.policy or ""
    return (kinds.index(finding.kind), *place, finding.what)
