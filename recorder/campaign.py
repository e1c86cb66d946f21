"""Recording many episodes on all cores, with progress, interruption and resumption."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from mango_trace.errors import UsageError
from mango_trace.store import Dataset
from mango_trace.workers import KILLED, each
from recorder.adapters.libero import LiberoAdapter, make_env, tasks_of
from recorder.errors import PolicyUnavailableError
from recorder.policies.base import Policy
from recorder.policies.chunks import ChunkedPolicy
from recorder.policies.registry import make_policy
from recorder.policies.source import PolicySource
from recorder.recording import RecordedEnv, Recorder
from recorder.rollout import run_episode
from recorder.specs import EpisodeSpec

MOST_ERRORS: Final = 5
"""Errors in a row of a served policy after which a recording stops."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one episode of a recording went.

    Attributes:
        spec: The episode.
        success: The benchmark's own live success; ``None`` after an error.
        error: What went wrong, or ``None``.
        hopeless: Why the next episodes would go wrong too, or ``None``.
    """

    spec: EpisodeSpec
    success: bool | None
    error: str | None
    hopeless: str | None = None


def record_all(
    root: Path,
    specs: Sequence[EpisodeSpec],
    *,
    workers: int,
    source: Path | None = None,
    policy: PolicySource | None = None,
) -> Iterator[Outcome]:
    """Record episodes, several at a time, each committed when it ends.

    The result does not depend on the number of workers: every episode starts from its own seeded
    reset. Closing the iterator early (Ctrl-C) gives up the episodes in progress and no others. When a
    process is killed, its episode is recorded again; one that kills its process twice is an error.

    Args:
        root: Directory of the dataset.
        specs: Episodes to record.
        workers: Processes.
        source: Dataset whose actions the ``replay`` policy plays.
        policy: Where the policy is, when it is none of the recorder's own.

    Yields:
        Outcomes in the order in which episodes end; after a hopeless one no episode is begun.

    Raises:
        UsageError: ``workers`` is less than 1.
    """
    if workers < 1:
        raise UsageError(f"--workers must be at least 1, not {workers}")
    record = partial(_record_one, root, source=source, policy=policy)
    judged = _Patience(MOST_ERRORS if policy is not None and policy.served else None)
    begun = takewhile(lambda _: not judged.hopeless, specs)
    if workers == 1:
        try:
            yield from (judged(record(spec)) for spec in begun)
        finally:
            _close_all()
        return
    # Few are queued, and those of one task together: an environment is slow to make.
    for spec, outcome in each(record, begun, workers, at_once=workers + 1):
        yield judged(outcome or Outcome(spec, None, f"the process that recorded it {KILLED}"))


@dataclass(slots=True)
class _Patience:
    """Calls the outcome hopeless that makes too many errors in a row.

    Args:
        most: How many are too many; ``None`` bears any number.

    Attributes:
        errors: How many were the last ones in a row.
        hopeless: Whether any outcome was.
    """

    most: int | None
    errors: int = 0
    hopeless: bool = False

    def __call__(self, outcome: Outcome) -> Outcome:
        """The outcome, after those that were judged before."""
        self.errors = self.errors + 1 if outcome.error else 0
        if not outcome.hopeless and self.most is not None and self.errors >= self.most:
            outcome = replace(outcome, hopeless=f"{self.errors} errors of the policy in a row")
        self.hopeless = self.hopeless or outcome.hopeless is not None
        return outcome


@dataclass(slots=True)
class _Bench:
    """What a worker keeps from one episode to the next."""

    recorder: Recorder | None = None
    key: tuple[Any, ...] = ()
    env: RecordedEnv | None = None
    source: PolicySource | None = None
    policy: ChunkedPolicy | None = None


_bench = _Bench()


@cache
def _adapter() -> LiberoAdapter:
    return LiberoAdapter()


def _record_one(root: Path, spec: EpisodeSpec, source: Path | None, policy: PolicySource | None) -> Outcome:
    """Record one episode in this process; environment and outer policy are kept for the next one."""
    task = tasks_of(spec.suite)[spec.task_index]
    try:
        played = _own_policy(spec, source) if policy is None else _outer_policy(policy)
        env = _env_for(root, spec, played, policy.image_size if policy else None)
        record = run_episode(env, task, played, spec)
    except Exception as error:
        _close_env()
        gone = isinstance(error, PolicyUnavailableError | UsageError)
        hopeless = "the policy is not to be had" if gone else None
        return Outcome(spec, None, f"{type(error).__name__}: {error}", hopeless)
    if record is None:
        return Outcome(spec, None, "the episode had no steps")
    fault = record.metadata.error
    return Outcome(spec, None if fault else record.live_success, fault)


def _own_policy(spec: EpisodeSpec, source: Path | None) -> Policy:
    """Make a policy of the recorder's own, anew for each episode."""
    actions = None
    if spec.source is not None and source is not None:
        dataset = Dataset(source)
        stored = dataset.load(dataset.find(spec.source), ("qpos",))
        actions = stored.action[stored.metadata.warmup_steps :]
    return make_policy(spec.policy, fault=spec.fault, actions=actions)


def _outer_policy(source: PolicySource) -> Policy:
    """Make a policy once: its connection or its weights are dear."""
    if _bench.policy is None or _bench.source != source:
        _close_policy()
        _bench.source, _bench.policy = source, source.make()
    return _bench.policy


def _env_for(root: Path, spec: EpisodeSpec, policy: Policy, image_size: int | None) -> RecordedEnv:
    if _bench.recorder is None or _bench.recorder.writer.root != root:
        _close_recorder()
        _bench.recorder = Recorder(root)
    recorder = _bench.recorder
    recorder.policy, recorder.policy_version, recorder.seed = policy.name, policy.version, spec.seed
    key = (spec.suite, spec.task_index, image_size)
    if _bench.env is None or _bench.key != key:
        _close_env()
        task = tasks_of(spec.suite)[spec.task_index]
        _bench.env = recorder.wrap(make_env(task, spec.horizon, image_size), adapter=_adapter())
        _bench.key = key
    return _bench.env


def _close_env() -> None:
    if _bench.env is not None:
        _bench.env.discard_episode()
        _bench.env.close()
    _bench.env, _bench.key = None, ()


def _close_recorder() -> None:
    _close_env()
    if _bench.recorder is not None:
        _bench.recorder.close()
    _bench.recorder = None


def _close_policy() -> None:
    if _bench.policy is not None:
        _bench.policy.close()
    _bench.source, _bench.policy = None, None


def _close_all() -> None:
    _close_policy()
    _close_recorder()
