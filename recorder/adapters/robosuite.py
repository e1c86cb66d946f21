"""robosuite's own environments, live and as models in files of other people.

What a scene means is read off the compiled model, by the names that robosuite gives: that works for any
version, and for files whose environment cannot be built here. robosuite itself is imported inside functions.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import mujoco

from mango_trace.scene.geoms import subtree
from mango_trace.scene.model import Hand, Region, Scene, SceneObject, Surface
from mango_trace.scene.overrides import Overrides, PristineModel, find_overrides, pristine
from mango_trace.scene.package import ScenePackage
from mango_trace.scene.slim import slim_model
from recorder.adapters.base import TaskIdentity

PHYSICS_PACKAGES: Final = ("mujoco", "robosuite", "numpy")
"""Packages whose versions shape the physics."""

_ROBOT = re.compile(r"(robot|gripper|mount|fixed_mount|mobilebase|omron|leg)\d+_")
_GRIPPER = re.compile(r"(gripper\d+_(?:left_|right_)?)grip_site")
_ROOT = re.compile(r"_(main|root)$")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TABLE_TOP: Final = "table_top"


@dataclass(frozen=True, slots=True)
class RobosuiteTask:
    """A task whose goal is known.

    Attributes:
        instruction: What the policy is told; robosuite itself tells it nothing.
        goal: Condition that ``_check_success`` asks, in BDDL.
    """

    instruction: str
    goal: str


TASKS: Final = {"Lift": RobosuiteTask("lift the cube", f"(raised cube {_TABLE_TOP})")}
"""Environments by name. One without an entry has a scene and no goal: oracles can judge it, the benchmark's
own check is not evaluated."""


def instruction_of(task: str) -> str:
    """Instruction of an environment: that of :data:`TASKS`, else the words of its name.

    >>> instruction_of("TwoArmHandover")
    'two arm handover'
    """
    return TASKS[task].instruction if task in TASKS else _WORDS.sub(" ", task).lower()


def goal_of(task: str) -> str | None:
    """A task's goal as BDDL, or ``None`` where it is not known."""
    if task not in TASKS:
        return None
    known = TASKS[task]
    return f"(define (problem {task})\n  (:language {known.instruction})\n  (:goal {known.goal})\n)\n"


class RobosuiteAdapter:
    """robosuite's ``MujocoEnv`` and its subclasses."""

    benchmark = "robosuite"
    dummy_actions: tuple[tuple[float, ...], ...] = ()

    def __init__(self) -> None:
        self._compiled: dict[str, tuple[ScenePackage, PristineModel]] = {}

    def physics(self, env: Any) -> tuple[mujoco.MjModel, mujoco.MjData]:
        """See :meth:`Adapter.physics`."""
        return env.sim.model._model, env.sim.data._data

    def identify(self, env: Any) -> TaskIdentity:
        """See :meth:`Adapter.identify`."""
        task = type(env).__name__
        return TaskIdentity("robosuite", None, task, instruction_of(task))

    def scene(self, env: Any) -> tuple[ScenePackage, Overrides]:
        """See :meth:`Adapter.scene`."""
        xml = env.model.get_xml()
        key = hashlib.sha256(xml.encode()).hexdigest()
        if key not in self._compiled:
            full = mujoco.MjModel.from_xml_string(xml)
            slim = slim_model(xml, full)
            task = type(env).__name__
            scene = scene_of(full, "robosuite", task, control_hz=float(env.control_freq))
            self._compiled[key] = ScenePackage(scene, slim.xml, slim.assets, goal_of(task)), pristine(full)
        package, compiled = self._compiled[key]
        return package, find_overrides(self.physics(env)[0], compiled)

    def init_state_id(self, env: Any, init_state: Any) -> int | None:
        """See :meth:`Adapter.init_state_id`: robosuite has no official initial states."""
        return None

    def live_success(self, env: Any, done: bool) -> bool | None:
        """See :meth:`Adapter.live_success`: ``done`` only says that the horizon is reached."""
        return bool(env._check_success())

    def versions(self) -> dict[str, str]:
        """See :meth:`Adapter.versions`."""
        return {package: importlib.metadata.version(package) for package in PHYSICS_PACKAGES}


def scene_of(model: mujoco.MjModel, simulator: str, task: str, *, control_hz: float = 20.0) -> Scene:
    """Take the meaning of a scene from the names in its model.

    What moves freely is an object, what has joints of its own and is no robot a fixture. Thresholds of
    joints are in no model, so such fixtures are neither open nor closed.

    Args:
        model: Compiled model.
        simulator: Name of the benchmark.
        task: Name of the task.
        control_hz: Control steps per second.
    """
    tops = [body for body in range(1, model.nbody) if model.body_parentid[body] == 0]
    robots = [top for top in tops if any(_is_robot(model, body) for body in subtree(model, [top]))]
    objects = [found for top in tops if top not in robots if (found := _object(model, top)) is not None]
    bodies = {model.body(body).name for body in range(model.nbody)}
    floor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, "floor") >= 0
    return Scene(
        simulator=simulator,
        task=task,
        robot=model.body(robots[0]).name if robots else "",
        objects=tuple(objects),
        regions=tuple(_regions(model)),
        surfaces=(
            *((Surface("table", "table"),) if "table" in bodies else ()),
            *((Surface("floor", "world", ("floor",)),) if floor else ()),
        ),
        hands=tuple(_hands(model)),
        termination="horizon",
        control_hz=control_hz,
        substeps=max(1, round(1 / (control_hz * model.opt.timestep))),
    )


def _is_robot(model: mujoco.MjModel, body: int) -> bool:
    return _ROBOT.match(model.body(body).name) is not None


def _object(model: mujoco.MjModel, top: int) -> SceneObject | None:
    name = model.body(top).name
    joints = [joint for body in subtree(model, [top]) for joint in _joints_of(model, body)]
    if not joints or not name:
        return None
    free = [joint for joint in joints if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE]
    short = _ROOT.sub("", name)
    return SceneObject(
        name=short,
        category=re.sub(r"_?\d+$", "", short) or short,
        kind="object" if free else "fixture",
        body=name,
        joints=tuple(model.joint(joint).name for joint in joints if joint not in free),
    )


def _joints_of(model: mujoco.MjModel, body: int) -> range:
    start = int(model.body_jntadr[body])
    return range(start, start + int(model.body_jntnum[body])) if start >= 0 else range(0)


def _regions(model: mujoco.MjModel) -> Iterator[Region]:
    """The top of the table, as far as the geom reaches whose upper side it is."""
    site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, _TABLE_TOP)
    geom = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, "table_collision")
    if site >= 0 and geom >= 0:
        x, y, _ = (float(value) for value in model.geom_size[geom])
        yield Region(_TABLE_TOP, _TABLE_TOP, (x, y, 0.0), surface="table")


def _hands(model: mujoco.MjModel) -> Iterator[Hand]:
    """Grippers whose pads are known by name."""
    names = {model.geom(geom).name for geom in range(model.ngeom)}
    for site in range(model.nsite):
        match = _GRIPPER.fullmatch(model.site(site).name)
        if match is None:
            continue
        prefix = match[1]
        root = int(model.site_bodyid[site])
        while model.body(int(model.body_parentid[root])).name.startswith(prefix):
            root = int(model.body_parentid[root])
        for left, right in _pad_names():
            pads = [tuple(prefix + name for name in side) for side in (left, right)]
            if names.issuperset((*pads[0], *pads[1])):
                joints = [joint for body in subtree(model, [root]) for joint in _joints_of(model, body)]
                yield Hand(
                    name=f"{prefix.rstrip('_').replace('gripper', 'robot')}_hand",
                    body=model.body(root).name,
                    center=match[0],
                    left_pads=pads[0],
                    right_pads=pads[1],
                    finger_joints=tuple(model.joint(joint).name for joint in joints),
                )
                break


@cache
def _pad_names() -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Geoms of the left and right finger pads of every gripper that robosuite knows, without prefix."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            from robosuite.models.grippers import GRIPPER_MAPPING

            grippers = [gripper(idn=0)._important_geoms for gripper in GRIPPER_MAPPING.values()]
    except ModuleNotFoundError:
        return ()
    found = {
        (tuple(geoms["left_fingerpad"]), tuple(geoms["right_fingerpad"])): None
        for geoms in grippers
        if geoms.get("left_fingerpad") and geoms.get("right_fingerpad")
    }
    # The longest first: a gripper may have all pads of another one and more.
    return tuple(sorted(found, key=lambda pads: -len(pads[0]) - len(pads[1])))
