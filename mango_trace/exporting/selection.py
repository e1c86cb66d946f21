"""Which traces are exported, each with its verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mango_trace.errors import MangoTraceError, UsageError
from mango_trace.queries import run_query
from mango_trace.scene.package import ScenePackage
from mango_trace.store import Dataset, Trace, TraceRecord

Only: TypeAlias = Literal["passed", "failed", "undetermined"]
"""An outcome by which traces are chosen."""

NOT_EVALUATED = "not_evaluated"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of a trace.

    Attributes:
        goal: Outcome of the benchmark's own goal, by its protocol.
        goal_at_end: Its outcome at the last state.
        oracle: Outcome of the fine-grained oracle.
        first_success: First state in which the goal held.
        completed: Actions that completed.
        n_actions: Actions of the oracle.
        first_failed_action: First action that did not complete.
        stopped_at: State where progress stopped.
        completed_at: States at which actions completed, in plan order, without those that did not.
    """

    goal: str = NOT_EVALUATED
    goal_at_end: str = NOT_EVALUATED
    oracle: str = NOT_EVALUATED
    first_success: int | None = None
    completed: int | None = None
    n_actions: int | None = None
    first_failed_action: str | None = None
    stopped_at: int | None = None
    completed_at: tuple[int, ...] = ()


@dataclass(slots=True)
class Exported:
    """What an export wrote.

    Attributes:
        written: Traces that were written.
        broken: Recordings that broke, which no export has.
        left_out: Traces with another outcome.
        errors: Traces that could not be exported: id and reason.
        files: Files that were written, without assets.
    """

    written: int = 0
    broken: int = 0
    left_out: int = 0
    errors: dict[str, str] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A trace with its scene and verdicts."""

    record: TraceRecord
    trace: Trace
    package: ScenePackage
    verdict: Verdict


def verdicts_of(database: Path | None, oracle: str = "", only: Only | None = None) -> dict[str, Verdict]:
    """Verdicts by trace: of the latest evaluator, and of one oracle where several judge a task.

    Args:
        database: The DuckDB file; without one nothing is known.
        oracle: Name or beginning of the digest of the oracle that is meant; all, when empty. Of several
            the one with the smallest digest counts.
        only: Outcome by which traces are to be chosen.

    Raises:
        UsageError: ``only`` is given without verdicts.
    """
    if database is None and only is not None:
        raise UsageError("choosing by outcome needs verdicts: --db FILE")
    if database is None:
        return {}
    parameters = {"oracle": oracle}
    done: dict[tuple[str, str], list[int]] = {}
    for row in run_query(database, "completions", parameters).records():
        if row["completed_at"] is not None:
            done.setdefault((row["trace_id"], row["oracle"]), []).append(row["completed_at"])
    found: dict[str, Verdict] = {}
    for row in run_query(database, "traces", parameters).records():
        found.setdefault(row["trace_id"], _verdict(row, done))
    return found


def _verdict(row: Mapping[str, Any], done: Mapping[tuple[str, str], list[int]]) -> Verdict:
    return Verdict(
        goal=row["benchmark_success_once"],
        goal_at_end=row["benchmark_success_at_end"],
        oracle=row["verdict"],
        first_success=row["first_success"],
        completed=row["completed"],
        n_actions=row["n_actions"],
        first_failed_action=row["first_failed_action"],
        stopped_at=row["stopped_at"],
        completed_at=tuple(done.get((row["trace_id"], row["oracle"]), ())),
    )


def chosen_traces(
    dataset: Dataset,
    verdicts: Mapping[str, Verdict],
    exported: Exported,
    *,
    only: Only | None = None,
    by: Literal["goal", "oracle"] = "goal",
) -> Iterator[Chosen]:
    """Traces of a dataset that are to be exported, in its order.

    Args:
        dataset: The dataset.
        verdicts: What is known, by trace.
        exported: Takes the count of those that are left out.
        only: Outcome that they must have.
        by: Whose outcome that is.
    """
    for record in dataset.records:
        verdict = verdicts.get(record.trace_id, Verdict())
        outcome = verdict.goal if by == "goal" else verdict.oracle
        if record.metadata.ended == "error":
            exported.broken += 1
        elif only is not None and outcome != only:
            exported.left_out += 1
        else:
            try:
                trace, package = dataset.load(record), dataset.scene(record.scene)
            except MangoTraceError as error:
                exported.errors[record.trace_id] = str(error)
            else:
                yield Chosen(record, trace, package, verdict)
