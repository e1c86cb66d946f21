"""A sample of the comparison with LIBERO's own check; ``make parity`` runs all of it."""

from __future__ import annotations

import pytest


@pytest.mark.libero
@pytest.mark.parametrize("index", [3, 2])
def test_every_libero_predicate_equals_libero(index):
    from recorder.adapters.libero import tasks_of
    from recorder.parity import check_task

    count = check_task(tasks_of("libero_10")[index], episodes=1, steps=20, every=12, seed=1)
    assert count.examples == []
    assert count.mismatches == 0
    assert count.states > 20
    assert {name for name, _ in count.calls} >= {"in", "on", "up", "goal"}
    assert sum(count.calls.values()) > 300
