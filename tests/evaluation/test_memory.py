"""Memory is bounded however many states there are."""

from __future__ import annotations

import pytest

from mango_trace.store import Dataset
from recorder.bench.scaling import _evaluate, multiply
from tests.synthetic import make_dataset

FEW, MANY = 100_000, 1_000_000
ALLOWED_MB = 1500.0
PER_TRACE_MB = 0.012  # a row of the index, and what the database keeps of a trace


@pytest.mark.slow
def test_ten_times_the_states_take_the_same_memory_but_for_the_index(tmp_path):
    source = make_dataset(tmp_path, 40, n_states=250)
    states = sum(record.n_states for record in Dataset(source).records)
    peak, n_traces = {}, {}
    for wanted in (FEW, MANY):
        n_traces[wanted] = wanted * 40 // states
        copy = tmp_path / str(wanted)
        multiply(source, copy, n_traces[wanted])
        assert sum(record.n_states for record in Dataset(copy).records) >= 0.99 * wanted
        peak[wanted] = _evaluate(copy, tmp_path / "v.duckdb", 1).peak_mb
    assert peak[MANY] < ALLOWED_MB
    assert peak[MANY] - peak[FEW] < 50 + PER_TRACE_MB * (n_traces[MANY] - n_traces[FEW]), peak
