"""Many traces judged together get the verdicts that each gets alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mango_trace.oracle import judge, judge_settled, settled, termination
from mango_trace.truth import UNDETERMINED
from tests.oracle.test_semantics import chain, feed, oracles, traces


@settings(max_examples=400, deadline=None)
@given(
    oracles(),
    st.lists(st.tuples(traces(most=9, unknown=2), st.integers(0, 3)), min_size=1, max_size=4),
    st.sampled_from(("report", "strict")),
    st.integers(1, 3),
)
def test_settled_traces_get_the_verdicts_of_the_law(oracle, batch, order, hold):
    spans, calls, first = [], {}, 0
    for bits, start in batch:
        length = len(next(iter(bits.values())))
        spans.append((first, first + start, first + length))
        first += length
        for name, values in bits.items():
            calls.setdefault(name, []).extend(values)
    truths = feed(oracle, calls)
    found = judge_settled(oracle, truths, spans, order=order, hold=hold)
    for answer, (begin, evaluated, end) in zip(found, spans, strict=True):
        alone = [truth[begin:end] for truth in truths]
        start = evaluated - begin
        if answer is None:
            unknown = any((truth == UNDETERMINED).any() for truth in alone)
            assert unknown or evaluated >= end
        else:
            assert answer[0] == judge(oracle, alone, start=start, order=order)
            assert answer[1] == termination(oracle, alone, start, hold)


@settings(max_examples=20, deadline=None)
@given(oracles(), st.lists(traces(unknown=0), min_size=1, max_size=3))
def test_the_loop_gives_what_its_plain_function_gives(oracle, batch):
    fed = [feed(oracle, bits) for bits in batch]
    ends = np.cumsum([len(truths[0]) for truths in fed])
    spans = [(int(end) - len(truths[0]),) * 2 + (int(end),) for truths, end in zip(fed, ends, strict=True)]
    together = [np.concatenate(columns) for columns in zip(*fed, strict=True)]
    compiled = judge_settled(oracle, together, spans, order="report", hold=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settled, "_read", settled._read.__wrapped__)
        assert compiled == judge_settled(oracle, together, spans, order="report", hold=2)
    assert None not in compiled


def test_no_traces_no_answers():
    assert judge_settled(chain("a"), [np.zeros(0, np.uint8)], [], order="report", hold=1) == []
