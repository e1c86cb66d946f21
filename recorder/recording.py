"""Recording inside any evaluation loop.

::

    with Recorder("my_dataset", policy="my-policy") as recorder:
        env = recorder.wrap(env)
        ...                         # the loop as it was

The wrapper passes everything through and changes nothing: it reads the state before the first step
and after every step.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
import time
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, Self

import numpy as np

from mango_trace.errors import UsageError
from mango_trace.scene.overrides import Overrides
from mango_trace.store import DatasetWriter, Label, Trace, TraceMetadata, TraceRecord
from mango_trace.store.layout import SUCCESS_UNKNOWN, DatasetInfo
from mango_trace.store.metadata import Ending, Fidelity
from recorder.adapters import Adapter, adapter_for, known
from recorder.adapters.inside import replace_inside
from recorder.capture import COMPONENTS, Array, StateReader
from recorder.vector import RecordedFactory, Strided, Watched

_ROWS = 256


class Recorder:
    """Writes what wrapped environments do into a dataset.

    A copy of it, made by a fork or by pickling it into a worker process, writes into the same dataset,
    into segments of its own.

    Args:
        root: Directory of the dataset; created when it does not exist.
        policy: Name of the policy.
        policy_version: Its version.
        seed: Seed of the evaluation.
        fidelity: ``integration`` allows an exact restart from any state; ``physics`` and
            ``positions`` take less room.
        info: What a new dataset says of itself.

    Raises:
        UsageError: Unknown fidelity.
        DatasetError: ``root`` holds something else.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        policy: str = "unnamed",
        policy_version: str = "0",
        seed: int = 0,
        fidelity: Fidelity = "integration",
        info: DatasetInfo | None = None,
    ) -> None:
        if fidelity not in COMPONENTS:
            raise UsageError(f"no fidelity {fidelity!r}; there are: {', '.join(COMPONENTS)}")
        self.policy, self.policy_version, self.seed = policy, policy_version, seed
        self.fidelity: Fidelity = fidelity
        self.writer = DatasetWriter(Path(root), info)
        self.records: list[TraceRecord] = []
        self.overhead_s = 0.0
        self._wrapped: list[RecordedEnv] = []
        self._number: Callable[[str], int] = Strided(0, 1)
        self._broken: Event | None = None

    def wrap(
        self, env: Any, *, adapter: Adapter | None = None, numbered: Callable[[str], int] | None = None
    ) -> Any:
        """Wrap an environment; use the result in its place.

        Args:
            env: Environment of a simulator that an adapter knows, or something that holds one.
            adapter: The adapter, if it is known already.
            numbered: Gives the number of the next episode of a task, where not all are of this process.

        Returns:
            A :class:`RecordedEnv`; or ``env`` itself, in which the environment that it holds now is one.

        Raises:
            UsageError: No adapter knows the environment.
        """
        number = numbered or self._number

        def wrapped(simulated: Any) -> RecordedEnv:
            recorded = RecordedEnv(simulated, self, adapter or adapter_for(simulated), number)
            self._wrapped.append(recorded)
            return recorded

        if adapter is None and not known(env) and replace_inside(env, known, wrapped):
            return env
        return wrapped(env)

    def vector(self, factories: Sequence[Callable[[], Any]]) -> list[RecordedFactory]:
        """Have environments recorded that work side by side, here or in processes of their own.

        Give the result to gymnasium's ``AsyncVectorEnv``, LIBERO's ``SubprocVectorEnv`` or their like. Each
        process writes segments of its own; when one dies, its episode in progress is lost and nothing else.
        What worker processes record is in the dataset, and not in ``records``.

        Args:
            factories: Functions that make the environments.
        """
        if self._broken is None:
            self._broken = multiprocessing.get_context("spawn").Event()  # one of spawn serves forks too
        return [RecordedFactory(make, self, i, len(factories)) for i, make in enumerate(factories)]

    def watch(self, policy: Any) -> Any:
        """Have errors of a policy noticed that the loop itself catches.

        Args:
            policy: The policy, its client, or the function that asks it; use the result in its place.
        """
        return Watched(policy, self._fault)

    def _fault(self, error: Exception) -> None:
        for env in self._wrapped:
            env.fault(error)

    @property
    def broken(self) -> bool:
        """Whether the loop that used this recorder, here or in another process, ended in an error."""
        return self._broken is not None and self._broken.is_set()

    def __reduce__(self) -> Any:
        """A worker process has a recorder of its own, which hears of the loop's end."""
        options = {"policy": self.policy, "policy_version": self.policy_version, "seed": self.seed}
        broken = self._broken if multiprocessing.context.get_spawning_popen() else None
        return _copy, (str(self.writer.root), {**options, "fidelity": self.fidelity}, broken)

    def close(self, error: BaseException | None = None) -> None:
        """Commit the episodes in progress and close the dataset.

        Args:
            error: What broke the loop. An interrupted episode is given up; one that ended in a
                fault is stored with the fault, since that is no failure of the policy.
        """
        if isinstance(error, Exception) and self._broken is not None:
            self._broken.set()
        for env in self._wrapped:
            if isinstance(error, Exception):
                env.finish_episode(ended="error", error=f"{type(error).__name__}: {error}")
            elif error is not None:
                env.discard_episode()
            else:
                env.finish_episode()
        self._wrapped.clear()
        self.writer.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Close it."""
        self.close(error)


def _copy(root: str, options: dict[str, Any], broken: Event | None) -> Recorder:
    recorder = Recorder(root, **options)
    recorder._broken = broken
    return recorder


class RecordedEnv:
    """An environment whose states are written down; everything else passes through."""

    def __init__(self, env: Any, recorder: Recorder, adapter: Adapter, number: Callable[[str], int]) -> None:
        self._env, self._recorder, self._adapter, self._number = env, recorder, adapter, number
        self._notes: dict[str, Any] = {}
        self._labels: tuple[Label, ...] = ()
        self._reader: StateReader | None = None
        self._rows: Array = np.empty((0, 0))
        self._actions: list[Array] = []
        self._rewards: list[float] = []
        self._success: list[int] = []
        self._overrides: Overrides = {}
        self._scene = ""
        self._init_state_id: int | None = None
        self._fault: str | None = None
        self._waiting = False

    def __getattr__(self, name: str) -> Any:
        """Everything that is not recorded is the environment's own."""
        return getattr(self._env, name)

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        """Commit the episode so far and reset."""
        self.finish_episode()
        result = self._env.reset(*args, **kwargs)
        self._waiting = True
        return result

    def set_init_state(self, init_state: Any, *args: Any, **kwargs: Any) -> Any:
        """Set an initial state; its official number is looked up and stored."""
        self.finish_episode()
        result = self._env.set_init_state(init_state, *args, **kwargs)
        self._init_state_id = self._adapter.init_state_id(self._env, init_state)
        self._waiting = True
        return result

    def step(self, action: Any) -> Any:
        """Step and write down the state before the first step and after every step."""
        started = time.perf_counter()
        self._fault = None  # the loop goes on after it
        if self._reader is None:
            self._begin()
        self._recorder.overhead_s += time.perf_counter() - started
        try:
            result = self._env.step(action)
        except Exception as error:
            self.finish_episode(ended="error", error=f"{type(error).__name__}: {error}")
            raise
        started = time.perf_counter()
        self._actions.append(np.array(action, dtype=np.float64).ravel())
        self._rewards.append(float(result[1]))
        success = self._adapter.live_success(self._env, bool(result[2]))
        self._success.append(SUCCESS_UNKNOWN if success is None else int(success))
        self._read()
        self._recorder.overhead_s += time.perf_counter() - started
        return result

    def close(self) -> None:
        """Commit the episode so far and close the environment."""
        if self._recorder.broken:
            self.finish_episode(ended="error", error="the loop ended in an error")
        self.finish_episode()
        self._env.close()

    def describe(self, *, labels: Sequence[Label] = (), **notes: Any) -> None:
        """Add to what is stored about the episode in progress.

        Args:
            labels: Ground truth.
            **notes: Fields of :class:`TraceMetadata` that the loop knows better than the wrapper.
        """
        self._notes.update(notes)
        self._labels = (*self._labels, *labels)

    def fault(self, error: Exception) -> None:
        """Note an error of the policy: without a further step the episode ends with it."""
        self._fault = f"{type(error).__name__}: {error}"

    def discard_episode(self) -> None:
        """Forget the episode in progress."""
        self._clear()

    def finish_episode(self, *, ended: Ending | None = None, error: str | None = None) -> TraceRecord | None:
        """Commit the episode in progress, if it has a step or ended in an error before its first one.

        Args:
            ended: How it ended; by default terminated if the benchmark saw success, else truncated.
            error: What went wrong.

        Returns:
            Its row in the index, or ``None``.
        """
        if ended is None and self._fault is not None:
            ended, error = "error", self._fault
        if self._waiting and self._reader is None and ended == "error":
            self._begin()  # the state that it would have started from
        if self._reader is None or not (self._actions or ended == "error"):
            self._clear()
            return None
        started = time.perf_counter()
        n_steps = len(self._actions)
        success = np.array(self._success, dtype=np.uint8)
        trace = Trace(
            scene=self._scene,
            states=self._reader.split(self._rows[: n_steps + 1]),
            action=np.stack(self._actions) if self._actions else np.empty((0, 0)),
            reward=np.array(self._rewards),
            success=success,
            metadata=self._metadata(ended or self._ending(success), error),
        )
        record = self._recorder.writer.add(trace)
        self._recorder.records.append(record)
        self._clear()
        self._recorder.overhead_s += time.perf_counter() - started
        return record

    @staticmethod
    def _ending(success: Any) -> Ending:
        return "terminated" if (success == 1).any() else "truncated"

    def _metadata(self, ended: Ending, error: str | None) -> TraceMetadata:
        recorder, identity = self._recorder, self._adapter.identify(self._env)
        key = f"{identity.suite}/{identity.task}"
        episode = self._number(key)
        fields: dict[str, Any] = {
            "benchmark": self._adapter.benchmark,
            "suite": identity.suite,
            "task_index": identity.task_index,
            "task": identity.task,
            "instruction": identity.instruction,
            "policy": recorder.policy,
            "policy_version": recorder.policy_version,
            "seed": recorder.seed,
            "episode": episode,
            "init_state_id": self._init_state_id,
            "horizon": len(self._actions) - self._warmup(),
            "warmup_steps": self._warmup(),
            "after_success": self._after_success(),
            "ended": ended,
            "error": error,
            "fidelity": recorder.fidelity,
            "versions": self._adapter.versions(),
            "overrides": self._overrides,
            "labels": self._labels,
        }
        return TraceMetadata(**{**fields, **self._notes})

    def _warmup(self) -> int:
        """Leading steps with the dummy action, by which other loops wait for objects to settle."""
        return warmup_steps(self._actions, self._adapter.dummy_actions)

    def _after_success(self) -> int:
        first = next((step for step, value in enumerate(self._success) if value == 1), None)
        return 0 if first is None else len(self._success) - 1 - first

    def _begin(self) -> None:
        package, self._overrides = self._adapter.scene(self._env)
        self._scene = self._recorder.writer.add_scene(package)
        model, _ = self._adapter.physics(self._env)
        self._reader = StateReader(model, self._recorder.fidelity)
        if self._init_state_id is None:
            self._init_state_id = self._adapter.init_state_id(self._env, None)
        self._rows = np.empty((_ROWS, self._reader.width))
        self._read()

    def _read(self) -> None:
        assert self._reader is not None
        index = len(self._actions)
        if index >= len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._reader.read(self._adapter.physics(self._env)[1], self._rows[index])

    def _clear(self) -> None:
        """Forget the episode in progress."""
        self._reader, self._init_state_id, self._fault, self._waiting = None, None, None, False
        self._rows, self._actions, self._rewards, self._success = np.empty((0, 0)), [], [], []
        self._overrides, self._scene = {}, ""
        self._notes, self._labels = {}, ()


def warmup_steps(actions: Sequence[Array], dummy_actions: Iterable[Sequence[float]]) -> int:
    """Leading actions that only wait for objects to settle.

    Args:
        actions: Actions of an episode, ``(action_dim,)`` each.
        dummy_actions: Actions with which loops around a benchmark wait; an episode waits with one of them.

    Returns:
        Their number; 0 if there are no others: a policy that stands still is no warm-up.
    """
    for dummy in dummy_actions:
        if actions and np.array_equal(actions[0], dummy):
            others = (step for step, action in enumerate(actions) if not np.array_equal(action, dummy))
            return next(others, 0)
    return 0
