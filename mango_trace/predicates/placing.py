"""Predicates about where things are and what carries them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mango_trace.predicates.deciding import any_contact, decide
from mango_trace.predicates.holding import touched_by_hands
from mango_trace.scene.model import Region
from mango_trace.signals.base import ContactRows, Floats, GeomGroup, Signals
from mango_trace.truth import Mask, Truth

_SUPPORTING = 0.7
"""Smallest upward part of a contact normal that carries weight: slopes up to 45 degrees."""
_FLOOR = 0.015  # m that a floor may lie under its region: up to 0.012 in LIBERO's scenes
_PLATE = 0.01  # m over its middle that a region reaches at least, if it is a thin plate
_LEVEL = 1e-9  # smallest cosine at which a line crosses a face


def contact(signals: Signals, first: str, second: str) -> Truth:
    """Some contact between the two is acted on by the solver.

    This follows MuJoCo's margin and gap: with a margin, contacts act before surfaces touch.
    ``touching`` is the geometric question.
    """
    return _contact(signals, first, second, None)


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
    the support is the region's parent or surface, and the vertical line through the object's middle
    must meet the region's box. A region of a fixture or object also needs the object's underside at
    its height: what lies on top of a cabinet rests on none of its drawers.
    """
    place = signals.scene.item(support)
    candidates: Mask = np.ones(signals.n_states, dtype=np.bool_)
    carrier: str | None = support
    if isinstance(place, Region):
        candidates = _over_region(signals, item, place)
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
    carried = carried & ~touched_by_hands(signals, item, carried)
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


def _over_region(signals: Signals, item: str, place: Region) -> Mask:
    """Whether the vertical line through the object's middle meets the region, at its underside."""
    rotation, middle = signals.rotation(place.name), signals.middle(item)
    start = np.einsum("tji,tj->ti", rotation, middle - signals.position(place.name))
    along, half = rotation[:, 2], np.array(place.half_size)
    flat = np.abs(along) < _LEVEL  # the line runs along these faces
    slope = np.where(flat, 1.0, along)
    first, second = (-half - start) / slope, (half - start) / slope
    low = np.where(flat, -np.inf, np.minimum(first, second)).max(axis=1)
    high = np.where(flat, np.inf, np.maximum(first, second)).min(axis=1)
    over = (low <= high) & (~flat | (np.abs(start) <= half)).all(axis=1)
    if place.parent is None:
        return np.asarray(over)
    underside = -np.abs(signals.rotation(item)[:, 2]) @ signals.half_box(item)
    top = np.maximum(high, (low + high) / 2 + _PLATE)
    return np.asarray(over & (underside >= low - _FLOOR) & (underside <= top))


def _contact(
    signals: Signals, first: str, second: str, select: Callable[[ContactRows], Mask] | None
) -> Truth:
    everywhere = np.ones(signals.n_states, dtype=np.bool_)
    values = any_contact(signals, GeomGroup(first), GeomGroup(second), everywhere, select)
    return decide(signals, values, first, second)
