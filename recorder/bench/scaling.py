"""Many traces, several processes, bounded memory, and a short command."""

from __future__ import annotations

import hashlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from mango_trace.store import Dataset
from mango_trace.store.layout import ARRAYS, DATASET_FILE, INDEX, SCENES, SEGMENTS
from recorder.bench.measurements import Measurement, in_turns

_GROUP = "scaling"
_START = "start"
_SIZES: Final = (1_000, 10_000, 100_000)
_AT_ONCE: Final = 10_000
_COLD_TRACES: Final = 100
_COLD_TURNS: Final = 5
_STARTED: Final = """
from mango_trace.cli.main import prepare
prepare(["evaluate"])
import mango_trace.cli.evaluate, mango_trace.evaluation, numpy
from mango_trace.signals.validity import check_states
check_states([0], numpy.arange(2.0), numpy.ones((2, 4)))
"""
"""What the command does before it judges: it spares itself what it can, imports, and calls a loop."""


@dataclass(frozen=True, slots=True)
class _Run:
    """An evaluation as a command of its own.

    Attributes:
        seconds: From its start to its end.
        peak_mb: Largest resident set of any of its processes, MB.
    """

    seconds: float
    peak_mb: float


def scaling(root: Path) -> Iterator[Measurement]:
    """Rows about copies of a dataset's traces: same numbers, other identities, each read from disk."""
    per_trace = sum(record.n_states for record in Dataset(root).records) / len(Dataset(root).records)
    found: dict[tuple[int, int], _Run] = {}
    with tempfile.TemporaryDirectory(dir=root.parent) as temporary:
        for size in (_COLD_TRACES, *_SIZES):
            copy = Path(temporary) / str(size)
            multiply(root, copy, size)
            for workers in (1, 2) if size == _SIZES[-1] else (1,):
                found[size, workers] = _evaluate(copy, Path(temporary) / "v.duckdb", workers)
            if size == _AT_ONCE:
                both = two_at_once(copy, Path(temporary))
    start, few = found[_COLD_TRACES, 1].seconds, _SIZES[0]
    # What a command takes in any case is left out: its time for some traces is taken off.
    cost = {
        size: (found[size, 1].seconds - start) / ((size - _COLD_TRACES) * per_trace) * 1e6 for size in _SIZES
    }
    for size in _SIZES:
        yield Measurement(
            group=_GROUP, what=f"evaluate, {size} traces, beyond the first {_COLD_TRACES}", value=cost[size],
            unit="us/state", compared_with=f"of the cost a state with {few} traces",
            ratio=cost[size] / cost[few], better="smaller",
        )  # fmt: skip
        yield Measurement(
            group=_GROUP, what=f"peak memory, {size} traces", value=found[size, 1].peak_mb, unit="MB",
            compared_with="of 1500 MB", ratio=found[size, 1].peak_mb / 1500, better="smaller",
        )  # fmt: skip
    one, two = found[_SIZES[-1], 1], found[_SIZES[-1], 2]
    yield Measurement(
        group=_GROUP, what=f"2 workers, {_SIZES[-1]} traces", value=two.seconds, unit="s",
        compared_with="times faster than 1 worker", ratio=one.seconds / two.seconds,
    )  # fmt: skip
    yield Measurement(
        group=_GROUP, what=f"2 commands at once, {_AT_ONCE} traces each, 1 worker: what this machine gives",
        value=both, unit="s", compared_with="times the work of 1 command in its time",
        ratio=2 * found[_AT_ONCE, 1].seconds / both,
    )  # fmt: skip


def cold_start(root: Path) -> Iterator[Measurement]:
    """A whole command on 100 traces, and what of it is spent before it begins."""
    with tempfile.TemporaryDirectory(dir=root.parent) as temporary:
        copy = Path(temporary) / "cold"
        multiply(root, copy, _COLD_TRACES)
        whole, before = in_turns(
            lambda: _command(copy, Path(temporary) / "v.duckdb"), _start_up, turns=_COLD_TURNS
        )
    yield Measurement(
        group=_START, what=f"evaluate as a command, cold, {_COLD_TRACES} traces", value=whole, unit="s",
        compared_with="of 2.5 s", ratio=whole / 2.5, better="smaller",
    )  # fmt: skip
    yield Measurement(
        group=_START, what="of it: Python, imports and the first use of a compiled loop", value=before,
        unit="s", compared_with="of 1 s", ratio=before, better="smaller",
    )  # fmt: skip


def _start_up() -> float:
    """Seconds that a fresh process takes until it could judge."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", _STARTED], check=True, capture_output=True)  # noqa: S603
    return time.perf_counter() - started


def multiply(root: Path, target: Path, n_traces: int) -> None:
    """Make a dataset of so many traces from those of another, whose arrays it shares.

    Args:
        root: The dataset.
        target: Where to make it.
        n_traces: Number of traces.
    """
    (target / SEGMENTS).mkdir(parents=True)
    shutil.copy(root / DATASET_FILE, target)
    shutil.copytree(root / SCENES, target / SCENES)
    left, turn = n_traces, 0
    while left > 0:
        for segment in sorted((root / SEGMENTS).iterdir()):
            if not (segment / INDEX).exists() or left <= 0:
                continue
            table = pq.ParquetFile(segment / INDEX).read(use_threads=False).slice(0, left)
            copy = target / SEGMENTS / f"{segment.name}-{turn:05}"
            copy.mkdir()
            (copy / ARRAYS).symlink_to((segment / ARRAYS).resolve())
            place = table.schema.get_field_index("trace_id")
            ids = [
                hashlib.sha256(f"{name} {turn}".encode()).hexdigest()[:24]
                for name in table["trace_id"].to_pylist()
            ]
            renamed = table.set_column(place, "trace_id", pa.array(ids))
            pq.write_table(renamed.replace_schema_metadata(table.schema.metadata), copy / INDEX)
            left -= len(table)
        turn += 1


def _evaluate(root: Path, database: Path, workers: int) -> _Run:
    database.unlink(missing_ok=True)
    command = [sys.executable, "-m", "recorder.bench.scaling", str(root), str(database), str(workers)]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return _Run(time.perf_counter() - started, float(done.stdout.split()[-1]))


def two_at_once(root: Path, folder: Path) -> float:
    """Seconds until two evaluations with one worker each are done that start at once."""
    with ThreadPoolExecutor(2) as pool:
        databases = (folder / "a.duckdb", folder / "b.duckdb")
        return max(pool.map(lambda database: _evaluate(root, database, 1).seconds, databases))


def _command(root: Path, database: Path) -> float:
    """Seconds that the command itself takes, as people call it."""
    database.unlink(missing_ok=True)
    command = [
        str(Path(sys.executable).with_name("mango-trace")),
        "evaluate",
        str(root),
        "--db",
        str(database),
    ]
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    return time.perf_counter() - started


def _main() -> None:
    """Evaluate as the command does, and say what memory it took."""
    from mango_trace.cli.main import cli, prepare

    root, database, workers = sys.argv[1:]
    prepare(["evaluate"])
    try:
        cli.main(["evaluate", root, "--db", database, "--workers", workers], standalone_mode=False)
    except SystemExit as end:
        if end.code:
            raise
    own, others = (
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(max(own, others) / 1e3)


if __name__ == "__main__":
    _main()
