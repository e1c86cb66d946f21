"""Episodes of two policies, as a verdict database has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from mango_trace.errors import UsageError
from mango_trace.queries import Value, run_query

JUDGED: Final = ("passed", "failed")
"""Outcomes that a rate counts."""

TaskKey: TypeAlias = tuple[str, str]
"""Suite and task."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a database.

    Attributes:
        policy_a: Policy A, by name or ``name@version``.
        policy_b: Policy B.
        meaning: What success means, as in the query ``termination``.
        evaluator: Evaluator whose verdicts count; of the latest run, if empty.
        order_mode: Verdicts with ordering violations only reported, or strict.
        oracle: Fine-grained oracles by name or beginning of digest; all, if empty.
        faults: Whether traces with an injected fault count.
        tasks: Tasks to look at, each an index in its suite or a part of a name; all, if there are none.
    """

    policy_a: str
    policy_b: str
    meaning: str = "verdict"
    evaluator: str = ""
    order_mode: str = "report"
    oracle: str = ""
    faults: bool = False
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Episode:
    """One rollout with its outcome.

    Attributes:
        trace_id: The trace.
        task: Suite and task.
        seed: Seed of the recording.
        episode: Index of the episode.
        init_state_id: Initial state that it claims to start from, if the benchmark has such.
        initial_state: Digest of what it does start from; empty where it could not be read.
        fault: Fault that was injected, if one was.
        outcome: ``passed``, ``failed``, ``undetermined``, ``error`` or ``not_evaluated``.
        hold: States that success_held_k asks for, if that is the meaning.
        first_failed: First action that did not complete, of a fine-grained verdict.
        horizon: Policy steps after which it would be cut off, or that it ran.
        cap: The same, where it is known to be the limit.
        physics: Version of MuJoCo that it was recorded with, or ``unknown``.
        scene: Digest of its scene.
        oracles: Fine-grained oracles that judge its task.
        evaluator: Evaluator whose verdicts count.
        other_evaluators: Others that judged it.
    """

    trace_id: str
    task: TaskKey
    seed: int
    episode: int
    init_state_id: int | None
    initial_state: str
    fault: str | None
    outcome: str
    hold: int | None
    first_failed: str | None
    horizon: int
    cap: int | None
    physics: str
    scene: str
    oracles: tuple[str, ...]
    evaluator: str
    other_evaluators: tuple[str, ...]

    @property
    def is_judged(self) -> bool:
        """Whether a rate counts it."""
        return self.outcome in JUDGED

    @property
    def has_passed(self) -> bool:
        """Whether it passed."""
        return self.outcome == "passed"


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy with its episodes.

    Attributes:
        name: Name and version.
        episodes: In stored order.
    """

    name: str
    episodes: tuple[Episode, ...]

    def of(self, task: TaskKey) -> tuple[Episode, ...]:
        """Its episodes of a task."""
        return tuple(one for one in self.episodes if one.task == task)


def read_policies(database: Path | str, question: Question) -> tuple[Policy, Policy]:
    """Read the episodes of two policies.

    Args:
        database: The verdict database.
        question: What is asked.

    Raises:
        UnknownNameError: There is no such policy, meaning, evaluator or oracle.
        UsageError: A name stands for several versions, or both for the same, or no task is meant.
        DatabaseError: The file cannot be read as a verdict database.
    """
    parameters: dict[str, Value] = {
        "a": question.policy_a,
        "b": question.policy_b,
        "meaning": question.meaning,
        "evaluator": question.evaluator,
        "order_mode": question.order_mode,
        "oracle": question.oracle,
        "faults": question.faults,
    }
    rows = run_query(database, "episodes", parameters).records()
    names = [_full_name(given, rows) for given in (question.policy_a, question.policy_b)]
    if names[0] == names[1]:
        raise UsageError(f"A and B are the same policy, {names[0]}; two are needed")
    wanted = [row for row in rows if _is_wanted(row, question.tasks)]
    if rows and not wanted:
        known = sorted({str(row["task"]) for row in rows})
        raise UsageError(f"no task is {' or '.join(question.tasks)}; there are: {', '.join(known)}")
    merged = _merge(wanted, by_benchmark=question.meaning.startswith("benchmark"))
    policy_a, policy_b = (
        Policy(name, tuple(_episode(row) for row in merged if row["policy"] == name)) for name in names
    )
    return policy_a, policy_b


def _full_name(given: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Name and version of the one policy that a name stands for."""
    found = sorted({row["policy"] for row in rows if given in (row["policy"], row["policy_name"])})
    if not found:
        raise UsageError(
            f"policy {given} has no episode but such with an injected fault; --faults counts them"
        )
    if len(found) > 1 and given not in found:
        raise UsageError(f"policy {given} has several versions; say which: {', '.join(found)}")
    return given if given in found else str(found[0])


def _is_wanted(row: Mapping[str, Any], tasks: tuple[str, ...]) -> bool:
    if not tasks:
        return True
    return any(row["task_index"] == int(task) if task.isdecimal() else task in row["task"] for task in tasks)


def _merge(rows: Iterable[Mapping[str, Any]], *, by_benchmark: bool) -> list[dict[str, Any]]:
    """One row an episode: of what several oracles say, the outcome is the first one's, all are named."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        oracles = [] if row["oracle"] is None else [row["oracle"]]
        if row["trace_id"] not in found:
            found[row["trace_id"]] = {**row, "oracles": oracles}
        else:
            found[row["trace_id"]]["oracles"] += oracles
            if by_benchmark:  # which of the oracles should say what failed first?
                found[row["trace_id"]]["first_failed_action"] = None
    return list(found.values())


def _episode(row: Mapping[str, Any]) -> Episode:
    return Episode(
        trace_id=row["trace_id"],
        task=(row["suite"], row["task"]),
        seed=row["seed"],
        episode=row["episode"],
        init_state_id=row["init_state_id"],
        initial_state=row["initial_state"],
        fault=row["fault"],
        outcome=row["outcome"],
        hold=row["hold"],
        first_failed=row["first_failed_action"],
        horizon=row["horizon"],
        cap=row["cap"],
        physics=row["physics"],
        scene=row["scene"],
        oracles=tuple(row["oracles"]),
        evaluator=row["evaluator"],
        other_evaluators=tuple(row["other_evaluators"]),
    )
