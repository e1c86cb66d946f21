"""Predicates about motion since the objects settled."""

from __future__ import annotations

import numpy as np

from mango_trace.predicates.deciding import known_for
from mango_trace.signals.base import Floats, Signals
from mango_trace.truth import Mask, Truth, from_bool


def lifted(signals: Signals, item: str, height_m: float) -> Truth:
    """The object is more than ``height_m`` above where it lay once settled; the bound is open.

    The height is measured from the object's own settled position, not from the ground and not from
    the first state, where objects are still being dropped. False during the warm-up.
    """
    height = signals.position(item)[:, 2]
    start, known, since = _settled(signals, item, height)
    return from_bool(since & (height - start > height_m), known)


def moved(signals: Signals, item: str, by_m: float) -> Truth:
    """The object's origin is more than ``by_m`` from where it lay once settled (open bound).

    False during the warm-up.
    """
    position = signals.position(item)
    start, known, since = _settled(signals, item, position)
    return from_bool(since & (np.linalg.norm(position - start, axis=1) > by_m), known)


def at_rest(signals: Signals, item: str, max_speed_m_s: float, max_spin_rad_s: float) -> Truth:
    """Linear and angular speed are both below their bounds (open bounds)."""
    speed, spin = signals.velocity(item)
    recorded = np.isfinite(speed) & np.isfinite(spin)
    slow = (speed < max_speed_m_s) & (spin < max_spin_rad_s)
    return from_bool(slow, known_for(signals, item) & recorded)


def _settled(signals: Signals, item: str, values: Floats) -> tuple[Floats, Mask, Mask]:
    """Values once settled; where they can be compared; which states come after it.

    Without a sound settled state nothing can be compared.
    """
    known = known_for(signals, item)
    start = signals.settled
    return values[start], known & known[start], np.arange(signals.n_states) >= start
