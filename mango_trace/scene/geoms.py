"""Which colliding geoms belong to a body, by the tree of bodies."""

from __future__ import annotations

from collections.abc import Iterable

import mujoco
import numpy as np


def subtree(model: mujoco.MjModel, roots: Iterable[int]) -> tuple[int, ...]:
    """Bodies below the given ones, themselves included, in ascending order."""
    inside = np.zeros(model.nbody, dtype=np.bool_)
    inside[list(roots)] = True
    for body in range(1, model.nbody):  # a parent comes before its children
        inside[body] |= inside[model.body_parentid[body]]
    return tuple(int(body) for body in np.flatnonzero(inside))


def geoms_of(model: mujoco.MjModel, roots: Iterable[int]) -> tuple[int, ...]:
    """Geoms that can collide and are carried by the bodies below ``roots``."""
    bodies = subtree(model, roots)
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    return tuple(int(geom) for geom in np.flatnonzero(np.isin(model.geom_bodyid, bodies) & collides))
