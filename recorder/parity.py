"""Parity: every LIBERO predicate, offline, against LIBERO's own check on the same states.

For each task, states are taken from real physics: the arm moves at random (or by the scripted policy
where there is one), objects start where a random draw put them (in, on and beside regions and other
objects, fixtures opened and closed at random) and fall, slide and settle. On each state LIBERO's
simulator is set, ``forward`` is called and LIBERO's own functions are asked; the offline answer must be
the same. LIBERO's live check right after a step uses contacts that are one substep old, so it is not
what is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.scene.bddl import Literal
from mango_trace.scene.model import Scene
from mango_trace.signals import SceneKinematics, Signals
from mango_trace.truth import FALSE, TRUE
from recorder.adapters.libero import DUMMY_ACTION, LiberoAdapter, LiberoTask, make_env, seeded_reset
from recorder.policies.base import EpisodeContext, Policy
from recorder.policies.scripted import ScriptedPolicy
from recorder.policies.simple import RandomPolicy

_NEAR_M = 0.12
_KEPT_SHARE = 0.1
_SCRIPTED = frozenset({("libero_10", 0), ("libero_10", 3)})
"""Tasks of which every second episode is scripted; named here, so that a new plan changes no figure."""
_ARTICULATION = ("open", "close", "turnon", "turnoff")


@dataclass(slots=True)
class ParityCount:
    """What was compared.

    Attributes:
        states: States.
        goals: Goals compared, one a state.
        calls: Predicate calls by ``(predicate, LIBERO's answer)``; the goals are counted as ``goal``.
        mismatches: Calls whose answers differ.
        examples: The first few of them.
    """

    states: int = 0
    goals: int = 0
    calls: Counter[tuple[str, bool]] = field(default_factory=Counter)
    mismatches: int = 0
    examples: list[str] = field(default_factory=list)

    def merge(self, other: ParityCount) -> None:
        """Add another count to this one."""
        self.states += other.states
        self.goals += other.goals
        self.calls.update(other.calls)
        self.mismatches += other.mismatches
        self.examples.extend(other.examples[: 10 - len(self.examples)])


def check_task(task: LiberoTask, *, episodes: int, steps: int, every: int, seed: int) -> ParityCount:
    """Compare every predicate of a task's scene on states of several episodes.

    Args:
        task: The task.
        episodes: Episodes; every second one is scripted, for the tasks in ``_SCRIPTED``.
        steps: Control steps in each.
        every: Simulator substeps between two compared states.
        seed: Seed of everything random.

    Returns:
        What was compared.
    """
    env = make_env(task, steps + 1)
    adapter = LiberoAdapter()
    count = ParityCount()
    try:
        for episode in range(episodes):
            rng = np.random.default_rng([seed, episode, len(task.name)])
            policy = _policy(task, episode)
            seeded_reset(env, int(rng.integers(2**31)))
            env.set_init_state(_pick(task.init_states(), rng))
            if isinstance(policy, RandomPolicy):
                _scatter(env, adapter, rng)
            package, overrides = adapter.scene(env)
            states = _collect(env, policy, task, rng, steps, every)
            signals = SceneKinematics(package).signals(states, overrides=overrides)
            calls = _worth_asking(calls_of(package.scene), signals, rng)
            problem = package.problem
            assert problem is not None
            offline = {
                call: CATALOGUE[call.predicate].evaluate(signals, *call.arguments)
                for call in dict.fromkeys((*calls, *problem.goal))
            }
            _compare(env, states, offline, problem.goal, count, task.name)
    finally:
        env.close()
    return count


def calls_of(scene: Scene) -> tuple[Literal, ...]:
    """Every call of a LIBERO predicate that means something in a scene and that LIBERO can evaluate."""
    calls: list[Literal] = []
    movable = [item.name for item in scene.objects if item.kind == "object"]
    for region in scene.regions:
        calls.extend(Literal(name, (item, region.name)) for item in movable for name in ("in", "on"))
    calls.extend(Literal("on", pair) for pair in permutations([i.name for i in scene.objects], 2))
    calls.extend(Literal("up", (item.name,)) for item in scene.objects)
    for rule in _ARTICULATION:
        check = CATALOGUE[rule].check
        assert check is not None
        named: list[str] = [item.name for item in scene.objects if item.kind == "fixture"]
        named += [region.name for region in scene.regions]
        calls.extend(Literal(rule, (name,)) for name in named if check(scene, name) is None)
    return tuple(calls)


def _worth_asking(calls: Sequence[Literal], signals: Signals, rng: np.random.Generator) -> list[Literal]:
    """All calls but those of things that are never near each other, of which a few are kept.

    LIBERO answers a call in up to a millisecond, and most pairs of things never meet.
    """
    kept = []
    for call in calls:
        if len(call.arguments) == 2:
            first, second = (signals.position(name)[:, :2] for name in call.arguments)
            if np.linalg.norm(first - second, axis=1).min() > _NEAR_M and rng.random() > _KEPT_SHARE:
                continue
        kept.append(call)
    return kept


def _policy(task: LiberoTask, episode: int) -> Policy:
    scripted = episode % 2 and (task.suite, task.index) in _SCRIPTED
    return ScriptedPolicy() if scripted else RandomPolicy()


def _pick(states: npt.NDArray[np.float64], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return np.asarray(states[rng.integers(len(states))])


def _scatter(env: Any, adapter: LiberoAdapter, rng: np.random.Generator) -> None:
    """Put objects and joints somewhere from where they fall into, onto and beside things."""
    model, data = adapter.physics(env)
    scene = adapter.scene(env)[0].scene
    mujoco.mj_forward(model, data)
    places = [data.site(item.site).xpos.copy() for item in scene.regions]
    places += [data.body(item.body).xpos.copy() for item in scene.objects]
    for item in scene.objects:
        for joint in item.joints:
            low, high = model.joint(joint).range
            value = rng.choice([low, high, rng.uniform(low, high), rng.uniform(low, high)])
            data.joint(joint).qpos[0] = value
        if item.kind == "object" and rng.random() < 0.6:
            joint = data.joint(int(model.body_jntadr[model.body(item.body).id]))
            spread = rng.choice([0.002, 0.02, 0.06])
            joint.qpos[:3] = places[rng.integers(len(places))] + rng.normal(scale=spread, size=3)
            joint.qpos[2] += rng.choice([0.0, 0.02, 0.08])
    mujoco.mj_forward(model, data)


def _collect(
    env: Any, policy: Policy, task: LiberoTask, rng: np.random.Generator, steps: int, every: int
) -> dict[str, npt.NDArray[np.float64]]:
    """States of one episode, sampled between the control steps too."""
    sim = env.sim
    rows: list[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]] = []
    plain_step, counter = sim.step, 0

    def step(*args: Any, **kwargs: Any) -> Any:
        nonlocal counter
        result = plain_step(*args, **kwargs)
        counter += 1
        if counter % every == 0:
            data = sim.data._data
            rows.append((data.qpos.copy(), data.qvel.copy()))
        return result

    sim.step = step
    try:
        context = EpisodeContext(
            env=env,
            suite=task.suite,
            task_index=task.index,
            task=task.name,
            instruction=task.instruction,
            episode=0,
            seed=int(rng.integers(2**31)),
            action_dim=len(DUMMY_ACTION),
        )
        policy.reset(context)
        for _ in range(steps):
            env.step(policy.act({}))
            if policy.finished:
                break
    finally:
        sim.step = plain_step
    qpos, qvel = zip(*rows, strict=True)
    # Each state is compared by itself: scattered objects may make MuJoCo diverge and reset, and what
    # follows is still a state that both sides can be asked about.
    return {"time": np.arange(len(rows), dtype=np.float64), "qpos": np.array(qpos), "qvel": np.array(qvel)}


def _compare(
    env: Any,
    states: dict[str, npt.NDArray[np.float64]],
    offline: dict[Literal, npt.NDArray[np.uint8]],
    goal: Sequence[Literal],
    count: ParityCount,
    task: str,
) -> None:
    for index in range(len(states["qpos"])):
        flat = np.concatenate([[states["time"][index]], states["qpos"][index], states["qvel"][index]])
        env.set_state(flat)
        env.sim.forward()
        count.states += 1
        for call, truth in offline.items():
            theirs = bool(env.env._eval_predicate([call.predicate, *call.arguments]))
            count.calls[call.predicate, theirs] += 1
            if truth[index] != (TRUE if theirs else FALSE):
                _note(count, f"{task} state {index}: {call} is {theirs} in LIBERO")
        theirs = bool(env.check_success())
        ours = all(offline[call][index] == TRUE for call in goal)
        count.goals += 1
        count.calls["goal", theirs] += 1
        if ours != theirs:
            _note(count, f"{task} state {index}: the goal is {theirs} in LIBERO")


def _note(count: ParityCount, text: str) -> None:
    count.mismatches += 1
    if len(count.examples) < 10:
        count.examples.append(text)


def rows_of(count: ParityCount) -> Iterator[dict[str, object]]:
    """The count as rows: predicate, calls, how often true and false."""
    for name in sorted({name for name, _ in count.calls}):
        true, false = count.calls[name, True], count.calls[name, False]
        yield {"predicate": name, "calls": true + false, "true": true, "false": false}


__all__ = ["ParityCount", "calls_of", "check_task", "rows_of"]
