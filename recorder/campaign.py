"""Recording many episodes on all cores, with progress, interruption and resumption."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mango_trace.errors import UsageError
from mango_trace.store import Dataset
from mango_trace.workers import worker_pool
from recorder.adapters.libero import LiberoAdapter, make_env, tasks_of
from recorder.policies.registry import make_policy
from recorder.recording import RecordedEnv, Recorder
from recorder.rollout import run_episode
from recorder.specs import EpisodeSpec


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one episode of a recording went.

    Attributes:
        spec: The episode.
        success: The benchmark's own live success; ``None`` after an error.
        error: What went wrong, or ``None``.
    """

    spec: EpisodeSpec
    success: bool | None
    error: str | None


def record_all(
    root: Path,
    specs: Sequence[EpisodeSpec],
    *,
    workers: int,
    source: Path | None = None,
) -> Iterator[Outcome]:
    """Record episodes, several at a time, each committed when it ends.

    The result does not depend on the number of workers: every episode starts from its own seeded
    reset. Closing the iterator early (Ctrl-C) gives up the episodes in progress and no others.

    Args:
        root: Directory of the dataset.
        specs: Episodes to record.
        workers: Processes.
        source: Dataset whose actions the ``replay`` policy plays.

    Yields:
        Outcomes in the order in which episodes end.

    Raises:
        UsageError: ``workers`` is less than 1.
    """
    if workers < 1:
        raise UsageError(f"--workers must be at least 1, not {workers}")
    if workers == 1:
        yield from (_record_one(root, spec, source) for spec in specs)
        _close_all()
        return
    pool = worker_pool(workers)
    try:
        yield from _in_parallel(pool, root, specs, source, workers)
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _in_parallel(
    pool: ProcessPoolExecutor,
    root: Path,
    specs: Sequence[EpisodeSpec],
    source: Path | None,
    workers: int,
) -> Iterator[Outcome]:
    """Keep few episodes queued, and those of one task together: an environment is slow to make."""
    waiting = list(reversed(specs))
    running: set[Future[Outcome]] = set()
    while waiting or running:
        while waiting and len(running) < workers + 1:
            running.add(pool.submit(_record_one, root, waiting.pop(), source))
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()


@dataclass(slots=True)
class _Bench:
    """What a worker keeps from one episode to the next."""

    recorder: Recorder | None = None
    key: tuple[Any, ...] = ()
    env: RecordedEnv | None = None


_bench = _Bench()


@cache
def _adapter() -> LiberoAdapter:
    return LiberoAdapter()


def _record_one(root: Path, spec: EpisodeSpec, source: Path | None) -> Outcome:
    """Record one episode in this process; the environment is kept for the next of its task."""
    task = tasks_of(spec.suite)[spec.task_index]
    try:
        actions = None
        if spec.source is not None and source is not None:
            dataset = Dataset(source)
            stored = dataset.load(dataset.find(spec.source), ("qpos",))
            actions = stored.action[stored.metadata.warmup_steps :]
        policy = make_policy(spec.policy, fault=spec.fault, actions=actions)
        env = _env_for(root, spec, policy.name, policy.version)
        record = run_episode(env, task, policy, spec)
    except Exception as error:
        _close_env()
        return Outcome(spec, None, f"{type(error).__name__}: {error}")
    if record is None:
        return Outcome(spec, None, "the episode had no steps")
    return Outcome(spec, record.live_success, record.metadata.error)


def _env_for(root: Path, spec: EpisodeSpec, policy: str, version: str) -> RecordedEnv:
    if _bench.recorder is None or _bench.recorder.writer.root != root:
        _close_all()
        _bench.recorder = Recorder(root)
    recorder = _bench.recorder
    recorder.policy, recorder.policy_version, recorder.seed = policy, version, spec.seed
    key = (spec.suite, spec.task_index)
    if _bench.env is None or _bench.key != key:
        _close_env()
        task = tasks_of(spec.suite)[spec.task_index]
        _bench.env = recorder.wrap(make_env(task, spec.horizon), adapter=_adapter())
        _bench.key = key
    return _bench.env


def _close_env() -> None:
    if _bench.env is not None:
        _bench.env.discard_episode()
        _bench.env.close()
    _bench.env, _bench.key = None, ()


def _close_all() -> None:
    _close_env()
    if _bench.recorder is not None:
        _bench.recorder.close()
    _bench.recorder = None
