"""What may be found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal[
    "unreadable",
    "recording_error",
    "invalid_states",
    "success_at_start",
    "premise_violated",
    "repeated_start",
    "same_state_other_id",
    "same_id_other_state",
    "same_start_other_placement",
    "identical_runs",
    "cut_short",
    "mixed_horizons",
    "mixed_versions",
    "mixed_robots",
    "mixed_control",
    "mixed_scenes",
    "few_runs",
    "missing_task",
    "injected_fault",
    "no_rewards",
    "no_live_check",
]
"""Kinds of findings."""

ADVICE: Final[dict[Kind, str]] = {
    "unreadable": "record it again, or restore the file from a copy",
    "recording_error": "record it again; an error counts neither as success nor as failure",
    "invalid_states": "find out why the simulation broke; verdicts on these states are undetermined",
    "success_at_start": "let the task begin unsolved; a success is none of the policy's",
    "premise_violated": "record with the versions that the initial states are made for, or warm up longer",
    "repeated_start": "start from more initial states; so many episodes are not independent",
    "same_state_other_id": "set the initial state after the reset, which discards one that was set before",
    "same_id_other_state": "record all with the same initial states; such runs cannot be paired",
    "same_start_other_placement": "seed the environment alike; fixtures are no part of the initial state",
    "identical_runs": "count them once; a deterministic policy that runs again tells nothing new",
    "cut_short": "record with a horizon above the longest demonstration",
    "mixed_horizons": "give every policy the same number of steps",
    "mixed_versions": "record all with the same versions; rates are not comparable across physics",
    "mixed_robots": "compare runs of the same robot",
    "mixed_control": "compare runs with the same control frequency",
    "mixed_scenes": "record all with the same scene",
    "few_runs": "record more; mango-trace power says how many show a difference",
    "missing_task": "record this task too, or compare the others with --task",
    "injected_fault": "no failures of the policy; rates leave them out unless told otherwise",
    "no_rewards": "take success from verdicts, not from rewards",
    "no_live_check": "take success from verdicts; there is no check of the benchmark's to agree with",
}
"""What to do about each kind, in the order in which kinds are listed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that makes comparisons wrong.

    Attributes:
        kind: What it is.
        suite: Suite of the task.
        task: Task; ``None`` for all of the suite.
        policy: Policy and version; ``None`` for all.
        count: Runs that it concerns.
        of: Runs that were looked at for it.
        what: What was seen.
    """

    kind: Kind
    suite: str
    task: str | None
    policy: str | None
    count: int
    of: int
    what: str

    @property
    def advice(self) -> str:
        """What to do."""
        return ADVICE[self.kind]
