"""Which episodes a recording consists of; each is a function of its index alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mango_trace.store import TraceRecord


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """One episode to record.

    Attributes:
        suite: Suite.
        task_index: Task in the suite's order.
        policy: Name of the policy.
        seed: Seed of the whole recording.
        episode: Index of the episode.
        init_state_id: Official initial state that it starts from.
        horizon: Control steps that the policy gets.
        after_success: Steps recorded past the first success.
        fault: Fault to inject, as ``kind@action``.
        source: Trace whose actions are replayed.
        policy_version: Version of the policy; ``None`` where any version's episode will do.
    """

    suite: str
    task_index: int
    policy: str
    seed: int
    episode: int
    init_state_id: int
    horizon: int
    after_success: int
    fault: str | None = None
    source: str | None = None
    policy_version: str | None = None

    @property
    def reset_seed(self) -> int:
        """Seed of the reset, which places the fixtures; independent of the policy."""
        return _mix(self.seed, self.episode, 0)

    @property
    def policy_seed(self) -> int:
        """Seed of the policy in this episode."""
        return _mix(self.seed, self.task_index, self.episode, 1)

    @property
    def slot(self) -> tuple[object, ...]:
        """What makes two recordings of an episode the same one."""
        return (
            self.suite,
            self.task_index,
            self.policy,
            self.seed,
            self.episode,
            self.horizon,
            self.after_success,
            self.fault,
            self.source,
            self.policy_version,
        )


def slots_of(record: TraceRecord) -> tuple[tuple[object, ...], ...]:
    """Slots that a recorded trace fills, that of its policy's version and that of any version."""
    metadata = record.metadata
    slot = (
        metadata.suite,
        metadata.task_index,
        metadata.policy,
        metadata.seed,
        metadata.episode,
        metadata.horizon,
        metadata.after_success,
        metadata.fault,
        metadata.replayed,
    )
    return (*slot, metadata.policy_version), (*slot, None)


def missing(specs: Sequence[EpisodeSpec], records: Iterable[TraceRecord]) -> list[EpisodeSpec]:
    """Episodes that are not recorded yet; those that ended in an error are tried again."""
    done = {slot for record in records if record.metadata.ended != "error" for slot in slots_of(record)}
    return [spec for spec in specs if spec.slot not in done]


def _mix(*parts: int) -> int:
    """A well-mixed seed below 2**31 from several numbers."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0] >> 1)
