"""Putting oracles to the test: recorded traces of one scene and their mutants, judged together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from mango_trace.evaluation.judging import Task, TraceVerdict, batches_of, judge_batch, states_of
from mango_trace.evaluation.shard import Workplace
from mango_trace.oracle import CompiledOracle, Judgement
from mango_trace.oracle.goal import EndState
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.proving.gate import MutantSeen, SourceSeen
from mango_trace.proving.mutants import (
    Event,
    Kind,
    Mutant,
    mutants_of,
    order_mutants_of,
    stand_still,
    way_mutants_of,
)
from mango_trace.proving.things import (
    Thing,
    declares_order,
    declares_way,
    free_things,
    thing_of,
    things_of_actions,
)
from mango_trace.store import Trace
from mango_trace.truth import FALSE, all_of, possibly, surely

Seen: TypeAlias = tuple[str, SourceSeen | MutantSeen]
"""Digest of an oracle, and what it said."""

_Judged: TypeAlias = Mapping[str, Judgement]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A recorded trace with the oracles that are for it.

    Attributes:
        trace_id: The trace.
        trace: Its numbers.
        oracles: Its oracles, compiled against its scene, each once.
    """

    trace_id: str
    trace: Trace
    oracles: tuple[CompiledOracle, ...]


@dataclass(frozen=True, slots=True)
class _Made:
    """A mutant with its source and what the oracles said of that."""

    mutant: Mutant
    source: Candidate
    judged: _Judged


class Trial:
    """Judges recorded traces of a scene, and mutants of those that succeeded.

    Args:
        workplace: The scene.
    """

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace
        self._scene, self._model = workplace.package.scene, workplace.kinematics.model
        self._goal = workplace.task.goal
        self._about: dict[str, tuple[Thing | None, ...]] = {}

    def run(self, candidates: Sequence[Candidate]) -> Iterator[Seen]:
        """Judge some traces and their mutants.

        Args:
            candidates: The traces.

        Yields:
            What each oracle said of each trace and of each mutant.
        """
        verdicts = self._judge([(one.trace, one.oracles) for one in candidates], intervals=True)
        made: list[_Made] = []
        for candidate, verdict in zip(candidates, verdicts, strict=True):
            judged = {found.compiled.digest: found.judgement for found in verdict.oracles}
            made += [_Made(mutant, candidate, judged) for mutant in self._mutants(candidate, verdict)]
        idle = [_Made(self._idle(one), one, {}) for one in candidates]
        undone = set()
        for one, verdict in self._tried(idle, intervals=False):
            if verdict.end_state is not None and verdict.end_state.at_end == "failed":
                undone.add(one.source.trace_id)
            yield from self._seen(one, verdict)
        for candidate, verdict in zip(candidates, verdicts, strict=True):
            yield from _sources(candidate, verdict, candidate.trace_id in undone)
        # Where something first held is asked of mutants in another order alone.
        for intervals in (False, True):
            part = [one for one in made if (one.mutant.kind is Kind.ORDER) is intervals]
            for one, verdict in self._tried(part, intervals=intervals):
                yield from self._seen(one, verdict)

    def _tried(self, made: Sequence[_Made], *, intervals: bool) -> Iterator[tuple[_Made, TraceVerdict]]:
        items = [(one.mutant.trace, one.source.oracles) for one in made]
        return zip(made, self._judge(items, intervals=intervals), strict=True)

    def _judge(
        self, items: Sequence[tuple[Trace, tuple[CompiledOracle, ...]]], *, intervals: bool
    ) -> list[TraceVerdict]:
        """Verdicts in the order of the items, as many judged together as can be."""
        found: dict[int, TraceVerdict] = {}
        states = [states_of(trace) for trace, _ in items]
        for members in batches_of(states):
            verdicts = judge_batch(
                [items[i][0] for i in members],
                [states[i] for i in members],
                self._workplace.kinematics,
                [items[i][1] for i in members],
                Task(self._goal, {}),
                order="report",
                hold=1,
                intervals=intervals,
            )
            found.update((i, verdict) for i, (verdict, _) in zip(members, verdicts, strict=True))
        return [found[i] for i in range(len(items))]

    def _idle(self, candidate: Candidate) -> Mutant:
        # In equal states more than one state for each that a plan needs change nothing.
        needed = max(sum(action.hold for action in one.actions) for one in candidate.oracles)
        return Mutant(Kind.NO_OP, "nothing happens", stand_still(candidate.trace, needed))

    def _mutants(self, candidate: Candidate, verdict: TraceVerdict) -> Iterator[Mutant]:
        """Mutants of a successful trace; which there are depends on no oracle."""
        trace, end = candidate.trace, verdict.end_state
        if not _succeeded(candidate, end) or end is None or end.first_success is None:
            return
        events, success = self._events(trace, verdict), end.first_success
        if not events:
            return  # it was done from the start
        yield from mutants_of(trace, events, success, self._named, self._free)
        for mutant in way_mutants_of(trace, events, success):
            if mutant.about is not None and self._is_never_held(mutant.trace, mutant.about):
                yield mutant
        yield from order_mutants_of(trace, events)

    def _events(self, trace: Trace, verdict: TraceVerdict) -> list[Event]:
        """What of the goal came to hold, in goal order."""
        start, events = trace.metadata.warmup_steps, []
        for monitor in self._goal.monitors if self._goal else ():
            truth = monitor.apply(verdict.truths[monitor.call])
            held = np.flatnonzero(surely(truth[start:]))
            if truth[start] == FALSE and held.size:
                thing = thing_of(self._model, self._scene, str(monitor.arguments[0]))
                events.append(Event(monitor.key, thing, start + int(held[0])))
        return events

    def _is_never_held(self, trace: Trace, thing: Thing) -> bool:
        """Whether no hand surely or possibly grasps a thing in any evaluated state."""
        signals = self._workplace.kinematics.batch([states_of(trace)])
        grasped = CATALOGUE["grasped"].evaluate(signals, thing.name)
        return not possibly(grasped[trace.metadata.warmup_steps :]).any()

    @cached_property
    def _free(self) -> tuple[Thing, ...]:
        return free_things(self._model, self._scene)

    @cached_property
    def _named(self) -> tuple[Thing, ...]:
        names = {name for monitor in self._goal.monitors for name in monitor.arguments} if self._goal else ()
        return tuple(thing for thing in self._free if thing.name in names)

    def _actions_about(self, compiled: CompiledOracle) -> tuple[Thing | None, ...]:
        if compiled.digest not in self._about:
            self._about[compiled.digest] = things_of_actions(self._model, self._scene, compiled)
        return self._about[compiled.digest]

    def _declares_order(self, compiled: CompiledOracle, mutant: Mutant) -> bool:
        """Whether a plan wants what a mutant did in the other order."""
        first, second = (event.thing for event in mutant.order or ())
        about = self._actions_about(compiled)
        return first is not None and second is not None and declares_order(compiled, about, first, second)

    def _seen(self, one: _Made, verdict: TraceVerdict) -> Iterator[Seen]:
        mutant = one.mutant
        for found in verdict.oracles:
            digest, judgement = found.compiled.digest, found.judgement
            before = one.judged.get(digest)
            counts = self._counts(mutant, verdict, found.compiled, before)
            # A wrong order is reported and fails under strict order: either says that it was seen.
            reported = mutant.kind is Kind.ORDER and judgement.violations > 0
            yield (
                digest,
                MutantSeen(
                    trace_id=one.source.trace_id,
                    kind=mutant.kind,
                    what=mutant.what,
                    applicable=counts,
                    outcome="failed" if reported else judgement.outcome,
                    state=_where(judgement),
                ),
            )

    def _counts(
        self, mutant: Mutant, verdict: TraceVerdict, compiled: CompiledOracle, before: Judgement | None
    ) -> bool:
        """Whether a mutant is a counterexample, of which an oracle can be asked that it fails.

        The benchmark's goal says so, judged on the mutant's own states; of the oracle only the order that
        its plan declares is looked at, and whether it passes the source.
        """
        end, kind = verdict.end_state, mutant.kind
        if end is None:
            return False
        if kind is Kind.NO_OP:
            return end.at_end == "failed"
        if before is None or before.outcome != "passed":
            return False  # what it fails anyway shows nothing
        if kind is Kind.REVERSED:
            return end.at_end == "failed"  # the goal held at the start, when nothing was done yet
        if kind is Kind.LEAP:
            about = self._actions_about(compiled)
            return mutant.about is not None and declares_way(compiled, about, mutant.about)
        if kind is Kind.ORDER:
            wanted = before.violations == 0 and self._declares_order(compiled, mutant)
            return wanted and self._other_order(mutant, verdict)
        return end.outcome == "failed"

    def _other_order(self, mutant: Mutant, verdict: TraceVerdict) -> bool:
        """Whether the conditions of the goal did come to hold in the other order."""
        events = self._events(mutant.trace, verdict)
        at = {event.condition: event.at for event in events}
        first, second = (event.condition for event in mutant.order or ())
        return first in at and second in at and at[second] < at[first]


def _succeeded(candidate: Candidate, end: EndState | None) -> bool:
    """Success without anybody's label: the goal held, and no fault was injected."""
    return end is not None and end.outcome == "passed" and candidate.trace.metadata.fault is None


def _sources(candidate: Candidate, verdict: TraceVerdict, undone: bool) -> Iterator[Seen]:
    start = candidate.trace.metadata.warmup_steps
    for found in verdict.oracles:
        compiled, judgement = found.compiled, found.judgement
        truths = [monitor.apply(verdict.truths[monitor.call])[start:] for monitor in compiled.monitors]
        always = [
            action.index
            for action in compiled.actions
            if surely(all_of(*(truths[i] for i in action.monitors))).all()
        ]
        yield (
            compiled.digest,
            SourceSeen(
                trace_id=candidate.trace_id,
                success=_succeeded(candidate, verdict.end_state),
                outcome=judgement.outcome,
                state=_where(judgement),
                at_start=undone and judgement.passed_at == start,
                reason=_reason(compiled, judgement),
                always=frozenset(always),
            ),
        )


def _where(judgement: Judgement) -> int | None:
    return judgement.stopped_at if judgement.passed_at is None else judgement.passed_at


def _reason(compiled: CompiledOracle, judgement: Judgement) -> str:
    index = judgement.first_failed if judgement.first_failed is not None else judgement.first_undetermined
    if index is None:
        return judgement.reason or ""
    action = compiled.actions[index]
    return f"{action.action_id}({', '.join(action.parameters)}) {judgement.reason or 'undetermined'}"
