"""Contacts of a batch of states, found between the things that are asked about and nowhere else.

A full collision pass costs ten times the kinematics. Here a pass runs once for each pair of things
and state, in a model in which for the moment no other geoms collide. What a pass finds between two
geoms does not depend on other geoms, so the answer is that of the full pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.signals.base import ContactRows, Floats, Geoms, States
from mango_trace.signals.shapes import may_collide
from mango_trace.truth import Mask

_BITS = ("geom_contype", "geom_conaffinity", "body_contype", "body_conaffinity")


@dataclass(slots=True)
class _Found:
    """What passes of one pair found so far.

    Attributes:
        done: States that had their pass.
        state: State of each contact.
        geom: Its two geoms, ``(N, 2)``.
        distance: Signed distance, m.
        normal: Normal from the first geom to the second, ``(N, 3)``.
        exclude: MuJoCo's reason to leave it out of the solver, 0 for none.
    """

    done: Mask
    state: npt.NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    geom: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int32))
    distance: Floats = field(default_factory=lambda: np.zeros(0))
    normal: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    exclude: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))


class PairContacts:
    """Runs and remembers collision passes.

    Args:
        model: Model of the scene; its collision bits are changed during a pass and put back.
        data: Data that ``loaded`` fills.
        loaded: Puts one state after the other into ``data``, computes all geom poses and yields it.
        sections: Splits states by what resets wrote into the model, and says how to get it there.
        n_states: Number of states.
        restrict: Let only the asked pair collide; off, every pass is a full one.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        loaded: Callable[[States], Iterator[int]],
        sections: Callable[[Mask], Iterable[tuple[Callable[[], None], States]]],
        n_states: int,
        *,
        restrict: bool,
    ) -> None:
        self._model, self._data, self._loaded, self._sections = model, data, loaded, sections
        self._n_states, self._restrict = n_states, restrict
        self._found: dict[tuple[str, str], _Found] = {}

    def rows(
        self,
        pair: tuple[str, str],
        whole: tuple[Geoms, Geoms],
        parts: tuple[Geoms, Geoms],
        where: Mask,
    ) -> ContactRows:
        """Contacts between parts of two things.

        Args:
            pair: Names of the things.
            whole: All their geoms, between which a pass looks.
            parts: The geoms that are asked about, each a subset.
            where: States to look at, ``(T,)``.

        Returns:
            One row a contact, ordered by state; normals point from the first part to the second.
        """
        if not self._restrict:
            pair = ("", "")
        elif pair[0] > pair[1]:
            pair, whole = (pair[1], pair[0]), (whole[1], whole[0])
        found = self._found.setdefault(pair, _Found(np.zeros(self._n_states, dtype=np.bool_)))
        todo = where & ~found.done
        if todo.any():
            for prepare, states in self._sections(todo):
                prepare()
                if self._restrict and may_collide(self._model, *whole):
                    with self._only(*whole):
                        self._pass(found, states)
                else:
                    self._pass(found, states)
            found.done |= todo
        return self._select(found, parts, where)

    def _pass(self, found: _Found, todo: States) -> None:
        """Run the collision pass in some states."""
        model, data, collide = self._model, self._data, mujoco.mj_collision
        states: list[int] = []
        pieces: list[tuple[npt.NDArray[np.int32], Floats, Floats, npt.NDArray[np.int32]]] = []
        for state in self._loaded(todo):
            collide(model, data)
            count = data.ncon
            if count:
                contact = data.contact
                states.extend([state] * count)
                pieces.append(
                    (
                        contact.geom.copy(),
                        contact.dist.copy(),
                        contact.frame[:, :3].copy(),
                        contact.exclude.copy(),
                    )
                )
        if pieces:
            geom, distance, normal, exclude = zip(*pieces, strict=True)
            found.state = np.concatenate([found.state, np.array(states, dtype=np.intp)])
            found.geom = np.concatenate([found.geom, *geom])
            found.distance = np.concatenate([found.distance, *distance])
            found.normal = np.concatenate([found.normal, *normal])
            found.exclude = np.concatenate([found.exclude, *exclude])

    def _select(self, found: _Found, parts: tuple[Geoms, Geoms], where: Mask) -> ContactRows:
        in_1 = np.zeros(self._model.ngeom, dtype=np.bool_)
        in_2 = np.zeros(self._model.ngeom, dtype=np.bool_)
        in_1[parts[0]], in_2[parts[1]] = True, True
        first, second = found.geom[:, 0], found.geom[:, 1]
        forward = in_1[first] & in_2[second]
        backward = in_1[second] & in_2[first] & ~forward
        keep = np.flatnonzero((forward | backward) & where[found.state])
        keep = keep[np.argsort(found.state[keep], kind="stable")]
        sign = np.where(backward[keep], -1.0, 1.0)
        return ContactRows(
            found.state[keep],
            found.distance[keep],
            found.normal[keep] * sign[:, None],
            found.exclude[keep] == 0,
        )

    @contextmanager
    def _only(self, geoms_1: Geoms, geoms_2: Geoms) -> Iterator[None]:
        """Let the geoms of one group collide with those of the other, and no others."""
        model = self._model
        before = {name: getattr(model, name).copy() for name in _BITS}
        for name in _BITS:
            getattr(model, name)[:] = 0
        model.geom_contype[geoms_1] = 1
        model.geom_conaffinity[geoms_2] = 1
        model.body_contype[model.geom_bodyid[geoms_1]] = 1
        model.body_conaffinity[model.geom_bodyid[geoms_2]] = 1
        try:
            yield
        finally:
            for name, values in before.items():
                getattr(model, name)[:] = values
