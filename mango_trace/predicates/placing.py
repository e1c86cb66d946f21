"""Predicates about where things are and what carries them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mango_trace.predicates.deciding import any_contact, decide
from mango_trace.scene.model import Region
from mango_trace.signals.base import ContactRows, Floats, GeomGroup, Signals
from mango_trace.truth import Mask, Truth

_SUPPORTING = 0.7
"""Smallest upward part of a contact normal that carries weight: slopes up to 45 degrees."""


def contact(signals: Signals, first: str, second: str) -> Truth:
    """Some contact between the two is acted on by the solver.

    This follows MuJoCo's margin and gap: with a margin, contacts act before surfaces touch.
    ``touching`` is the geometric question.
    """
    return _contact(signals, first, second, lambda rows: rows.active)


def touching(signals: Signals, first: str, second: str) -> Truth:
    """The surfaces of the two touch or overlap (distance <= 0), whatever margin and gap say."""
    return _contact(signals, first, second, lambda rows: rows.distance <= 0)


def near(signals: Signals, first: str, second: str, within_m: float) -> Truth:
    """Origins (hand: grasp centre) less than ``within_m`` apart; the bound is open."""
    return decide(signals, distance(signals, first, second) < within_m, first, second)


def distance(signals: Signals, first: str, second: str) -> Floats:
    """Distance between the origins (hand: grasp centre) of the two, m."""
    return np.asarray(
        np.linalg.norm(signals.position(first) - signals.position(second), axis=1),
        dtype=np.float64,
    )


def inside(signals: Signals, item: str, region: str) -> Truth:
    """The middle of the object lies in the region's rotated box; bounds are closed.

    Unlike ``in`` this does not change when scene and region are turned together.
    """
    return decide(signals, (_in_region(signals, item, region) <= 0).all(axis=1), item, region)


def resting_on(signals: Signals, item: str, support: str) -> Truth:
    """The support carries the object from below, and no hand touches the object.

    A contact carries when its normal points upward into the object, within 45 degrees. On a region
    the support is the region's parent or surface, and the middle of the object must lie over the
    region's rectangle.
    """
    place = signals.scene.item(support)
    candidates: Mask = np.ones(signals.n_states, dtype=np.bool_)
    carrier: str | None = support
    if isinstance(place, Region):
        over = _in_region(signals, item, support)[:, :2] <= 0
        candidates = np.asarray(over.all(axis=1))
        carrier = place.parent or place.surface
    if carrier is None:
        carried = np.zeros(signals.n_states, dtype=np.bool_)
    else:
        carried = any_contact(
            signals,
            GeomGroup(carrier),
            GeomGroup(item),
            candidates,
            lambda rows: rows.active & (rows.normal[:, 2] >= _SUPPORTING),
        )
    for hand in signals.scene.hands:
        carried &= ~any_contact(signals, GeomGroup(hand.name), GeomGroup(item), carried)
    return decide(signals, carried, item, support)


def upright(signals: Signals, item: str, max_tilt_deg: float) -> Truth:
    """The object's own vertical is tilted by less than ``max_tilt_deg``; the bound is open."""
    axis = np.array(signals.scene.object(item).up)
    cosine = (signals.rotation(item) @ axis)[:, 2]
    return decide(signals, cosine > np.cos(np.deg2rad(max_tilt_deg)), item)


def _in_region(signals: Signals, item: str, region: str) -> Floats:
    """How far the object's middle is outside the region's box along its axes, ``(T, 3)`` m."""
    place = signals.scene.item(region)
    assert isinstance(place, Region)
    offset = signals.middle(item) - signals.position(region)
    local = np.einsum("tji,tj->ti", signals.rotation(region), offset)
    return np.asarray(np.abs(local) - np.array(place.half_size), dtype=np.float64)


def _contact(signals: Signals, first: str, second: str, select: Callable[[ContactRows], Mask]) -> Truth:
    everywhere = np.ones(signals.n_states, dtype=np.bool_)
    values = any_contact(signals, GeomGroup(first), GeomGroup(second), everywhere, select)
    return decide(signals, values, first, second)
