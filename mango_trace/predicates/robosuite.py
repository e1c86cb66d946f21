"""Conditions that robosuite's own tasks ask, exactly as they compute them.

Source: ``_check_success`` of ``robosuite/environments/manipulation`` at version 1.4.0; 1.5 has the same.
"""

from __future__ import annotations

import numpy as np

from mango_trace.predicates.deciding import as_benchmark, decide
from mango_trace.signals.base import Signals
from mango_trace.truth import Truth


def raised(signals: Signals, item: str, region: str, above_m: float) -> Truth:
    """The object's origin is more than ``above_m`` above the region's middle (open bound): Lift's check."""
    height = signals.position(item)[:, 2] - signals.position(region)[:, 2] - above_m
    values = as_benchmark(
        height > 0,
        np.abs(height),
        lambda state: bool(
            signals.exact_pose(item, state)[0][2] > signals.exact_pose(region, state)[0][2] + above_m
        ),
    )
    return decide(signals, values, item, region)
