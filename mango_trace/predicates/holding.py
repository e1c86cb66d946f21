"""Predicates about the hand and what it holds."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mango_trace.predicates.deciding import any_contact, decide
from mango_trace.scene.model import Hand
from mango_trace.signals.base import ContactRows, GeomGroup, Part, Signals
from mango_trace.truth import Mask, Truth

Rows: TypeAlias = npt.NDArray[np.intp]

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
        rows_1, rows_2 = _pairs(left, right)
        cosine = (left.normal[rows_1] * right.normal[rows_2]).sum(axis=1)
        held[left.state[rows_1[cosine <= _OPPOSED]]] = True
    return decide(signals, held, item, *_names(signals.scene.hands))


def released(signals: Signals, item: str) -> Truth:
    """No part of any hand touches the object."""
    touched = touched_by_hands(signals, item, np.ones(signals.n_states, dtype=np.bool_))
    return decide(signals, ~touched, item, *_names(signals.scene.hands))


def touched_by_hands(signals: Signals, item: str, where: Mask) -> Mask:
    """States of ``where`` in which some part of a hand touches the object.

    The pads come first: what they touch, the palm need not be asked about, which costs more.
    """
    touched = np.zeros(signals.n_states, dtype=np.bool_)
    for hand in signals.scene.hands:
        for part in (Part.LEFT_PADS, Part.RIGHT_PADS, Part.BUT_PADS):
            asked = where & ~touched
            touched |= any_contact(signals, GeomGroup(hand.name, part), GeomGroup(item), asked)
    return touched


def _both_pads(signals: Signals, hand: Hand, item: str, part: Part) -> Mask:
    everywhere = np.ones(signals.n_states, dtype=np.bool_)
    group = GeomGroup(item, part)
    left = any_contact(signals, GeomGroup(hand.name, Part.LEFT_PADS), group, everywhere)
    return any_contact(signals, GeomGroup(hand.name, Part.RIGHT_PADS), group, left)


def _pairs(left: ContactRows, right: ContactRows) -> tuple[Rows, Rows]:
    """Every pair of active rows, one of each side, that belong to the same state."""
    rows_1, rows_2 = np.flatnonzero(left.active), np.flatnonzero(right.active)
    states_1, states_2 = left.state[rows_1], right.state[rows_2]
    first = np.searchsorted(states_2, states_1, side="left")
    count = np.searchsorted(states_2, states_1, side="right") - first
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(rows_1, count), rows_2[np.repeat(first, count) + within]


def _names(hands: tuple[Hand, ...]) -> tuple[str, ...]:
    return tuple(hand.name for hand in hands)
