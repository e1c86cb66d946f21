"""In which states two things touch, told with as few collision passes as can be.

Where the bounds of two things do not meet, and where geometry alone is certain
(:mod:`mango_trace.signals.overlap`), no pass is needed. MuJoCo's collision pass between the two things
(:mod:`mango_trace.signals.collision`) decides what is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from mango_trace.signals.base import ContactRows, GeomGroup, Geoms
from mango_trace.signals.batch import Batch
from mango_trace.signals.collision import PairContacts
from mango_trace.signals.overlap import OPEN, TOUCHING, bounds_meet, overlap
from mango_trace.signals.poses import Pose
from mango_trace.truth import Mask

if TYPE_CHECKING:
    from mango_trace.signals.mujoco_signals import SceneKinematics


class Touching:
    """Answers about one batch of states, each found once.

    Args:
        kinematics: The scene.
        batch: The states.
    """

    def __init__(self, kinematics: SceneKinematics, batch: Batch) -> None:
        self._kin, self._batch, self._valid = kinematics, batch, batch.valid
        self._passes = PairContacts(
            kinematics.model,
            kinematics.data,
            batch.loaded,
            batch.sections,
            batch.n_states,
            restrict=batch.shortcuts,
        )
        self._answers: dict[tuple[bytes, bytes], tuple[Mask, Mask]] = {}

    def in_contact(self, first: GeomGroup, second: GeomGroup, where: Mask) -> Mask:
        """See :meth:`mango_trace.signals.base.Signals.in_contact`."""
        key = self._kin.geoms(first).tobytes(), self._kin.geoms(second).tobytes()
        nowhere = np.zeros_like(self._valid)
        asked, touching = self._answers.get(key, (nowhere, nowhere))
        todo = where & self._valid & ~asked
        if todo.any():
            touching = touching | self._find(first, second, todo)
            self._answers[key] = asked | todo, touching
        return np.asarray(touching & where)

    def contacts(self, first: GeomGroup, second: GeomGroup, where: Mask) -> ContactRows:
        """See :meth:`mango_trace.signals.base.Signals.contacts`."""
        where = where & self._valid
        if self._batch.shortcuts:
            meet = np.zeros_like(where)
            for part_1, part_2 in self._bodies_of(first, second):
                shapes = self._kin.shapes(part_1), self._kin.shapes(part_2)
                meet |= bounds_meet(*shapes, self._carriers(part_1, part_2), where & ~meet)
            where = meet
        return self._rows(first, second, where)

    def _rows(self, first: GeomGroup, second: GeomGroup, where: Mask) -> ContactRows:
        parts = self._kin.geoms(first), self._kin.geoms(second)
        (name_1, whole_1), (name_2, whole_2) = self._kin.shared_pass(first), self._kin.shared_pass(second)
        return self._passes.rows((name_1, name_2), (whole_1, whole_2), parts, where)

    def _find(self, first: GeomGroup, second: GeomGroup, todo: Mask) -> Mask:
        touching = np.zeros_like(todo)
        self._batch.shape()  # margins and bits that decide what is comparable are those of this batch
        if self._batch.shortcuts and self._kin.comparable(first, second):
            outcome = np.zeros(len(todo), dtype=np.int8)
            for part_1, part_2 in self._bodies_of(first, second):
                shapes = self._kin.shapes(part_1), self._kin.shapes(part_2)
                carriers = self._carriers(part_1, part_2)
                overlap(*shapes, carriers, todo, outcome, self._kin.model.opt.ccd_tolerance)
            touching, todo = outcome == TOUCHING, outcome == OPEN
            if not todo.any():
                return np.asarray(touching)
            rows = self._rows(first, second, todo)
        else:
            rows = self.contacts(first, second, todo)
        return touching | rows.any_per_state(rows.active, len(todo))

    def _bodies_of(self, first: GeomGroup, second: GeomGroup) -> Iterator[tuple[Geoms, Geoms]]:
        """The geoms of every body of the one group with those of every body of the other."""
        self._batch.shape()
        for part_1 in self._kin.by_body(first):
            for part_2 in self._kin.by_body(second):
                yield part_1, part_2

    def _carriers(self, part_1: Geoms, part_2: Geoms) -> tuple[Pose, Pose]:
        poses, carrier = self._batch.poses, self._kin.model.geom_bodyid
        return poses.body(int(carrier[part_1[0]])), poses.body(int(carrier[part_2[0]]))
