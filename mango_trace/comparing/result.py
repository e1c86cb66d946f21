"""What is asked of a comparison and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from mango_trace.comparing.episodes import TaskKey
from mango_trace.comparing.pairing import Difference, Obstacle
from mango_trace.comparing.statistics import Interval

Verdict: TypeAlias = Literal["A better", "B better", "not separated", "not comparable"]
"""What a comparison says."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How to compare.

    Attributes:
        unpaired: Compare rates of independent rollouts, whatever they start from.
        any_seed: Pair rollouts with other seeds, too.
        allowed: Differences that do not matter to the caller.
        alpha: Level of the tests; intervals have one minus it as their confidence.
        power: Probability with which the detectable difference would be detected.
    """

    unpaired: bool = False
    any_seed: bool = False
    allowed: tuple[Difference, ...] = ()
    alpha: float = 0.05
    power: float = 0.8


@dataclass(frozen=True, slots=True)
class Side:
    """What is counted of one policy.

    Attributes:
        n: Rollouts that passed or failed.
        passed: Those that passed.
        interval: Wilson's interval of the rate; ``None`` if n is 0.
    """

    n: int
    passed: int
    interval: Interval | None

    @property
    def rate(self) -> float | None:
        """Share that passed; ``None`` if nothing ran."""
        return self.passed / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Row:
    """Two policies on one task, or on all tasks together.

    Attributes:
        task: Suite and task; ``None`` for all of them.
        verdict: Which is better.
        method: How it was found.
        a: Policy A.
        b: Policy B.
        difference: Rate of A minus rate of B; ``None``, like all that follows, if not comparable.
        interval: Newcombe's interval of the difference.
        n_pairs: Pairs; ``None`` if unpaired.
        only_a: Pairs in which only A passed.
        only_b: Pairs in which only B passed.
        p: P-value.
        p_holm: The same, adjusted for the number of tasks; of tasks only, and what their verdict rests on.
        detectable: Smallest difference that so many rollouts show with the power that was asked for.
    """

    task: TaskKey | None
    verdict: Verdict
    method: Literal["paired", "unpaired"]
    a: Side
    b: Side
    difference: float | None = None
    interval: Interval | None = None
    n_pairs: int | None = None
    only_a: int | None = None
    only_b: int | None = None
    p: float | None = None
    p_holm: float | None = None
    detectable: float | None = None


@dataclass(frozen=True, slots=True)
class FirstFailed:
    """How often an action failed first.

    Attributes:
        task: Suite and task; ``None`` for all of them.
        action: Atomic task, with its arguments if it is of one task.
        n_a: Failed rollouts of A in which it did.
        failed_a: Failed rollouts of A.
        n_b: Failed rollouts of B in which it did.
        failed_b: Failed rollouts of B.
    """

    task: TaskKey | None
    action: str
    n_a: int
    failed_a: int
    n_b: int
    failed_b: int

    @property
    def share_a(self) -> float | None:
        """Share of the failed rollouts of A."""
        return self.n_a / self.failed_a if self.failed_a else None

    @property
    def share_b(self) -> float | None:
        """Share of the failed rollouts of B."""
        return self.n_b / self.failed_b if self.failed_b else None


@dataclass(frozen=True, slots=True)
class Coverage:
    """What there is of a policy, and how much of it is compared.

    Attributes:
        policy: Name and version.
        task: Suite and task; ``None`` for all of them.
        rollouts: All of them.
        judged: Those that passed or failed.
        compared: Those that the rates count.
        undetermined: Those that are undetermined; like the next two neither passed nor failed.
        errors: Those with an error.
        not_evaluated: Those without a verdict.
        starts: Different initial states of those that are judged.
    """

    policy: str
    task: TaskKey | None
    rollouts: int
    judged: int
    compared: int
    undetermined: int
    errors: int
    not_evaluated: int
    starts: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two policies compared.

    Attributes:
        a: Name and version of policy A.
        b: Name and version of policy B.
        total: Over the tasks that are compared.
        tasks: By task, those first that differ most.
        first_failed: What failed first, over all tasks, then by task.
        coverage: What was counted, over all tasks, then by task.
        obstacles: What forbids to compare.
        notes: What a reader should know.
    """

    a: str
    b: str
    total: Row
    tasks: tuple[Row, ...]
    first_failed: tuple[FirstFailed, ...]
    coverage: tuple[Coverage, ...]
    obstacles: tuple[Obstacle, ...]
    notes: tuple[str, ...]

    @property
    def mean_of_tasks(self) -> tuple[float, float] | None:
        """Rates of A and B when every task weighs the same; ``None`` if no task is compared."""
        rates = [(row.a.rate, row.b.rate) for row in self.tasks if row.difference is not None]
        if not rates:
            return None
        of_a, of_b = zip(*rates, strict=True)
        return sum(rate or 0.0 for rate in of_a) / len(rates), sum(rate or 0.0 for rate in of_b) / len(rates)
