"""Packages and full models of LIBERO_10 tasks, each made once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import mujoco
import numpy as np

from mango_trace.scene.overrides import Overrides, apply_overrides
from mango_trace.scene.package import ScenePackage

DEFAULT_TASKS = (2, 3)


@dataclass(frozen=True)
class LiberoScene:
    """A task's scene as recorded, and the full model that it was made from.

    Attributes:
        package: The scene package.
        overrides: What the reset wrote into the model.
        full: The full model with these overrides.
        rest: Positions after the objects settled.
        contact_geoms: Geoms that LIBERO's contact test counts, by object.
    """

    package: ScenePackage
    overrides: Overrides
    full: mujoco.MjModel
    rest: np.ndarray
    contact_geoms: dict[str, frozenset[str]]

    def random_states(self, n: int, seed: int) -> dict[str, np.ndarray]:
        """States in which objects lie in, on and beside each other and the arm is anywhere."""
        rng = np.random.default_rng(seed)
        model = self.full
        data = mujoco.MjData(model)
        data.qpos[:] = self.rest
        mujoco.mj_kinematics(model, data)
        places = np.concatenate([data.site_xpos, data.xpos[1:]])
        qpos = np.tile(self.rest, (n, 1))
        for joint in range(model.njnt):
            start = int(model.jnt_qposadr[joint])
            if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
                moved = rng.random(n) < 0.7
                near = places[rng.integers(len(places), size=n)] + rng.normal(scale=0.04, size=(n, 3))
                qpos[moved, start : start + 3] = near[moved]
                turned = rng.random(n) < 0.3
                qpos[turned, start + 3 : start + 7] = rng.normal(size=(turned.sum(), 4))
            else:
                low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (-1, 1)
                moved = rng.random(n) < 0.5
                qpos[moved, start] = rng.uniform(low, high, moved.sum())
        return {"time": np.arange(n) * 0.05, "qpos": qpos, "qvel": np.zeros((n, model.nv))}


@cache
def libero_scene(index: int) -> LiberoScene:
    """The scene of one LIBERO_10 task."""
    from recorder.adapters.libero import DUMMY_ACTION, LiberoAdapter, make_env, seeded_reset, tasks_of

    env = make_env(tasks_of("libero_10")[index], 20)
    try:
        seeded_reset(env, index)
        package, overrides = LiberoAdapter().scene(env)
        for _ in range(10):
            env.step(DUMMY_ACTION)
        full = mujoco.MjModel.from_xml_string(env.env.model.get_xml())
        apply_overrides(full, overrides)
        groups = env.env.objects_dict | env.env.fixtures_dict
        contact_geoms = {name: frozenset(item.contact_geoms) for name, item in groups.items()}
        rest = env.sim.data._data.qpos.copy()
    finally:
        env.close()
    return LiberoScene(package, overrides, full, rest, contact_geoms)
