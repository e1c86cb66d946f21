"""What is kept of a trace once its states were read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mango_trace.errors import MangoTraceError
from mango_trace.evaluation.judging import batches_of, states_of, when_settled
from mango_trace.evaluation.rows import initial_state
from mango_trace.evaluation.shard import Workplace
from mango_trace.oracle import CompiledMonitor
from mango_trace.predicates.signature import Need
from mango_trace.scene.model import Scene
from mango_trace.store import Dataset, Trace, TraceRecord
from mango_trace.truth import FALSE, TRUE

_GOAL = "the goal"
_READ = ("time", "qpos", "mocap_pos", "mocap_quat")


@dataclass(frozen=True, slots=True)
class Seen:
    """A trace with what its states say.

    Attributes:
        record: Its row in the index.
        scene: Its scene; ``None``, like all that follows, if the trace could not be read.
        start: Digest of its first state.
        placement: Digest of what the reset wrote into the model.
        starts_solved: Whether the goal holds once the objects have settled.
        violated: Premises of the task that fail then.
        problems: Why some states cannot be judged.
        has_rewards: Whether there are rewards, and not only zeros where the live check succeeded.
        error: Why it could not be read.
    """

    record: TraceRecord
    scene: Scene | None = None
    start: str = ""
    placement: str = ""
    starts_solved: bool = False
    violated: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    has_rewards: bool = True
    error: str | None = None

    @property
    def suite(self) -> str:
        """Its suite."""
        return self.record.metadata.suite

    @property
    def task(self) -> str:
        """Its task."""
        return self.record.metadata.task

    @property
    def policy(self) -> str:
        """Policy and version."""
        metadata = self.record.metadata
        return f"{metadata.policy}@{metadata.policy_version}" if metadata.policy_version else metadata.policy

    @property
    def is_sound(self) -> bool:
        """Whether it could be read and its recording did not break."""
        return self.error is None and self.record.metadata.ended != "error"

    @property
    def cap(self) -> int | None:
        """Steps after which it was, or would have been, cut off; ``None`` where that is not known."""
        metadata = self.record.metadata
        if not metadata.horizon:
            return None
        steps = self.record.n_steps - metadata.warmup_steps
        return metadata.horizon if metadata.ended == "truncated" or metadata.horizon > steps else None


def look_at(dataset: Dataset, workplace: Workplace, records: Sequence[TraceRecord]) -> Iterator[Seen]:
    """Read some traces of a scene.

    Args:
        dataset: Where they are.
        workplace: Their scene, with goal and premises compiled.
        records: The traces, in stored order.

    Yields:
        Each of them, in no certain order; one that cannot be read with its error.
    """
    components = (*_READ, "qvel") if Need.VELOCITY in workplace.needs(()) else _READ
    traces: list[Trace] = []
    loaded: list[TraceRecord] = []
    for record in records:
        try:
            trace = dataset.load(record, components)
            workplace.kinematics.check(states_of(trace))
        except MangoTraceError as error:
            yield Seen(record, error=getattr(error, "reason", str(error)))
        else:
            traces.append(trace)
            loaded.append(record)
    states = [states_of(trace) for trace in traces]
    conditions: dict[str, Sequence[CompiledMonitor]] = dict(workplace.task.premises)
    if workplace.task.goal is not None:
        conditions[_GOAL] = workplace.task.goal.monitors
    for batch in batches_of(states):
        members = [states[index] for index in batch]
        truths = when_settled(members, workplace.kinematics, conditions) if conditions else {}
        validity = workplace.kinematics.batch(members).validity
        for position, index in enumerate(batch):
            violated = (text for text, truth in truths.items() if truth[position] == FALSE and text != _GOAL)
            yield Seen(
                loaded[index],
                workplace.package.scene,
                initial_state(traces[index]),
                _digest(loaded[index].metadata.overrides),
                _GOAL in truths and truths[_GOAL][position] == TRUE,
                tuple(violated),
                validity[position].problems,
                _has_rewards(traces[index]),
            )


def _digest(overrides: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    return hashlib.sha256(json.dumps(overrides, sort_keys=True).encode()).hexdigest()[:16]


def _has_rewards(trace: Trace) -> bool:
    if not trace.reward.size:
        return True
    if not np.isfinite(trace.reward).any():
        return False
    return bool(np.nan_to_num(trace.reward).any()) or not trace.live_success
