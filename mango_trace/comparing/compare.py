"""Two policies against each other, by task and over all tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from mango_trace.comparing.episodes import Episode, Policy, Question, TaskKey, read_policies
from mango_trace.comparing.pairing import Obstacle, Pair, make_pairs, obstacles_of_task
from mango_trace.comparing.power import detectable_paired, detectable_unpaired
from mango_trace.comparing.result import Comparison, Coverage, FirstFailed, Row, Side, Terms, Verdict
from mango_trace.comparing.statistics import (
    holm,
    mcnemar_p,
    newcombe,
    newcombe_p,
    newcombe_paired,
    wilson,
)

NO_ACTION: Final = "no single action"
"""What failed first in a failed rollout of which no one action is to blame."""

_MIX_GAP: Final = 0.05
"""So much may the share of a task in the rollouts of two policies differ, where they are not paired."""


def compare_policies(database: Path | str, question: Question, terms: Terms | None = None) -> Comparison:
    """Compare two policies of a verdict database.

    Args:
        database: The verdict database.
        question: Which policies, and what success means.
        terms: How to compare.

    Raises:
        UnknownNameError: There is no such policy, meaning, evaluator or oracle.
        UsageError: A name stands for several policies, no task is meant, or statsmodels is not installed.
        DatabaseError: The file cannot be read as a verdict database.
    """
    policy_a, policy_b = read_policies(database, question)
    by_benchmark = question.meaning.startswith("benchmark")
    return _Comparing(policy_a, policy_b, terms or Terms(), by_benchmark).compare()


@dataclass(frozen=True, slots=True)
class _Task:
    """What is compared of a task: pairs, or all judged episodes."""

    key: TaskKey
    a: tuple[Episode, ...]
    b: tuple[Episode, ...]
    pairs: tuple[Pair, ...] | None
    obstacles: tuple[Obstacle, ...]
    allowed: tuple[Obstacle, ...]

    @property
    def is_of_both(self) -> bool:
        return not any(one.kind == "task" for one in self.obstacles)


class _Comparing:
    def __init__(self, a: Policy, b: Policy, terms: Terms, by_benchmark: bool) -> None:
        self._a, self._b, self._terms, self._by_benchmark = a, b, terms, by_benchmark

    def compare(self) -> Comparison:
        """Compare task by task, then all that can be compared together."""
        keys = sorted({one.task for one in (*self._a.episodes, *self._b.episodes) if one.is_judged})
        tasks = [self._gather(key) for key in keys]
        # Without pairs a task that only one of them ran is left out; with pairs it is in the way.
        counted = [task for task in tasks if task.is_of_both] if self._terms.unpaired else tasks
        general = self._general(counted)
        obstacles = [one for task in counted for one in task.obstacles] + general
        total = self._row(None, counted, blocked=bool(obstacles))
        rows = self._adjust([self._row(task.key, [task], blocked=bool(task.obstacles)) for task in tasks])
        return Comparison(
            self._a.name,
            self._b.name,
            total,
            tuple(sorted(rows, key=_by_difference)),
            (*_profile(None, counted), *(row for task in tasks for row in _profile(task.key, [task]))),
            tuple(self._coverage(counted)),
            tuple(obstacles),
            tuple(self._notes(tasks, counted)),
        )

    def _gather(self, key: TaskKey) -> _Task:
        terms = self._terms
        every_a, every_b = self._a.of(key), self._b.of(key)
        pairs = None if terms.unpaired else make_pairs(every_a, every_b, any_seed=terms.any_seed)
        found = obstacles_of_task(
            key, self._a, self._b, pairs, by_benchmark=self._by_benchmark, any_seed=terms.any_seed
        )
        if pairs:
            a, b = tuple(pair.a for pair in pairs), tuple(pair.b for pair in pairs)
        else:  # nothing pairs: what there is of each is still worth seeing
            a, b = (tuple(one for one in ones if one.is_judged) for ones in (every_a, every_b))
        return _Task(
            key,
            a,
            b,
            None if pairs is None else tuple(pairs),
            tuple(one for one in found if one.kind not in terms.allowed),
            tuple(one for one in found if one.kind in terms.allowed),
        )

    def _general(self, counted: Sequence[_Task]) -> list[Obstacle]:
        if not counted:
            return [Obstacle("task", None, "no task has judged rollouts of both policies")]
        n_a, n_b = (
            sum(len(side) for side in sides) for sides in zip(*((t.a, t.b) for t in counted), strict=True)
        )
        if self._terms.unpaired and n_a and n_b:
            gap = max(abs(len(task.a) / n_a - len(task.b) / n_b) for task in counted)
            if gap > _MIX_GAP:
                return [
                    Obstacle(
                        "mix",
                        None,
                        f"rollouts by task differ: the share of a task by {gap:.2f}; compare by task",
                    )
                ]
        return []

    def _row(self, key: TaskKey | None, tasks: Sequence[_Task], *, blocked: bool) -> Row:
        terms = self._terms
        a, b = (
            _side([one for episodes in sides for one in episodes], terms.alpha)
            for sides in ([task.a for task in tasks], [task.b for task in tasks])
        )
        method: Literal["paired", "unpaired"] = "unpaired" if terms.unpaired else "paired"
        if blocked or not (a.n and b.n):
            return Row(key, "not comparable", method, a, b)
        difference = a.passed / a.n - b.passed / b.n
        if terms.unpaired:
            p = newcombe_p(a.passed, a.n, b.passed, b.n)
            row = Row(
                key,
                "not separated",
                method,
                a,
                b,
                difference,
                newcombe(a.passed, a.n, b.passed, b.n, terms.alpha),
                p=p,
                detectable=detectable_unpaired(
                    a.n, b.n, (a.passed + b.passed) / (a.n + b.n), terms.alpha, terms.power
                ),
            )
        else:
            pairs = [pair for task in tasks for pair in task.pairs or ()]
            seen = Counter((pair.a.has_passed, pair.b.has_passed) for pair in pairs)
            both, only_a, only_b = seen[True, True], seen[True, False], seen[False, True]
            row = Row(
                key,
                "not separated",
                method,
                a,
                b,
                (only_a - only_b) / len(pairs),
                newcombe_paired(both, only_a, only_b, seen[False, False], terms.alpha),
                len(pairs),
                only_a,
                only_b,
                mcnemar_p(only_a, only_b),
                detectable=detectable_paired(
                    len(pairs), (only_a + only_b) / len(pairs), terms.alpha, terms.power
                ),
            )
        return replace(row, verdict=_verdict(row.p, difference, terms.alpha))

    def _adjust(self, rows: list[Row]) -> list[Row]:
        """Adjust the p-values of tasks by Holm's method, and say which is better by those."""
        adjusted = iter(holm([row.p for row in rows if row.p is not None]))
        found = []
        for row in rows:
            if row.p is None or row.difference is None:
                found.append(row)
            else:
                p = next(adjusted)
                found.append(replace(row, p_holm=p, verdict=_verdict(p, row.difference, self._terms.alpha)))
        return found

    def _coverage(self, counted: Sequence[_Task]) -> list[Coverage]:
        keys = sorted({one.task for one in (*self._a.episodes, *self._b.episodes)})
        compared = {one.trace_id for task in counted if task.pairs != () for one in (*task.a, *task.b)}
        return [_cover(policy, key, compared) for key in (None, *keys) for policy in (self._a, self._b)]

    def _notes(self, tasks: Sequence[_Task], counted: Sequence[_Task]) -> list[str]:
        notes = [f"allowed: {one}" for task in tasks for one in task.allowed]
        notes += [f"left out: {one}" for task in tasks if task not in counted for one in task.obstacles]
        for name, policy in (("A", self._a), ("B", self._b)):
            used = [one for task in counted for one in (task.a if name == "A" else task.b)]
            starts = len({(one.task, one.initial_state) for one in used})
            if starts < len(used):
                plural = "" if starts == 1 else "s"
                notes.append(
                    f"{name}: {len(used)} rollouts, {starts} distinct initial state{plural}: the effective n "
                    "is smaller"
                )
            left = sum(one.is_judged for one in policy.episodes) - len(used)
            if left and not self._terms.unpaired:
                notes.append(f"{name}: {left} judged rollouts have no partner and are not compared")
        return notes


def _side(episodes: Sequence[Episode], alpha: float) -> Side:
    passed = sum(one.has_passed for one in episodes)
    return Side(len(episodes), passed, wilson(passed, len(episodes), alpha))


def _verdict(p: float | None, difference: float, alpha: float) -> Verdict:
    if p is None or p >= alpha or difference == 0:
        return "not separated"
    return "A better" if difference > 0 else "B better"


def _by_difference(row: Row) -> tuple[float, TaskKey]:
    return -abs(row.difference) if row.difference is not None else 1.0, row.task or ("", "")


def _profile(key: TaskKey | None, tasks: Sequence[_Task]) -> list[FirstFailed]:
    """What failed first, the most frequent first; of several tasks without arguments."""
    failed_a, failed_b = (
        [one for episodes in sides for one in episodes if not one.has_passed]
        for sides in ([task.a for task in tasks], [task.b for task in tasks])
    )
    seen_a, seen_b = (Counter(_action(one, key is not None) for one in ones) for ones in (failed_a, failed_b))
    rows = [
        FirstFailed(key, action, seen_a[action], len(failed_a), seen_b[action], len(failed_b))
        for action in seen_a | seen_b
    ]
    return sorted(rows, key=lambda row: (-(row.n_a + row.n_b), row.action))


def _action(one: Episode, with_arguments: bool) -> str:
    if one.first_failed is None:
        return NO_ACTION
    return one.first_failed if with_arguments else one.first_failed.partition("(")[0]


def _cover(policy: Policy, key: TaskKey | None, compared: set[str]) -> Coverage:
    episodes = policy.episodes if key is None else policy.of(key)
    outcomes = Counter(one.outcome for one in episodes)
    return Coverage(
        policy.name,
        key,
        len(episodes),
        sum(one.is_judged for one in episodes),
        sum(one.trace_id in compared for one in episodes),
        outcomes["undetermined"],
        outcomes["error"],
        outcomes["not_evaluated"],
        len({(one.task, one.initial_state) for one in episodes if one.is_judged}),
    )
