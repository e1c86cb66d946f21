"""Where shards are judged: in this process and processes that it starts, or on a Ray cluster.

An engine takes shards and yields what comes of them, in any order, each once. It judges only some of them
at a time, so that the rows that wait for the committer are bounded. States stay where they are read:
a shard goes out as paths and records and comes back as Arrow tables. Another backend is another function
of this form.

An exception of the program itself ends the evaluation, whatever the engine: what was committed stays,
and the same call goes on from there.
"""

from __future__ import annotations

import logging
import os
import socket
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from mango_trace.errors import UsageError
from mango_trace.evaluation.shard import (
    EVALUATOR,
    Shard,
    ShardResult,
    broken_shard,
    forget_scenes,
    judge_shard,
)
from mango_trace.startup import only_judge
from mango_trace.store.location import is_remote
from mango_trace.workers import KILLED, each

RETRIES: Final = 3
"""How often Ray judges a shard again whose worker or node was lost."""

_REACHED_WITHIN_S: Final = 10.0
_STARTED_WITHIN_S: Final = 300.0
_STORE_BYTES: Final = 512 << 20
_LOCAL_SETTINGS: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # in spite of its name: on Linux, bind to loopback only
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else a warning about a default that will change
}


class Engine(Protocol):
    """Judges shards somewhere."""

    def __call__(self, shards: Sequence[Shard], workers: int | None) -> Iterator[ShardResult]:
        """Judge shards.

        Args:
            shards: The work.
            workers: How many shards are judged at the same time; as the engine likes, when not given.

        Yields:
            One result for each shard, as they come.
        """
        ...


def local(shards: Sequence[Shard], workers: int | None) -> Iterator[ShardResult]:
    """Judge shards in this process, or in ``workers`` processes that it starts.

    When a process is killed, what was out is judged again, one shard at a time; one that is lost again is
    an error of its traces.

    Args:
        shards: The work.
        workers: Processes; this one alone, when not given.

    Yields:
        One result for each shard, as they come.
    """
    if workers in (None, 1) or len(shards) <= 1:
        yield from map(judge_shard, shards)
        return
    for shard, result in each(judge_shard, shards, workers, only_judge):
        yield result or broken_shard(shard, f"the process that judged it {KILLED}")


@dataclass(frozen=True, slots=True)
class OnRay:
    """Judges shards as tasks of Ray.

    A task whose worker or node is lost runs again, elsewhere if need be. A shard that is lost every time
    is an error of its traces, and the others are judged.

    Attributes:
        address: ``HOST:PORT`` of a cluster, or ``auto`` for the one that runs on this machine. Without one,
            the session of Ray that this process has is used, or else one is started on this machine,
            reachable from it alone (unless Ray was imported before), and ended with the evaluation.
    """

    address: str | None = None

    def __call__(self, shards: Sequence[Shard], workers: int | None) -> Iterator[ShardResult]:
        """Judge shards.

        Args:
            shards: The work.
            workers: How many shards are judged at the same time; one for each CPU, when not given.

        Yields:
            One result for each shard, as they come.

        Raises:
            UsageError: Ray is not installed, there is no such cluster, it has no CPU, or its nodes have
                another version of the evaluator.
        """
        if not shards:
            return
        with _session(self.address, workers) as ray:
            judge = ray.remote(_judge).options(num_cpus=1, max_retries=RETRIES)
            evaluation = uuid.uuid4().hex
            waiting = list(reversed(shards))
            running: dict[Any, Shard] = {}
            try:
                while waiting or running:
                    at_once = workers or 2 * _cpus(ray)  # asked each time: clusters grow and shrink
                    while waiting and len(running) < at_once:
                        shard = _from_anywhere(waiting.pop())
                        running[judge.remote(shard, EVALUATOR, evaluation)] = shard
                    done, _ = ray.wait(list(running), num_returns=1, timeout=_STARTED_WITHIN_S)
                    if not done and not ray.cluster_resources().get("CPU"):
                        raise UsageError(
                            f"no node of the Ray cluster has a CPU, for {_STARTED_WITHIN_S:g} s now"
                        )
                    for reference in done:
                        yield _result(ray, reference, running.pop(reference))
            finally:
                for reference in running:
                    ray.cancel(reference, force=True)


_judging: str | None = None
"""The evaluation for which this process judged last."""


def _judge(shard: Shard, evaluator: str, evaluation: str) -> ShardResult:
    """What a worker of Ray does."""
    global _judging
    if evaluator != EVALUATOR:
        raise UsageError(
            f"node {socket.gethostname()} judges as {EVALUATOR}, not as {evaluator}; verdicts of different "
            "programs do not mix: install the same versions of mango-trace and mujoco everywhere"
        )
    if evaluation != _judging:  # a worker may live longer than what it keeps of a dataset is true
        forget_scenes()
        _judging = evaluation
    return judge_shard(shard)


def _from_anywhere(shard: Shard) -> Shard:
    """A shard whose dataset is found from another folder too; rows call it as before."""
    if is_remote(shard.root):
        return shard
    return replace(shard, root=shard.root.absolute(), name=shard.dataset)


def _result(ray: Any, reference: Any, shard: Shard) -> ShardResult:
    try:
        result: ShardResult = ray.get(reference)
    except ray.exceptions.RayTaskError as error:  # the program's own
        cause = getattr(error, "cause", None)
        raise (cause if isinstance(cause, Exception) else error) from error
    except ray.exceptions.RayError as error:
        what = str(error).strip().partition("\n")[0]
        return broken_shard(shard, f"Ray gave it up after {RETRIES} retries: {type(error).__name__}: {what}")
    return result


def _cpus(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


@contextmanager
def _session(address: str | None, workers: int | None) -> Iterator[Any]:
    """Ray, connected; the connection ends here if it was made here."""
    if address is None:
        for name, value in _LOCAL_SETTINGS.items():
            os.environ.setdefault(name, value)  # read when it is imported
    try:
        import ray
    except ImportError as error:
        raise UsageError("--engine ray needs the extra 'ray': pip install 'mango-trace[ray]'") from error
    if address is None and ray.is_initialized():
        yield ray
        return
    quiet: Mapping[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is None:
            ray.init(
                address="local",
                num_cpus=workers,
                include_dashboard=False,
                object_store_memory=_STORE_BYTES,
                **quiet,
            )
        else:
            _check_reachable(address)
            ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        place = address or "this machine"
        raise UsageError(f"no session of Ray at {place}: {error}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """See that something listens at an address; Ray itself tries for a quarter of an hour.

    Raises:
        UsageError: Nothing does.
    """
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"{address!r} is no address of a Ray cluster; write HOST:PORT, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACHED_WITHIN_S).close()
    except OSError as error:
        raise UsageError(f"no Ray cluster at {address}: {error}") from error
