"""Judging one trace with every oracle that is for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mango_trace.oracle import CompiledMonitor, CompiledOracle, judge, termination
from mango_trace.oracle.decide import Order
from mango_trace.oracle.goal import EndState, judge_goal
from mango_trace.oracle.semantics import Judgement, Termination
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.scene.model import Scene
from mango_trace.signals import Signals
from mango_trace.store import Trace
from mango_trace.truth import UNDETERMINED, Truth, all_of, surely


class Monitors:
    """Truth of predicate calls over one trace, each computed once.

    Args:
        signals: Arrays of the trace.
    """

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self.truths: dict[str, Truth] = {}

    def truth(self, monitor: CompiledMonitor) -> Truth:
        """Truth of a monitor, negation applied, ``(T,)``."""
        call = monitor.call
        if call not in self.truths:
            with np.errstate(invalid="ignore", over="ignore"):  # states that are not judged anyway
                self.truths[call] = monitor.predicate.evaluate(self._signals, *monitor.arguments)
        return monitor.apply(self.truths[call])


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
        truths: Truth of every predicate call, by its canonical text.
    """

    oracles: tuple[OracleVerdict, ...]
    end_state: EndState | None
    lag_states: int | None
    violated_premises: tuple[str, ...]
    undetermined_premises: tuple[str, ...]
    truths: dict[str, Truth]


def judge_trace(
    trace: Trace,
    signals: Signals,
    oracles: Sequence[CompiledOracle],
    goal: CompiledOracle | None,
    premises: dict[str, tuple[CompiledMonitor, ...]],
    *,
    order: Order,
    hold: int,
    rules: bool = False,
) -> TraceVerdict:
    """Judge a trace.

    Args:
        trace: The trace.
        signals: Its signals.
        oracles: Fine-grained oracles, compiled against its scene.
        goal: The benchmark's goal.
        premises: What should hold once settled.
        order: ``report`` or ``strict``.
        hold: States that the held-k meaning of success asks for.
        rules: Also compute the geometric counterpart of every benchmark rule that is asked.

    Returns:
        The verdicts with their evidence.
    """
    monitors = Monitors(signals)
    start = trace.metadata.warmup_steps
    verdicts = []
    for compiled in oracles:
        truths = [monitors.truth(monitor) for monitor in compiled.monitors]
        verdicts.append(
            OracleVerdict(
                compiled,
                judge(compiled, truths, start=start, order=order),
                termination(compiled, truths, start, hold),
            )
        )
    end_state = lag = None
    if goal is not None:
        truths = [monitors.truth(monitor) for monitor in goal.monitors]
        # The benchmark looks after a step; the state before the policy's first one is not asked.
        end_state = judge_goal(truths, start=start + 1)
        lag = _lag(all_of(*truths), trace)
    if rules:
        _ask_counterparts(monitors, signals.scene, oracles, goal)
    violated, unknown = _premises(Monitors(signals), premises, start)
    return TraceVerdict(tuple(verdicts), end_state, lag, violated, unknown, monitors.truths)


def _ask_counterparts(
    monitors: Monitors,
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
                monitors.truth(CompiledMonitor(other, monitor.arguments))


def _lag(holds: Truth, trace: Trace) -> int | None:
    """States at which live and recomputed check differ: live contacts are one substep old."""
    given = trace.success <= 1
    if not given.any():
        return None
    differs = surely(holds[1:]) != (trace.success == 1)
    return int((differs & given).sum())


def _premises(
    monitors: Monitors, premises: dict[str, tuple[CompiledMonitor, ...]], settled: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    violated, unknown = [], []
    for text, parts in premises.items():
        holds = all_of(*(monitors.truth(part) for part in parts))
        state = min(settled, len(holds) - 1)
        if holds[state] == UNDETERMINED:
            unknown.append(text)
        elif not surely(holds)[state]:
            violated.append(text)
    return tuple(violated), tuple(unknown)
