"""Leaving contacts out where nothing hangs on them changes no verdict, whatever they would say there."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mango_trace.evaluation.judging import Monitors
from mango_trace.oracle import judge, termination
from mango_trace.predicates.signature import Need
from mango_trace.truth import FALSE, TRUE, UNDETERMINED
from tests.oracle.test_semantics import NAMES, oracles, traces


class Signals:
    """As much of signals as predicates with a given truth need: the states in which contacts are told."""

    def __init__(self, n_states):
        self.n_states, self.scope = n_states, None

    def within(self, where):
        narrowed = copy.copy(self)
        narrowed.scope = where
        return narrowed


def with_truths(oracle, truths, contacts, elsewhere):
    """The oracle with predicates of given truth; those of contacts say anything outside their scope."""

    def monitor(one):
        name = one.predicate.name

        def evaluate(signals):
            truth = truths[name].copy()
            if signals.scope is not None:
                assert name in contacts
                truth[~signals.scope & (truth != UNDETERMINED)] = elsewhere[name]
            return truth

        needs = (Need.CONTACT,) if name in contacts else (Need.POSE,)
        return dataclasses.replace(
            one, predicate=dataclasses.replace(one.predicate, evaluate=evaluate, needs=needs)
        )

    return dataclasses.replace(oracle, monitors=tuple(map(monitor, oracle.monitors)))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(oracles(), min_size=1, max_size=3),
    traces(most=8, unknown=4),
    st.sets(st.sampled_from(NAMES)),
    st.fixed_dictionaries({name: st.sampled_from((FALSE, TRUE)) for name in NAMES}),
    st.sampled_from(("report", "strict")),
    st.integers(0, 2),
    st.integers(1, 3),
)
def test_what_is_left_out_decides_nothing(some, bits, contacts, elsewhere, order, start, hold):
    """Negations, invariants, unknowns and several oracles that share calls."""
    truths = {name: np.array(values, np.uint8) for name, values in bits.items()}
    n_states = len(next(iter(truths.values())))
    some = [with_truths(oracle, truths, contacts, elsewhere) for oracle in some]
    monitors = Monitors(Signals(n_states))
    last = np.zeros(n_states, dtype=bool)
    last[-1:] = True
    monitors.decide(some, last)
    for oracle in some:
        whole = [one.apply(truths[one.predicate.name]) for one in oracle.monitors]
        alone = [one.apply(monitors.call_truth(one)) for one in oracle.monitors]
        assert all(a[-1:] == b[-1:] for a, b in zip(whole, alone, strict=True))
        arguments = {"start": start, "order": order}
        assert judge(oracle, alone, **arguments) == judge(oracle, whole, **arguments)
        assert termination(oracle, alone, start, hold) == termination(oracle, whole, start, hold)
