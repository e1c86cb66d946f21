"""Judging traces with every oracle that is for them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from mango_trace.oracle import CompiledMonitor, CompiledOracle, judge, judge_settled, termination
from mango_trace.oracle.decide import Order
from mango_trace.oracle.goal import EndState, judge_goal
from mango_trace.oracle.semantics import Judgement, Termination
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.predicates.signature import Need
from mango_trace.scene.model import Scene
from mango_trace.signals import SceneKinematics, Signals, TraceStates, Validity
from mango_trace.store import Trace
from mango_trace.truth import FALSE, UNDETERMINED, Mask, Truth, all_of, possibly, surely

BATCH_STATES: Final = 16384
"""States that are judged together, at most, unless a single trace has more: enough that the work for an array
is more than the work of calling for it, few enough that memory is bounded."""


class Monitors:
    """Truth of predicate calls over all states of a batch, each computed once.

    Args:
        signals: Arrays of the batch.
    """

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self._truths: dict[str, Truth] = {}

    def call_truth(self, monitor: CompiledMonitor) -> Truth:
        """Truth of the predicate call that a monitor watches, ``(T,)``."""
        if monitor.call not in self._truths:
            self._truths[monitor.call] = self._evaluate(monitor, self._signals)
        return self._truths[monitor.call]

    def decide(self, oracles: Sequence[CompiledOracle], everywhere: Mask) -> None:
        """Compute all calls of some oracles only as far as conjunctions of their monitors depend on them.

        Cheap calls come first. What touches what is then looked for only in states in which all monitors of
        an action that are known already may hold; elsewhere the action does not hold, whatever it says.
        :meth:`call_truth` gives any value there.

        Args:
            oracles: All oracles that the calls are asked for.
            everywhere: States in which every call is to be told, ``(T,)``.
        """
        actions = [
            [compiled.monitors[index] for index in action.monitors]
            for compiled in oracles
            for action in compiled.actions
        ]
        never = [compiled.monitors[index] for compiled in oracles for index in compiled.never]
        calls = {monitor.call: monitor for monitor in (*never, *itertools.chain.from_iterable(actions))}
        for call in sorted(calls, key=lambda call: _cost(calls[call])):
            if call in self._truths:
                continue
            monitor, signals = calls[call], self._signals
            if Need.CONTACT in monitor.predicate.needs and all(one.call != call for one in never):
                needed = everywhere.copy()
                for monitors in actions:
                    if any(one.call == call for one in monitors):
                        known = [one for one in monitors if one.call in self._truths]
                        holds = [possibly(one.apply(self._truths[one.call])) for one in known]
                        needed |= np.logical_and.reduce(holds) if holds else True
                signals = signals.within(needed)
            self._truths[call] = self._evaluate(monitor, signals)

    def _evaluate(self, monitor: CompiledMonitor, signals: Signals) -> Truth:
        with np.errstate(invalid="ignore", over="ignore"):  # states that are not judged anyway
            truth: Truth = monitor.predicate.evaluate(signals, *monitor.arguments)
        return truth


def _cost(monitor: CompiledMonitor) -> tuple[bool, int, str]:
    """What is cheap first; of contacts, those between two things, whose poses rule most states out."""
    names = sum(isinstance(argument, str) for argument in monitor.arguments)
    return Need.CONTACT in monitor.predicate.needs, -names, monitor.call


class _OneTrace:
    """What the monitors say of one trace of the batch, and which ones it asked for."""

    def __init__(self, monitors: Monitors, states: slice) -> None:
        self._monitors, self._states = monitors, states
        self.truths: dict[str, Truth] = {}

    def truth(self, monitor: CompiledMonitor) -> Truth:
        """Truth of a monitor, negation applied, ``(T,)``."""
        if monitor.call not in self.truths:
            self.truths[monitor.call] = self._monitors.call_truth(monitor)[self._states]
        return monitor.apply(self.truths[monitor.call])


@dataclass(frozen=True, slots=True)
class OracleVerdict:
    """One fine-grained oracle on one trace.

    Attributes:
        compiled: The oracle.
        judgement: Its outcome with the evidence.
        termination: What other meanings of success say.
    """

    compiled: CompiledOracle
    judgement: Judgement
    termination: Termination


@dataclass(frozen=True, slots=True)
class TraceVerdict:
    """Everything that is found out about one trace.

    Attributes:
        oracles: Fine-grained verdicts.
        end_state: The benchmark's goal, or ``None`` when the scene has none.
        lag_states: States at which the benchmark's live check said otherwise.
        violated_premises: Premises of the task that fail once the objects have settled.
        undetermined_premises: Premises that cannot be told.
        truths: Truth of every predicate call, by its canonical text; none where only verdicts were asked.
    """

    oracles: tuple[OracleVerdict, ...]
    end_state: EndState | None
    lag_states: int | None
    violated_premises: tuple[str, ...]
    undetermined_premises: tuple[str, ...]
    truths: dict[str, Truth]


@dataclass(frozen=True, slots=True)
class Task:
    """What a scene's task asks of every trace.

    Attributes:
        goal: The benchmark's goal, or ``None``.
        premises: What should hold once the objects have settled.
    """

    goal: CompiledOracle | None
    premises: Mapping[str, tuple[CompiledMonitor, ...]]


def judge_batch(
    traces: Sequence[Trace],
    states: Sequence[TraceStates],
    kinematics: SceneKinematics,
    oracles: Sequence[Sequence[CompiledOracle]],
    task: Task,
    *,
    order: Order,
    hold: int,
    rules: bool = False,
    intervals: bool = True,
) -> list[tuple[TraceVerdict, Validity]]:
    """Judge some traces of one scene.

    Args:
        traces: The traces.
        states: Their states (:func:`states_of`), which can be in one batch.
        kinematics: Their scene.
        oracles: For each trace its fine-grained oracles, compiled against the scene.
        task: Goal and premises.
        order: ``report`` or ``strict``.
        hold: States that the held-k meaning of success asks for.
        rules: Also compute the geometric counterpart of every benchmark rule that is asked.
        intervals: Compute every monitor at every state. Else only what the verdicts depend on is computed,
            and no truths are returned.

    Returns:
        For each trace the verdicts with their evidence, and which states were sound.

    Raises:
        SceneError: States or overrides do not fit the scene.
    """
    premises = _premises(states, kinematics, task.premises)
    signals = kinematics.batch(states)
    monitors = Monitors(signals)
    if not intervals:
        distinct = {one.digest: one for found in oracles for one in found}
        last = np.zeros(signals.n_states, dtype=np.bool_)
        last[signals.starts[1:][np.diff(signals.starts) > 0] - 1] = True
        monitors.decide([*distinct.values(), *([task.goal] if task.goal else [])], last)
    spans = [
        (int(first), int(first) + trace.metadata.warmup_steps, int(stop))
        for first, stop, trace in zip(signals.starts[:-1], signals.starts[1:], traces, strict=True)
    ]
    judged = _judge_settled(oracles, monitors, spans, order, hold)
    found = []
    for index, trace in enumerate(traces):
        one = _OneTrace(monitors, slice(signals.starts[index], signals.starts[index + 1]))
        start = trace.metadata.warmup_steps
        verdicts = []
        for compiled in oracles[index]:
            truths = [one.truth(monitor) for monitor in compiled.monitors]
            known = judged[compiled.digest, index]
            if known is None:
                known = (
                    judge(compiled, truths, start=start, order=order),
                    termination(compiled, truths, start, hold),
                )
            verdicts.append(OracleVerdict(compiled, *known))
        end_state = lag = None
        if task.goal is not None:
            truths = [one.truth(monitor) for monitor in task.goal.monitors]
            # The benchmark looks after a step; the state before the policy's first one is not asked.
            end_state = judge_goal(truths, start=start + 1)
            lag = _lag(all_of(*truths), trace)
        if rules:
            _ask_counterparts(one, signals.scene, oracles[index], task.goal)
        violated, unknown = premises[index]
        truths_of_calls = one.truths if intervals else {}
        verdict = TraceVerdict(tuple(verdicts), end_state, lag, violated, unknown, truths_of_calls)
        found.append((verdict, signals.validity[index]))
    return found


def _judge_settled(
    oracles: Sequence[Sequence[CompiledOracle]],
    monitors: Monitors,
    spans: Sequence[tuple[int, int, int]],
    order: Order,
    hold: int,
) -> dict[tuple[str, int], tuple[Judgement, Termination] | None]:
    """Judge every trace by every oracle that is for it, all traces of an oracle together."""
    distinct = {compiled.digest: compiled for found in oracles for compiled in found}
    judged = {}
    for digest, compiled in distinct.items():
        members = [i for i, found in enumerate(oracles) if any(one.digest == digest for one in found)]
        truths = [monitor.apply(monitors.call_truth(monitor)) for monitor in compiled.monitors]
        answers = judge_settled(compiled, truths, [spans[i] for i in members], order=order, hold=hold)
        judged.update({(digest, i): answer for i, answer in zip(members, answers, strict=True)})
    return judged


def batches_of(states: Sequence[TraceStates]) -> Iterator[list[int]]:
    """Put traces into batches: with the same components and shapes, and of bounded size.

    Args:
        states: States of each trace.

    Yields:
        Indices of the traces of a batch, in order; at most :data:`BATCH_STATES` states, unless one trace has
        more.
    """
    groups: dict[str, list[int]] = {}
    for index, one in enumerate(states):
        groups.setdefault(one.batch_key, []).append(index)
    for members in groups.values():
        batch: list[int] = []
        total = 0
        for index in members:
            size = len(states[index].states["qpos"])
            if batch and total + size > BATCH_STATES:
                yield batch
                batch, total = [], 0
            batch.append(index)
            total += size
        yield batch


def states_of(trace: Trace) -> TraceStates:
    """A trace's states as signals are computed from them."""
    return TraceStates(trace.signals_input, trace.metadata.overrides, trace.metadata.warmup_steps)


def _ask_counterparts(
    asked: _OneTrace,
    scene: Scene,
    oracles: Sequence[CompiledOracle],
    goal: CompiledOracle | None,
) -> None:
    """Compute what the geometric rules say where benchmark rules were asked."""
    for compiled in (*oracles, *([goal] if goal else [])):
        for monitor in compiled.monitors:
            if monitor.predicate.geometric is None:
                continue
            other = CATALOGUE[monitor.predicate.geometric]
            names = zip(monitor.arguments, other.parameters, strict=True)
            if all(scene.kind_of(str(name)) in parameter.kinds for name, parameter in names):
                asked.truth(CompiledMonitor(other, monitor.arguments))


def _lag(holds: Truth, trace: Trace) -> int | None:
    """States at which live and recomputed check differ: live contacts are one substep old."""
    given = trace.success <= 1
    if not given.any():
        return None
    differs = surely(holds[1:]) != (trace.success == 1)
    return int((differs & given).sum())


def when_settled(
    traces: Sequence[TraceStates],
    kinematics: SceneKinematics,
    conditions: Mapping[str, Sequence[CompiledMonitor]],
) -> dict[str, Truth]:
    """Truth of some conditions at the first state after the warm-up.

    Args:
        traces: States of each trace, which can be in one batch.
        kinematics: Their scene.
        conditions: Monitors whose conjunction is each condition, by its text.

    Returns:
        For each condition its truth in every trace, ``(len(traces),)``.

    Raises:
        SceneError: States or overrides do not fit the scene.
    """
    settled = [trace.only(min(trace.settled, len(trace.states["qpos"]) - 1)) for trace in traces]
    monitors = Monitors(kinematics.batch(settled))
    return {
        text: all_of(*(part.apply(monitors.call_truth(part)) for part in parts))
        for text, parts in conditions.items()
    }


def _premises(
    traces: Sequence[TraceStates],
    kinematics: SceneKinematics,
    premises: Mapping[str, tuple[CompiledMonitor, ...]],
) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Premises that each trace violates and those that cannot be told, at its settled state."""
    if not premises:
        return [((), ())] * len(traces)
    truths = when_settled(traces, kinematics, premises)
    return [
        (
            tuple(text for text, truth in truths.items() if truth[index] == FALSE),
            tuple(text for text, truth in truths.items() if truth[index] == UNDETERMINED),
        )
        for index in range(len(traces))
    ]
