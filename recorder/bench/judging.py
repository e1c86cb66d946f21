"""Judging recorded states: LIBERO's way, MuJoCo's kinematics alone, and ours."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import mujoco
import numpy as np

from mango_trace.evaluation import Options, evaluate, load_oracles
from mango_trace.evaluation.judging import batches_of, judge_batch, states_of
from mango_trace.evaluation.shard import Workplace
from mango_trace.oracle import CompiledOracle
from mango_trace.shipped import shipped
from mango_trace.signals import SceneKinematics, TraceStates
from mango_trace.store import Dataset, Trace, TraceRecord
from recorder.adapters.libero import DUMMY_ACTION, make_env, seeded_reset, tasks_of
from recorder.bench.measurements import Measurement, in_turns

_GROUP = "judging"
_ENV_STEPS = 150


@dataclass
class _Scene:
    """Traces of one scene in memory, with all that judges them."""

    task_index: int
    workplace: Workplace
    traces: list[Trace]
    states: list[TraceStates]
    oracles: list[list[CompiledOracle]]

    def judge(self, kinematics: SceneKinematics, *, intervals: bool) -> None:
        """Judge every trace by its task's reference oracle and its goal, some together."""
        for members in batches_of(self.states):
            judge_batch(
                [self.traces[index] for index in members],
                [self.states[index] for index in members],
                kinematics,
                [self.oracles[index] for index in members],
                self.workplace.task,
                order="report",
                hold=10,
                intervals=intervals,
            )


def judging(root: Path) -> Iterator[Measurement]:
    """Rows about the traces of a dataset."""
    records = Dataset(root).records
    n = sum(record.n_states for record in records)
    scenes = list(_scenes(Dataset(root)))
    plain = {id(scene): SceneKinematics(scene.workplace.package, prefilter=False) for scene in scenes}

    def ours(*, intervals: bool) -> float:
        started = time.perf_counter()
        for scene in scenes:
            scene.judge(scene.workplace.kinematics, intervals=intervals)
        return (time.perf_counter() - started) / n * 1e6

    def unoptimised() -> float:
        started = time.perf_counter()
        scene = scenes[0]
        scene.judge(plain[id(scene)], intervals=True)
        return (time.perf_counter() - started) / sum(t.n_states for t in scene.traces) * 1e6

    def whole(options: Options) -> float:
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            evaluate([root], [shipped("oracles")], Path(folder) / "v.duckdb", options=options)
            return (time.perf_counter() - started) / n * 1e6

    ours(intervals=True), ours(intervals=False), whole(Options())  # what is loaded late is loaded now
    libero, kinematics, exact, alone, everything, quick, step, law = in_turns(
        lambda: _libero_replay(scenes, n),
        lambda: _bare_kinematics(scenes, n),
        lambda: ours(intervals=True),
        lambda: ours(intervals=False),
        lambda: whole(Options()),
        lambda: whole(Options(intervals=False)),
        _env_step,
        unoptimised,
    )
    yield _row(f"LIBERO: set state, forward, check_success ({n} states)", libero)
    yield _row("env.step without rendering", step)
    for what, value in (
        ("mj_setState and mj_kinematics alone", kinematics),
        ("MuJoCo's kinematics and full collisions at every state, the law in the tests", law),
    ):
        yield _row(what, value, "times faster than LIBERO", libero)
    for what, value in (
        ("verdicts with exact truth intervals, states in memory", exact),
        ("verdicts alone, states in memory", alone),
        ("evaluate: from disk to database, with truth intervals", everything),
        ("evaluate --verdicts-only: from disk to database", quick),
    ):
        yield _row(what, value, "times faster than LIBERO", libero)
        yield _row(what, value, "times faster than mj_setState and mj_kinematics", kinematics)
        yield _row(what, value, "times faster than env.step", step)


def _row(what: str, value: float, compared_with: str = "", base: float | None = None) -> Measurement:
    ratio = None if base is None else base / value
    return Measurement(
        group=_GROUP, what=what, value=value, unit="us/state", compared_with=compared_with, ratio=ratio
    )


def _scenes(dataset: Dataset) -> Iterator[_Scene]:
    records = sorted(dataset.records, key=lambda record: record.scene)
    oracles = load_oracles([shipped("oracles")], frozenset(record.metadata.task for record in records))
    for scene, members in groupby(records, key=lambda record: record.scene):
        workplace, own = Workplace(dataset.scene(scene)), list(members)
        traces = [_in_memory(dataset, record) for record in own]
        compiled = [
            [
                found
                for named in oracles.for_trace(record.metadata)
                if isinstance(found := workplace.compile(named, oracles), CompiledOracle)
            ]
            for record in own
        ]
        index = own[0].metadata.task_index
        assert index is not None
        yield _Scene(index, workplace, traces, [states_of(trace) for trace in traces], compiled)


def _in_memory(dataset: Dataset, record: TraceRecord) -> Trace:
    return dataset.load(record, ("time", "qpos", "qvel"), actions=False)


def _libero_replay(scenes: Sequence[_Scene], n_states: int) -> float:
    """LIBERO judges every state by its goal; environments are made outside the clock."""
    total = 0.0
    for scene in scenes:
        env = make_env(tasks_of("libero_10")[scene.task_index], 1)
        try:
            seeded_reset(env, 0)
            for trace in scene.traces:
                flat = np.concatenate([trace.states[name] for name in ("time", "qpos", "qvel")], axis=1)
                started = time.perf_counter()
                for state in flat:
                    env.set_state(state)
                    env.sim.forward()
                    env.check_success()
                total += time.perf_counter() - started
        finally:
            env.close()
    return total / n_states * 1e6


def _bare_kinematics(scenes: Sequence[_Scene], n_states: int) -> float:
    total, part = 0.0, mujoco.mjtState.mjSTATE_QPOS
    for scene in scenes:
        model = scene.workplace.kinematics.model
        data = mujoco.MjData(model)
        set_state, kinematics = mujoco.mj_setState, mujoco.mj_kinematics
        for trace in scene.traces:
            qpos = trace.states["qpos"]
            started = time.perf_counter()
            for state in qpos:
                set_state(model, data, state, part)
                kinematics(model, data)
            total += time.perf_counter() - started
    return total / n_states * 1e6


def _env_step() -> float:
    """A control step of LIBERO's first task, without rendering."""
    env = make_env(tasks_of("libero_10")[0], 10_000)
    rng = np.random.default_rng(0)
    try:
        seeded_reset(env, 0)
        env.step(np.zeros(len(DUMMY_ACTION)))
        started = time.perf_counter()
        for _ in range(_ENV_STEPS):
            env.step(rng.uniform(-1, 1, len(DUMMY_ACTION)))
        return (time.perf_counter() - started) / _ENV_STEPS * 1e6
    finally:
        env.close()
