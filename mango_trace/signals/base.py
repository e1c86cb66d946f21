"""What a predicate can ask about a trace.

A predicate sees arrays only. Where they come from (MuJoCo's kinematics on a CPU, another batch
backend, a test's own arrays) is behind this protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from mango_trace.scene.model import Scene
from mango_trace.truth import Mask

Floats: TypeAlias = npt.NDArray[np.float64]
Geoms: TypeAlias = npt.NDArray[np.intp]
"""Geom numbers of a model."""
States: TypeAlias = npt.NDArray[np.intp]
"""Numbers of states."""


class Part(StrEnum):
    """Which geoms of a thing take part in a contact test."""

    ALL = "all"
    """Every colliding geom in the subtree of its body."""
    COUNTED = "counted"
    """Those that the benchmark's own contact test counts."""
    LEFT_PADS = "left_pads"
    """A hand's left finger pad."""
    RIGHT_PADS = "right_pads"
    """A hand's right finger pad."""
    BUT_PADS = "but_pads"
    """Everything of a hand that is no finger pad."""


@dataclass(frozen=True, slots=True)
class GeomGroup:
    """Geoms of one named thing.

    Attributes:
        name: Object, fixture, surface or hand.
        part: Which of its geoms.
    """

    name: str
    part: Part = Part.ALL


@dataclass(frozen=True, slots=True)
class ContactRows:
    """Contacts between two groups of geoms, one row each, ordered by state.

    Attributes:
        state: State of the contact, ``(N,)`` int.
        distance: Signed distance, negative when penetrating, ``(N,)`` m.
        normal: Unit normal that points from the first group into the second, ``(N, 3)`` world.
        active: Whether the solver acts on it (it is no mere proximity record), ``(N,)`` bool.
    """

    state: npt.NDArray[np.intp]
    distance: Floats
    normal: Floats
    active: Mask

    def any_per_state(self, rows: Mask, n_states: int) -> Mask:
        """States that have at least one of the selected rows, ``(n_states,)``."""
        found = np.zeros(n_states, dtype=np.bool_)
        found[self.state[rows]] = True
        return found


class Signals(Protocol):
    """Arrays over the states of some traces of one scene, one trace behind the other.

    Positions are in m, world frame; ``T`` is the number of states of all of them.
    """

    @property
    def scene(self) -> Scene:
        """Meaning of the names."""

    @property
    def n_states(self) -> int:
        """Number of states, ``T``."""

    @property
    def settled(self) -> npt.NDArray[np.intp]:
        """For each state the first one of its trace after the declared warm-up, ``(T,)``.

        Heights and motions are measured from it.
        """

    def known(self, name: str) -> Mask:
        """Where a pose or a joint's position is known, ``(T,)``: valid states, recorded inputs."""

    def position(self, name: str) -> Floats:
        """Origin of an object's or fixture's body, a region's site, a hand's centre: ``(T, 3)``."""

    def rotation(self, name: str) -> Floats:
        """Rotation matrix from the frame of the thing to the world, ``(T, 3, 3)``."""

    def middle(self, name: str) -> Floats:
        """Middle of the box around an object's colliding geoms, ``(T, 3)``."""

    def half_box(self, name: str) -> Floats:
        """Half extents of that box along the axes of the object's body, ``(3,)``."""

    def exact_pose(self, name: str, state: int) -> tuple[Floats, Floats]:
        """Position ``(3,)`` and rotation ``(3, 3)`` to the last bit as the simulator computes them.

        ``position`` and ``rotation`` are equal to it within rounding. Slow: for states at which
        rounding could decide.
        """

    def joint(self, name: str) -> Floats:
        """Position of a hinge (rad) or slide (m), ``(T,)``."""

    def velocity(self, name: str) -> tuple[Floats, Floats]:
        """Speed of an object: linear m/s and angular rad/s, ``(T,)`` each; NaN where unknown."""

    def in_contact(self, first: GeomGroup, second: GeomGroup, where: Mask) -> Mask:
        """States of ``where`` in which the solver acts on some contact between two groups."""

    def within(self, where: Mask) -> Signals:
        """The same signals, with contacts in the states of ``where`` alone; elsewhere there are none."""

    def contacts(self, first: GeomGroup, second: GeomGroup, where: Mask) -> ContactRows:
        """Contacts between two groups in the states of ``where``; none are reported elsewhere.

        Whether there is one at all is cheaper to ask with :meth:`in_contact`.
        """
