"""Predicates about the hand and what it holds."""

from __future__ import annotations

import numpy as np

from mango_trace.predicates.deciding import any_contact, decide
from mango_trace.scene.model import Hand
from mango_trace.signals.base import GeomGroup, Part, Signals
from mango_trace.truth import Mask, Truth

_OPPOSED = -0.3
"""Largest cosine between the two pads' contact normals in a grasp that can carry."""


def grasped(signals: Signals, item: str) -> Truth:
    """Both finger pads of some hand touch the object: robosuite's ``_check_grasp``.

    Two-sided contact is not yet a grasp: an object too wide to close on, touched from above by
    both pads, counts. ``firmly_grasped`` asks for opposed contacts.
    """
    held = np.zeros(signals.n_states, dtype=np.bool_)
    for hand in signals.scene.hands:
        held |= _both_pads(signals, hand, item, Part.COUNTED)
    return decide(signals, held, item, *_names(signals.scene.hands))


def firmly_grasped(signals: Signals, item: str) -> Truth:
    """Both finger pads of some hand press the object from opposed sides.

    At some pair of contacts, one on each pad, the cosine between the normals that point into the
    object is at most -0.3.
    """
    held = np.zeros(signals.n_states, dtype=np.bool_)
    for hand in signals.scene.hands:
        both = _both_pads(signals, hand, item, Part.ALL)
        left = signals.contacts(GeomGroup(hand.name, Part.LEFT_PADS), GeomGroup(item), both)
        right = signals.contacts(GeomGroup(hand.name, Part.RIGHT_PADS), GeomGroup(item), both)
        for state in np.flatnonzero(both):
            normals_1 = left.normal[(left.state == state) & left.active]
            normals_2 = right.normal[(right.state == state) & right.active]
            held[state] |= bool((normals_1 @ normals_2.T).min() <= _OPPOSED)
    return decide(signals, held, item, *_names(signals.scene.hands))


def released(signals: Signals, item: str) -> Truth:
    """No part of any hand touches the object."""
    touched = np.zeros(signals.n_states, dtype=np.bool_)
    everywhere = np.ones(signals.n_states, dtype=np.bool_)
    for hand in signals.scene.hands:
        touched |= any_contact(signals, GeomGroup(hand.name), GeomGroup(item), everywhere)
    return decide(signals, ~touched, item, *_names(signals.scene.hands))


def _both_pads(signals: Signals, hand: Hand, item: str, part: Part) -> Mask:
    everywhere = np.ones(signals.n_states, dtype=np.bool_)
    group = GeomGroup(item, part)
    left = any_contact(signals, GeomGroup(hand.name, Part.LEFT_PADS), group, everywhere)
    return any_contact(signals, GeomGroup(hand.name, Part.RIGHT_PADS), group, left)


def _names(hands: tuple[Hand, ...]) -> tuple[str, ...]:
    return tuple(hand.name for hand in hands)
