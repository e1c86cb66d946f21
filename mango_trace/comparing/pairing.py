"""Which episodes of two policies belong together, and what forbids to compare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from mango_trace.comparing.episodes import Episode, Policy, TaskKey

Difference: TypeAlias = Literal[
    "task", "starts", "initial_state", "horizon", "physics", "scene", "evaluator", "oracles", "hold", "mix"
]
"""In what two policies differ, other than in how good they are."""

ALLOWABLE: Final[tuple[Difference, ...]] = ("horizon", "physics", "scene")
"""Differences that a caller may allow."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something that forbids to compare two policies.

    Attributes:
        kind: What differs.
        task: Suite and task; ``None`` for all of them together.
        what: How it differs.
    """

    kind: Difference
    task: TaskKey | None
    what: str

    def __str__(self) -> str:
        return self.what if self.task is None else f"{' '.join(self.task)}: {self.what}"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two episodes from the same start.

    Attributes:
        a: Of policy A.
        b: Of policy B.
    """

    a: Episode
    b: Episode


def make_pairs(of_a: Sequence[Episode], of_b: Sequence[Episode], *, any_seed: bool = False) -> list[Pair]:
    """Pair the judged episodes of a task.

    Two belong together if they have the same initial state id (the same index of the episode, where the
    benchmark has no such ids), seed and injected fault. Where one policy ran several times so, the k-th of
    one goes with the k-th of the other. Episodes that were not judged take no place.

    Args:
        of_a: Episodes of policy A.
        of_b: Episodes of policy B, of the same task.
        any_seed: Leave the seed out.
    """
    groups_a, groups_b = (_by_start(episodes, any_seed) for episodes in (of_a, of_b))
    return [
        Pair(a, b)
        for start, ones in groups_a.items()
        for a, b in zip(ones, groups_b.get(start, ()), strict=False)
    ]


def _by_start(episodes: Sequence[Episode], any_seed: bool) -> dict[tuple[Any, ...], list[Episode]]:
    groups: dict[tuple[Any, ...], list[Episode]] = {}
    for one in sorted(filter(_is_judged, episodes), key=lambda one: (one.seed, one.episode, one.trace_id)):
        groups.setdefault(_start(one, any_seed), []).append(one)
    return groups


def _start(one: Episode, any_seed: bool) -> tuple[Any, ...]:
    state = ("episode", one.episode) if one.init_state_id is None else ("init state", one.init_state_id)
    return (*state, one.fault, None if any_seed else one.seed)


def obstacles_of_task(
    task: TaskKey, a: Policy, b: Policy, pairs: Sequence[Pair] | None, *, by_benchmark: bool, any_seed: bool
) -> list[Obstacle]:
    """What forbids to compare two policies on one task.

    Args:
        task: The task.
        a: Policy A.
        b: Policy B.
        pairs: Its pairs; ``None`` if the policies are compared without.
        by_benchmark: Whether the benchmark's goal says what passed, so that no oracle is needed.
        any_seed: Whether pairs may differ in their seeds.
    """
    every_a, every_b = a.of(task), b.of(task)
    of_a, of_b = _judged(every_a), _judged(every_b)
    found = list(_judging(task, every_a, every_b, by_benchmark))
    for name, every, judged in (("A", every_a, of_a), ("B", every_b, of_b)):
        if not judged:
            ran = f"{len(every)} rollouts, none of them judged" if every else "no rollouts"
            found.append(Obstacle("task", task, f"policy {name} has {ran}"))
    if not (of_a and of_b):
        return found
    if pairs is None:
        return [*found, *_of_groups(task, of_a, of_b)]
    if not pairs:
        return [*found, _no_pairs(task, of_a, of_b, any_seed)]
    return [*found, *_of_pairs(task, pairs)]


def _judging(
    task: TaskKey, of_a: Sequence[Episode], of_b: Sequence[Episode], by_benchmark: bool
) -> Iterable[Obstacle]:
    """What differs in how the two were judged."""
    for name, episodes in (("A", of_a), ("B", of_b)):
        elsewhere = [one for one in episodes if one.outcome == "not_evaluated" and one.other_evaluators]
        if elsewhere:
            others = sorted({other for one in elsewhere for other in one.other_evaluators})
            yield Obstacle(
                "evaluator",
                task,
                f"evaluator differs: {len(elsewhere)} rollouts of {name} were judged by {', '.join(others)}, "
                f"not by {elsewhere[0].evaluator}; evaluate them again",
            )
    oracles = sorted({oracle for one in (*of_a, *of_b) for oracle in one.oracles})
    if len(oracles) > 1 and not by_benchmark:
        yield Obstacle(
            "oracles", task, f"several oracles judge it, choose one with --oracle: {', '.join(oracles)}"
        )
    holds = sorted({one.hold for one in (*_judged(of_a), *_judged(of_b)) if one.hold is not None})
    if len(holds) > 1:
        yield Obstacle("hold", task, f"held for k states means different k: {', '.join(map(str, holds))}")


def _of_pairs(task: TaskKey, pairs: Sequence[Pair]) -> Iterable[Obstacle]:
    checks: list[tuple[Difference, str, Callable[[Pair], bool], Callable[[Episode], object]]] = [
        ("initial_state", "initial state", lambda p: p.a.initial_state != p.b.initial_state, _state),
        ("horizon", "horizon", lambda p: _caps_differ(p.a, p.b), lambda one: one.cap or one.horizon),
        ("physics", "MuJoCo version, if known,", _physics_differ, lambda one: one.physics),
        ("scene", "scene", lambda p: p.a.scene != p.b.scene, lambda one: one.scene[:12]),
    ]
    for kind, name, differs, shown in checks:
        bad = [pair for pair in pairs if differs(pair)]
        if bad:
            first = bad[0]
            yield Obstacle(
                kind,
                task,
                f"{name} differs in {len(bad)} of {len(pairs)} pairs, first in {_name(first.a)}: "
                f"A {shown(first.a)}, B {shown(first.b)}",
            )


def _of_groups(task: TaskKey, of_a: Sequence[Episode], of_b: Sequence[Episode]) -> Iterable[Obstacle]:
    caps_a, caps_b = (sorted({one.cap for one in ones if one.cap is not None}) for ones in (of_a, of_b))
    longest_a, longest_b = (max(one.horizon for one in ones) for ones in (of_a, of_b))
    beyond = (caps_a and longest_b > caps_a[-1]) or (caps_b and longest_a > caps_b[-1])
    if (caps_a and caps_b and caps_a != caps_b) or beyond:
        texts = (_listed(caps or [longest]) for caps, longest in ((caps_a, longest_a), (caps_b, longest_b)))
        yield Obstacle("horizon", task, "horizon differs: A {}, B {}".format(*texts))
    physics_a, physics_b = ({one.physics for one in ones} for ones in (of_a, of_b))
    if len(physics_a | physics_b) > 1 or "unknown" in physics_a:
        listed = f"A {_listed(physics_a)}, B {_listed(physics_b)}"
        yield Obstacle("physics", task, f"MuJoCo version, if known, differs: {listed}")
    scenes_a, scenes_b = ({one.scene[:12] for one in ones} for ones in (of_a, of_b))
    if scenes_a != scenes_b:
        yield Obstacle("scene", task, f"scene differs: A {_listed(scenes_a)}, B {_listed(scenes_b)}")


def _no_pairs(task: TaskKey, of_a: Sequence[Episode], of_b: Sequence[Episode], any_seed: bool) -> Obstacle:
    """Why nothing pairs."""
    seeds_a, seeds_b = ({one.seed for one in ones} for ones in (of_a, of_b))
    if not any_seed and not seeds_a & seeds_b:
        return Obstacle(
            "starts",
            task,
            f"no pairs: seed of A {_listed(seeds_a)}, of B {_listed(seeds_b)}; --any-seed pairs by initial "
            "state alone",
        )
    starts_a, starts_b = (
        {one.episode if one.init_state_id is None else one.init_state_id for one in ones}
        for ones in (of_a, of_b)
    )
    return Obstacle(
        "starts", task, f"no pairs: initial states of A {_listed(starts_a)}, of B {_listed(starts_b)}"
    )


def _caps_differ(a: Episode, b: Episode) -> bool:
    """Whether one got more steps than the other, as far as can be told."""
    if a.cap is not None and b.cap is not None:
        return a.cap != b.cap
    if a.cap is None and b.cap is None:
        return False
    return b.horizon > a.cap if a.cap is not None else a.horizon > (b.cap or 0)


def _physics_differ(pair: Pair) -> bool:
    return pair.a.physics != pair.b.physics or pair.a.physics == "unknown"


def _state(one: Episode) -> str:
    return one.initial_state or "not read"


def _name(one: Episode) -> str:
    start = f"episode {one.episode}" if one.init_state_id is None else f"init state {one.init_state_id}"
    return f"{start} of seed {one.seed}"


def _is_judged(one: Episode) -> bool:
    return one.is_judged


def _judged(episodes: Iterable[Episode]) -> list[Episode]:
    return [one for one in episodes if one.is_judged]


def _listed(values: Iterable[Any], limit: int = 6) -> str:
    ordered = sorted(values)
    more = f" and {len(ordered) - limit} more" if len(ordered) > limit else ""
    return ", ".join(map(str, ordered[:limit])) + more
