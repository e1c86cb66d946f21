"""Speed and size against LIBERO's own replay, on the same real traces in one run.

``python -m recorder.bench`` records a few scripted LIBERO_10 rollouts, then measures. Every row is a
ratio within this run: machines differ, ratios less so.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numcodecs import Shuffle, Zstd
from tqdm import tqdm

from mango_trace.evaluation import evaluate
from mango_trace.shipped import shipped
from mango_trace.store import Dataset, DatasetWriter, TraceRecord, compact_dataset, size_on_disk
from mango_trace.store.layout import SEGMENTS
from recorder.adapters.libero import (
    DUMMY_ACTION,
    WARMUP_STEPS,
    LiberoAdapter,
    make_env,
    seeded_reset,
    tasks_of,
)
from recorder.campaign import record_all
from recorder.policies.registry import fault_names
from recorder.recording import Recorder
from recorder.specs import EpisodeSpec, missing

_TASKS = (0, 3)
_KINDS = ("never_closes", "drops_midway", "places_beside", "leaves_undone", "closes_before_placing")
_EPISODES = 18  # of each fault
_STEPS = 200
_TURNS = 3


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row of the report.

    Attributes:
        what: What was measured.
        value: The figure.
        unit: Its unit.
        compared_with: What the ratio is taken to.
        ratio: The figure against that, or ``None``.
    """

    what: str
    value: float
    unit: str
    compared_with: str = ""
    ratio: float | None = None


def run_benchmarks(folder: Path) -> list[Measurement]:
    """Record, measure and return one row a figure.

    Args:
        folder: Where the traces are kept; those that are there are not recorded again.
    """
    root = folder / "traces"
    _record(root)
    return [*_evaluation(root), *_recording(folder), *_storage(root)]


def _record(root: Path) -> None:
    specs = [
        EpisodeSpec("libero_10", task, "scripted", 0, episode, episode, 520, 20, fault)
        for task in _TASKS
        for fault in fault_names("libero_10", task, ("none", "all"))
        if fault is None or fault.split("@")[0] in _KINDS  # named, so that a new kind changes no figure
        for episode in range(_EPISODES)
    ]
    todo = missing(specs, Dataset(root).records) if (root / "dataset.json").exists() else specs
    for outcome in tqdm(record_all(root, todo, workers=2), total=len(todo), unit="episode", disable=None):
        if outcome.error is not None:
            raise RuntimeError(outcome.error)


def _evaluation(root: Path) -> list[Measurement]:
    """LIBERO's own replay and ``evaluate`` on the same states, in turns, both in this process."""
    records = Dataset(root).records
    states = sum(record.n_states for record in records)
    _evaluate(root)  # what is imported late is imported now, as LIBERO is
    replays, judged = [], []
    for _ in range(_TURNS):
        replays.append(_libero_replay(root, records) / states * 1e6)
        judged.append(_evaluate(root) / states * 1e6)
    replay, evaluation = median(replays), median(judged)
    return [
        Measurement("LIBERO replay: set state, forward, check_success", replay, "us/state"),
        Measurement(
            f"evaluate, all oracles, {states} states",
            evaluation,
            "us/state",
            "times faster than LIBERO replay",
            replay / evaluation,
        ),
    ]


def _evaluate(root: Path) -> float:
    """Seconds to judge all traces into a new database, one process."""
    with tempfile.TemporaryDirectory() as temporary:
        started = time.perf_counter()
        evaluate([root], [shipped("oracles")], Path(temporary) / "v.duckdb")
        return time.perf_counter() - started


def _libero_replay(root: Path, records: Sequence[TraceRecord]) -> float:
    """Seconds for LIBERO to judge every state by its goal, environments made beforehand."""
    dataset, total = Dataset(root), 0.0
    for task_index in _TASKS:
        env = make_env(tasks_of("libero_10")[task_index], 1)
        try:
            seeded_reset(env, 0)
            for record in records:
                if record.metadata.task_index != task_index:
                    continue
                trace = dataset.load(record)
                flat = np.concatenate(
                    [trace.states["time"], trace.states["qpos"], trace.states["qvel"]], axis=1
                )
                started = time.perf_counter()
                for state in flat:
                    env.set_state(state)
                    env.sim.forward()
                    env.check_success()
                total += time.perf_counter() - started
        finally:
            env.close()
    return total


def _recording(folder: Path) -> list[Measurement]:
    """What recording adds to ``env.step``, commit included, the scene's own once-only cost not."""
    task = tasks_of("libero_10")[0]
    root = folder / "overhead"
    shutil.rmtree(root, ignore_errors=True)
    adapter = LiberoAdapter()
    with Recorder(root, policy="bench") as recorder:
        env = recorder.wrap(make_env(task, 10_000), adapter=adapter)
        stepping = added = 0.0
        rng = np.random.default_rng(0)
        for episode in range(3):
            seeded_reset(env, 0)
            env.set_init_state(task.init_states()[episode])
            for _ in range(WARMUP_STEPS):  # the first step of an episode prepares the scene
                env.step(np.array(DUMMY_ACTION))
            before, started = recorder.overhead_s, time.perf_counter()
            for _ in range(_STEPS):
                env.step(rng.uniform(-1, 1, len(DUMMY_ACTION)))
            env.finish_episode()
            if episode:  # the first one also opens the dataset
                overhead = recorder.overhead_s - before
                stepping += time.perf_counter() - started - overhead
                added += overhead
        env.close()
    steps = 2 * _STEPS
    return [
        Measurement("env.step without rendering", stepping / steps * 1e3, "ms/step"),
        Measurement(
            "recording, commit included",
            added / steps * 1e3,
            "ms/step",
            "of env.step",
            added / stepping,
        ),
    ]


def _storage(root: Path) -> list[Measurement]:
    """Bytes on disk against the float64 size of positions and velocities."""
    rows = []
    against = "of float64 qpos and qvel"
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "copy"
        _copy_successes(root, copy)
        raw = _raw_bytes(copy)
        recorded = size_on_disk(copy / SEGMENTS)
        rows.append(
            Measurement("disk, everything, as recorded", recorded / 1e6, "MB", against, recorded / raw)
        )
        compact_dataset(copy)
        whole = size_on_disk(copy / SEGMENTS)
        rows.append(Measurement("disk, everything, compacted", whole / 1e6, "MB", against, whole / raw))
        paths = {
            folder.relative_to(group).as_posix()
            for group in (copy / SEGMENTS).glob("*/states.zarr/*")
            for folder in group.glob("*/*")
            if folder.is_dir()
        }
        for path in sorted(paths):
            size = _array_bytes(copy, path)
            rows.append(Measurement(f"disk, {path}, compacted", size / 1e6, "MB", against, size / raw))
    rows.extend(_randomness(root))
    dataset = Dataset(root)
    packages = {record.scene: dataset.scene(record.scene) for record in dataset.records}
    scenes = [sum(map(len, package.files.values())) for package in packages.values()]
    rows.append(Measurement("largest scene package", max(scenes) / 1e6, "MB"))
    return rows


def _randomness(root: Path) -> list[Measurement]:
    """How far the low half of each number can be compressed at all, with zstd's greatest effort."""
    dataset, rows = Dataset(root), []
    for name in ("qpos", "qvel", "qacc_warmstart"):
        low = b""
        for record in _successes(dataset):
            values = dataset.load(record, (name, "qpos")).states[name]
            low += np.ascontiguousarray(values.T).view("<u4")[:, ::2].tobytes()
        packed = len(Zstd(level=22).encode(Shuffle(4).encode(low)))
        rows.append(
            Measurement(
                f"{name}, low 32 bits of each number alone",
                packed / 1e6,
                "MB",
                "of their size",
                packed / len(low),
            )
        )
    return rows


def _successes(dataset: Dataset) -> list[TraceRecord]:
    """Runs without a fault: faulty ones repeat them up to the fault, which would flatter the ratios."""
    return [record for record in dataset.records if record.metadata.fault is None]


def _copy_successes(root: Path, target: Path) -> None:
    dataset = Dataset(root)
    with DatasetWriter(target) as writer:
        for record in _successes(dataset):
            writer.add_scene(dataset.scene(record.scene))
            writer.add(dataset.load(record))


def _raw_bytes(root: Path) -> int:
    dataset = Dataset(root)
    return sum(
        dataset.load(record, ("qpos", "qvel")).states[name].nbytes
        for record in dataset.records
        for name in ("qpos", "qvel")
    )


def _array_bytes(root: Path, path: str) -> int:
    return sum(size_on_disk(folder) for folder in (root / SEGMENTS).glob(f"*/states.zarr/*/{path}/c"))


def main(arguments: Sequence[str]) -> None:
    """Run the benchmarks and print them.

    Args:
        arguments: Folder for the traces, and optionally an output format.
    """
    from mango_trace.cli.output import print_rows

    os.environ.setdefault("MUJOCO_GL", "disable")
    folder = Path(arguments[0]) if arguments else Path("runs/bench")
    rows: list[dict[str, Any]] = [
        {
            "what": row.what,
            "value": row.value,
            "unit": row.unit,
            "ratio": row.ratio,
            "compared_with": row.compared_with,
        }
        for row in run_benchmarks(folder)
    ]
    print_rows(rows, arguments[1] if len(arguments) > 1 else "table")


if __name__ == "__main__":
    main(sys.argv[1:])
