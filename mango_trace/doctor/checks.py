"""What is wrong with the runs of a task, or of a task and a policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from mango_trace.doctor.findings import Finding, Kind
from mango_trace.doctor.seen import Seen

_Key = TypeVar("_Key", bound=Hashable)


def check_policy(runs: Sequence[Seen], min_runs: int) -> Iterator[Finding]:
    """Find what is wrong with the runs of one policy on one task.

    Args:
        runs: All of them, at least one.
        min_runs: So many sound ones without an injected fault are enough.
    """
    sound = [one for one in runs if one.is_sound]

    def found(kind: Kind, bad: Sequence[Seen], what: str, of: Sequence[Seen] = sound) -> Iterator[Finding]:
        if bad:
            yield Finding(kind, runs[0].suite, runs[0].task, runs[0].policy, len(bad), len(of), what)

    unreadable = [one for one in runs if one.error is not None]
    yield from found("unreadable", unreadable, _examples(unreadable, lambda one: str(one.error)), runs)
    broken = [one for one in runs if one.error is None and one.record.metadata.ended == "error"]
    yield from found(
        "recording_error",
        broken,
        _examples(broken, lambda one: one.record.metadata.error or "no reason given"),
        runs,
    )
    invalid = [one for one in sound if one.problems]
    yield from found("invalid_states", invalid, _examples(invalid, lambda one: ", ".join(one.problems)))
    solved = [one for one in sound if one.starts_solved]
    yield from found(
        "success_at_start", solved, "the goal holds at the first state: " + _examples(solved, _where)
    )
    violated = [one for one in sound if one.violated]
    premises = sorted({text for one in violated for text in one.violated})
    yield from found("premise_violated", violated, f"init premise violated: {', '.join(premises)}")
    yield from _starts(sound, found)
    short = [one for one in sound if _is_cut_short(one)]
    yield from found("cut_short", short, _caps(short))
    faults = [one for one in sound if one.record.metadata.fault is not None]
    yield from found("injected_fault", faults, _tally(str(one.record.metadata.fault) for one in faults))
    bare = [one for one in sound if not one.has_rewards]
    yield from found("no_rewards", bare, "rewards are missing, or zero in a run that the live check passed")
    unknown = [one for one in sound if one.record.live_success is None]
    yield from found("no_live_check", unknown, "the benchmark's own check was not recorded")
    own = len(sound) - len(faults)
    if own < min_runs:
        what = f"{own} sound run{'' if own == 1 else 's'} without an injected fault, fewer than {min_runs}"
        yield Finding("few_runs", runs[0].suite, runs[0].task, runs[0].policy, own, len(runs), what)


def check_task(runs: Sequence[Seen]) -> Iterator[Finding]:
    """Find in what the runs of one task differ, other than in the policy.

    Args:
        runs: Those of all policies that are sound, at least one.
    """
    suite, task = runs[0].suite, runs[0].task
    numbered = [one for one in runs if one.record.metadata.init_state_id is not None]
    by_id = _grouped(numbered, lambda one: one.record.metadata.init_state_id)
    several = {key: ones for key, ones in by_id.items() if len({one.start for one in ones}) > 1}
    if several:
        bad = [one for ones in several.values() for one in ones]
        what = f"init state ids {_listed(several)} are other states in other runs"
        yield Finding("same_id_other_state", suite, task, None, len(bad), len(runs), what)
    by_start = _grouped(
        numbered, lambda one: (one.record.metadata.init_state_id, one.record.metadata.seed, one.start)
    )
    moved = {key: ones for key, ones in by_start.items() if len({one.placement for one in ones}) > 1}
    if moved:
        bad = [one for ones in moved.values() for one in ones]
        ids = {key[0] for key in moved}
        what = f"init state ids {_listed(ids)} of one seed have fixtures in other places in other runs"
        yield Finding("same_start_other_placement", suite, task, None, len(bad), len(runs), what)
    yield from _mixed("mixed_horizons", runs, lambda one: one.cap, "cut off after {} steps", task)
    yield from _mixed("mixed_scenes", runs, lambda one: one.record.scene[:12], "scene {}", task)


def check_suite(runs: Sequence[Seen]) -> Iterator[Finding]:
    """Find in what the runs of one suite differ that should be one for all.

    Args:
        runs: Those of all policies and tasks that are sound, at least one.
    """
    packages = sorted({name for one in runs for name in one.record.metadata.versions} | {"mujoco"})
    for name in packages:
        yield from _mixed(
            "mixed_versions",
            runs,
            lambda one, name=name: one.record.metadata.versions.get(name, "unknown"),  # type: ignore[misc]
            name + " {}",
        )
    yield from _mixed("mixed_robots", runs, _robot, "robot {}")
    yield from _mixed(
        "mixed_control",
        runs,
        lambda one: None if one.scene is None else (one.scene.control_hz, one.scene.substeps),
        "control Hz and substeps {}",
    )
    tasks = sorted({one.task for one in runs})
    for policy, ones in _grouped(runs, lambda one: one.policy).items():
        for task in sorted(set(tasks) - {one.task for one in ones}):
            n = sum(one.task == task for one in runs)
            yield Finding(
                "missing_task", runs[0].suite, task, policy, 0, n, "others ran it, this one did not"
            )


def _starts(
    sound: Sequence[Seen], found: Callable[[Kind, Sequence[Seen], str], Iterator[Finding]]
) -> Iterator[Finding]:
    """Runs that start, or go, as another one did."""
    groups = _grouped(sound, lambda one: (one.record.metadata.seed, one.record.metadata.fault))
    repeated, distinct = [], 0
    for ones in groups.values():
        first = {one.start: one for one in reversed(ones)}
        distinct += len(first)
        repeated += [one for one in ones if first[one.start] is not one]
    plural = "" if distinct == 1 else "s"
    by_seed = "" if len(groups) == 1 else ", counted for each seed and fault"
    starts = f"{distinct} distinct initial state{plural}{by_seed}"
    yield from found(
        "repeated_start", repeated, f"{len(sound)} episodes, {starts}: the effective n is smaller"
    )
    shared = [
        ones
        for ones in _grouped(sound, lambda one: one.start).values()
        if len({one.record.metadata.init_state_id for one in ones} - {None}) > 1
    ]
    ids = ({one.record.metadata.init_state_id for one in ones} for ones in shared)
    texts = [f"init state ids {_listed(each - {None})} are one state" for each in ids]
    yield from found("same_state_other_id", [one for ones in shared for one in ones], "; ".join(texts[:3]))
    runs = _grouped(sound, lambda one: (one.record.scene, one.record.checksums["state/qpos"], one.placement))
    again = [one for ones in runs.values() for one in ones[1:]]
    yield from found("identical_runs", again, f"bit-identical to an earlier run: {_examples(again, _where)}")


def _is_cut_short(one: Seen) -> bool:
    """Whether it failed, as somebody measured or claims, before steps ran out that a person needed."""
    longest = None if one.scene is None else one.scene.longest_demonstration
    if longest is None or one.cap is None:
        return False
    metadata, success = one.record.metadata, one.record.live_success
    failed = (metadata.source_label if success is None else success) is False
    return metadata.ended == "truncated" and failed and one.cap < longest


def _caps(short: Sequence[Seen]) -> str:
    if not short:
        return ""
    caps = _listed({one.record.metadata.horizon for one in short})
    longest = {one.scene.longest_demonstration for one in short if one.scene is not None}
    return f"truncated=True, cap={caps} < {_listed(longest)}, the longest demonstration"


def _robot(one: Seen) -> str | None:
    if one.scene is None:
        return None
    return "+".join([one.scene.robot, *sorted(hand.body for hand in one.scene.hands)])


def _mixed(
    kind: Kind, runs: Sequence[Seen], key: Callable[[Seen], Any], text: str, task: str | None = None
) -> Iterator[Finding]:
    """Runs that are not as most are; a value that is not known, ``None``, is like any other."""
    counts = Counter(value for value in map(key, runs) if value is not None)
    if len(counts) > 1:
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))
        what = ", ".join(f"{text.format(value)} ({n})" for value, n in ordered)
        others = sum(n for _, n in ordered[1:])
        yield Finding(kind, runs[0].suite, task, None, others, len(runs), what)


def _grouped(runs: Iterable[Seen], key: Callable[[Seen], _Key]) -> dict[_Key, list[Seen]]:
    groups: dict[_Key, list[Seen]] = {}
    for one in runs:
        groups.setdefault(key(one), []).append(one)
    return groups


def _where(one: Seen) -> str:
    metadata = one.record.metadata
    return f"episode {metadata.episode} of seed {metadata.seed}"


def _examples(runs: Sequence[Seen], text: Callable[[Seen], str], limit: int = 2) -> str:
    """Some runs with what is to say of them."""
    listed = "; ".join(f"{one.record.trace_id[:12]}: {text(one)}" for one in runs[:limit])
    return listed + (f"; and {len(runs) - limit} more" if len(runs) > limit else "")


def _tally(values: Iterable[str]) -> str:
    counts = sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))
    listed = ", ".join(f"{value} ({n})" for value, n in counts[:4])
    return listed + (f" and {len(counts) - 4} more" if len(counts) > 4 else "")


def _listed(values: Iterable[Any], limit: int = 8) -> str:
    ordered = sorted(values)
    more = f" and {len(ordered) - limit} more" if len(ordered) > limit else ""
    return ", ".join(map(str, ordered[:limit])) + more
