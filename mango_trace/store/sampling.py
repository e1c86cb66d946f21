"""Drawing samples of recorded runs, stratified by where they failed as in the MANGO paper, or simply.

Where a run failed is ``t / T``: ``t`` is the state at which its first failure began, by its label, and ``T``
its number of states. Early is up to one third, middle up to two thirds, late the rest; the bounds belong to
the earlier class and are compared exactly. Whether a run failed is what the benchmark said while it ran.

A draw depends on the seed and on the traces alone: they are taken in the order of a digest of the seed and
their ids, so neither their order nor the segments that they lie in matter.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from statistics import NormalDist
from typing import Final

from mango_trace.errors import DatasetError, UsageError
from mango_trace.store.dataset import Dataset
from mango_trace.store.index import TraceRecord
from mango_trace.store.metadata import Label
from mango_trace.store.samples import Stratum, write_sample

PAPER: Final = "paper"
"""Name of the sample that a shared dataset comes with."""

POSITIONS: Final[tuple[Stratum, ...]] = ("early", "middle", "late")
"""Classes of where a run failed, in the order of time."""

STRATA: Final[tuple[Stratum, ...]] = (*POSITIONS, "success", "failed", "unknown")
"""Every stratum, in the order in which they are listed."""


@dataclass(frozen=True, slots=True)
class Pool:
    """What there is to draw from.

    Attributes:
        n_traces: Recorded runs.
        n_broken: Of them, recordings that broke; they are never drawn.
        n_failed: Runs that did not break and that the benchmark failed.
        n_unplaced: Of those, without a label that says at which state the failure began; they have no
            class of position.
        n_success: Runs that did not break and succeeded.
        n_unknown: Runs that did not break and of which the benchmark did not say.
    """

    n_traces: int
    n_broken: int
    n_failed: int
    n_unplaced: int
    n_success: int
    n_unknown: int

    @property
    def n_drawable(self) -> int:
        """Runs that did not break."""
        return self.n_traces - self.n_broken


@dataclass(frozen=True, slots=True)
class Chosen:
    """A run that was drawn.

    Attributes:
        record: The run.
        stratum: Its own stratum.
        in_place_of: The class of position that it fills up because that had too few, else ``None``.
    """

    record: TraceRecord
    stratum: Stratum
    in_place_of: Stratum | None = None


@dataclass(frozen=True, slots=True)
class Shortage:
    """What a task lacks.

    Attributes:
        suite: Its suite.
        task: Its name.
        stratum: What there is too little of.
        wanted: How many runs were asked for.
        found: How many of that stratum there were.
        substitutes: How many runs of other strata were taken instead.
    """

    suite: str
    task: str
    stratum: Stratum
    wanted: int
    found: int
    substitutes: int

    @property
    def missing(self) -> int:
        """Runs that the sample lacks for good."""
        return self.wanted - self.found - self.substitutes


@dataclass(frozen=True, slots=True)
class Draw:
    """A sample.

    Attributes:
        chosen: The runs by task, stratum and id.
        pool: What they were drawn from.
        shortages: What could not be filled, by task.
    """

    chosen: tuple[Chosen, ...]
    pool: Pool
    shortages: tuple[Shortage, ...] = ()


def failure_label(record: TraceRecord) -> Label | None:
    """The first label that names a failed action and a state of the run, and that the states bear out."""
    for label in record.metadata.labels:
        if (
            label.action_id is not None
            and label.verified is not False
            and label.state is not None
            and 0 <= label.state < record.n_states
        ):
            return label
    return None


def position(record: TraceRecord) -> Fraction | None:
    """Where the first failure began, from 0 to below 1; ``None`` if no label says."""
    label = failure_label(record)
    if label is None or label.state is None:
        return None
    return Fraction(label.state, record.n_states)


def stratum_of(record: TraceRecord) -> Stratum:
    """Where a run stands; ``unknown`` for a recording that broke too."""
    if record.metadata.ended == "error" or record.live_success is None:
        return "unknown"
    if record.live_success:
        return "success"
    where = position(record)
    if where is None:
        return "failed"
    return POSITIONS[(where > Fraction(1, 3)) + (where > Fraction(2, 3))]


def pool_of(records: Iterable[TraceRecord]) -> Pool:
    """Count what there is to draw from."""
    found = list(records)
    strata = [stratum_of(record) for record in _sound(found)]
    return Pool(
        n_traces=len(found),
        n_broken=len(found) - len(strata),
        n_failed=sum(stratum in (*POSITIONS, "failed") for stratum in strata),
        n_unplaced=strata.count("failed"),
        n_success=strata.count("success"),
        n_unknown=strata.count("unknown"),
    )


def draw_stratified(
    records: Iterable[TraceRecord], *, seed: int = 0, per_class: int = 2, successes: int = 4
) -> Draw:
    """Draw some runs of every task: so many of each class of position, and so many that succeeded.

    Where a class has too few, the failed runs whose positions are nearest to it fill it up.

    Args:
        records: The runs.
        seed: Decides the draw, with the ids.
        per_class: Failed runs of each class, for each task.
        successes: Runs that succeeded, for each task.

    Returns:
        The sample; what a task lacks is in its ``shortages``.

    Raises:
        UsageError: A number is negative.
    """
    if per_class < 0 or successes < 0:
        raise UsageError("the numbers of runs to draw must not be negative")
    found = list(records)
    chosen: list[Chosen] = []
    shortages: list[Shortage] = []
    for (_, suite, task), members in groupby(sorted(found, key=_task), key=_task):
        runs = _shuffled(_sound(members), seed)
        failed = _draw_failed(runs, per_class)
        succeeded = [Chosen(run, "success") for run in runs if stratum_of(run) == "success"][:successes]
        chosen += [*failed, *succeeded]
        for stratum, wanted in (*((each, per_class) for each in POSITIONS), ("success", successes)):
            instead = sum(one.in_place_of == stratum for one in failed)
            own = sum(one.stratum == stratum and one.in_place_of is None for one in (*failed, *succeeded))
            if own < wanted:
                shortages.append(Shortage(suite, task, stratum, wanted, own, instead))
    return Draw(_in_order(chosen), pool_of(found), tuple(shortages))


def draw_simple(
    records: Iterable[TraceRecord], *, seed: int = 0, confidence: float = 0.95, margin: float = 0.05
) -> Draw:
    """Draw a simple random sample of Cochran's size from all runs that did not break.

    Args:
        records: The runs.
        seed: Decides the draw, with the ids.
        confidence: See :func:`cochran_size`.
        margin: See :func:`cochran_size`.

    Returns:
        The sample.

    Raises:
        UsageError: A number is out of range.
    """
    found = list(records)
    runs = _shuffled(_sound(found), seed)
    size = cochran_size(len(runs), confidence=confidence, margin=margin)
    return Draw(_in_order(Chosen(run, stratum_of(run)) for run in runs[:size]), pool_of(found))


def cochran_size(
    population: int | None, *, confidence: float = 0.95, margin: float = 0.05, p: float = 0.5
) -> int:
    """Runs that must be looked at to know a rate well enough, by Cochran's formula.

    ``n0 = z**2 p (1 - p) / margin**2``, and ``n0 / (1 + (n0 - 1) / N)`` for a finite population, rounded up.
    Source: W. G. Cochran, Sampling Techniques, 3rd edition, 1977, sections 4.4 and 4.5.

    Args:
        population: Runs that there are; ``None`` for infinitely many.
        confidence: How sure, between 0 and 1.
        margin: Half the width of the interval of the rate, between 0 and 1.
        p: The rate as far as it is known; 0.5 is the worst case.

    Raises:
        UsageError: A number is out of range.

    >>> cochran_size(None), cochran_size(1000), cochran_size(3)
    (385, 278, 3)
    """
    if not (0 < confidence < 1 and 0 < margin < 1 and 0 <= p <= 1):
        raise UsageError("confidence and margin lie between 0 and 1, p from 0 to 1")
    if population is not None and population < 1:
        return 0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    infinite = z**2 * p * (1 - p) / margin**2
    if population is None:
        return math.ceil(infinite)
    return min(population, math.ceil(infinite / (1 + (infinite - 1) / population)))


def keep_draw(dataset: Dataset, name: str, draw: Draw) -> bool:
    """Store a draw beside the traces, under a name; it replaces the sample of that name.

    Returns:
        Whether anything changed.

    Raises:
        UsageError: It is no name of a sample.
        DatasetError: Some of the dataset cannot be read, so that the draw is none of the whole.
    """
    if dataset.problems:
        raise DatasetError(
            f"{dataset.root}: sample {name} is not kept, some of the dataset cannot be read: "
            + "; ".join(str(problem) for problem in dataset.problems)
        )
    return write_sample(dataset.root, name, {one.record.trace_id: one.stratum for one in draw.chosen})


def mark_sample(
    root: Path, name: str = PAPER, *, seed: int = 0, per_class: int = 2, successes: int = 4
) -> Draw:
    """Draw a stratified sample of a dataset and keep it there; doing so again changes nothing.

    Args:
        root: Directory of the dataset.
        name: Name of the sample.
        seed: See :func:`draw_stratified`.
        per_class: See :func:`draw_stratified`.
        successes: See :func:`draw_stratified`.

    Returns:
        The sample.

    Raises:
        DatasetError: The dataset, or some of it, cannot be read; nothing is changed.
    """
    dataset = Dataset(root)
    draw = draw_stratified(dataset.records, seed=seed, per_class=per_class, successes=successes)
    keep_draw(dataset, name, draw)
    return draw


def _draw_failed(runs: Sequence[TraceRecord], per_class: int) -> list[Chosen]:
    """Failed runs of one task, which come in the order of the draw."""
    placed = [(run, where) for run in runs if (where := _failed_at(run)) is not None]
    own: dict[Stratum, list[TraceRecord]] = {
        each: [run for run, _ in placed if stratum_of(run) == each][:per_class] for each in POSITIONS
    }
    chosen = [Chosen(run, each) for each, members in own.items() for run in members]
    taken = {one.record.trace_id for one in chosen}
    for index, each in enumerate(POSITIONS):
        left = [(run, where) for run, where in placed if run.trace_id not in taken]
        left.sort(key=lambda pair: _distance(pair[1], index))  # stable: equal ones as they were drawn
        for run, _ in left[: per_class - len(own[each])]:
            chosen.append(Chosen(run, stratum_of(run), in_place_of=each))
            taken.add(run.trace_id)
    return chosen


def _failed_at(record: TraceRecord) -> Fraction | None:
    return position(record) if stratum_of(record) in POSITIONS else None


def _distance(where: Fraction, index: int) -> Fraction:
    """How far a position lies from the third with this index."""
    return max(Fraction(index, 3) - where, where - Fraction(index + 1, 3), Fraction(0))


def _sound(records: Iterable[TraceRecord]) -> list[TraceRecord]:
    return [record for record in records if record.metadata.ended != "error"]


def _shuffled(records: Iterable[TraceRecord], seed: int) -> list[TraceRecord]:
    def key(record: TraceRecord) -> bytes:
        return hashlib.sha256(f"{seed}:{record.trace_id}".encode()).digest()

    return sorted(records, key=key)


def _task(record: TraceRecord) -> tuple[str, str, str]:
    return record.metadata.benchmark, record.metadata.suite, record.metadata.task


def _in_order(chosen: Iterable[Chosen]) -> tuple[Chosen, ...]:
    return tuple(
        sorted(chosen, key=lambda one: (_task(one.record), STRATA.index(one.stratum), one.record.trace_id))
    )
