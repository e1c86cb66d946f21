"""A small scene and traces in it, made without any simulator package.

The scene: a table whose top is the plane z = 0; two free boxes, ``apple_1`` and ``brick_1``; a free
``basket_1`` that carries the region ``basket_1_contain_region``; a fixture ``cabinet_1`` with one
drawer on the slide ``cabinet_1_drawer_joint`` and the region ``cabinet_1_drawer_region``; the region
``table_zone`` on the table; and ``hand0``, a palm on three slides with two opposed fingers.

::

    package = make_package()                            the scene with its model and BDDL
    trace = make_trace(package, 40, seed=1)             one episode, fully determined by its arguments
    root = make_dataset(tmp_path, 8)                    seeds 0 to 7, written and committed
    oracles = write_oracles(tmp_path / "oracles")       a fine-grained oracle that is for them
    states = rest_states(package, 10)                   everything at rest; change rows as you like
    columns(package, "apple_1_joint")                   where a joint lies in qpos

What happens in a trace depends on ``seed % 4``:

0. The hand lifts the apple into the basket, then the drawer closes: success.
1. The apple comes down beside the basket.
2. The apple goes into the basket, the drawer stays open.
3. The drawer closes first, then the apple goes into the basket: success in the wrong order.

States are placed, not simulated: nothing in the tests depends on how a MuJoCo version integrates.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mango_trace.scene.model import Articulation, Hand, Region, Scene, SceneObject, Surface, Threshold
from mango_trace.scene.package import ScenePackage
from mango_trace.store import DatasetWriter, Label, Trace, TraceMetadata

TASK = "put_the_apple_in_the_basket"
INSTRUCTION = "put the apple in the basket and close the drawer"
WARMUP = 2
CONTROL_S = 0.05

OPEN, CLOSED = -0.15, 0.002
APPLE, BRICK, BASKET, BESIDE = (0.1, 0.0, 0.02), (0.1, -0.2, 0.02), (-0.15, -0.15, 0.0), (0.2, -0.1, 0.02)

XML = """
<mujoco model="synthetic">
  <compiler angle="radian" autolimits="true"/>
  <worldbody>
    <body name="table" pos="0 0 -0.05">
      <geom name="table_top" type="box" size="0.6 0.6 0.05"/>
      <site name="table_zone" type="box" pos="0.1 0 0.057" size="0.05 0.05 0.007"/>
    </body>
    <body name="apple_1" pos="0.1 0 0.02">
      <freejoint name="apple_1_joint"/>
      <geom name="apple_1_g0" type="box" size="0.02 0.02 0.02" mass="0.1"/>
    </body>
    <body name="brick_1" pos="0.1 -0.2 0.02">
      <freejoint name="brick_1_joint"/>
      <geom name="brick_1_g0" type="box" size="0.03 0.02 0.02" mass="0.2"/>
    </body>
    <body name="basket_1" pos="-0.15 -0.15 0">
      <freejoint name="basket_1_joint"/>
      <geom name="basket_1_g0" type="box" pos="0 0 0.005" size="0.08 0.08 0.005"/>
      <geom name="basket_1_g1" type="box" pos="0.0775 0 0.05" size="0.0025 0.08 0.04"/>
      <geom name="basket_1_g2" type="box" pos="-0.0775 0 0.05" size="0.0025 0.08 0.04"/>
      <geom name="basket_1_g3" type="box" pos="0 0.0775 0.05" size="0.075 0.0025 0.04"/>
      <geom name="basket_1_g4" type="box" pos="0 -0.0775 0.05" size="0.075 0.0025 0.04"/>
      <site name="basket_1_contain_region" type="box" pos="0 0 0.05" size="0.07 0.07 0.04"/>
    </body>
    <body name="cabinet_1" pos="-0.2 0.35 0">
      <geom name="cabinet_1_g0" type="box" pos="0 0 0.0025" size="0.1 0.1 0.0025"/>
      <geom name="cabinet_1_g1" type="box" pos="0.0975 0 0.06" size="0.0025 0.1 0.06"/>
      <geom name="cabinet_1_g2" type="box" pos="-0.0975 0 0.06" size="0.0025 0.1 0.06"/>
      <body name="cabinet_1_drawer" pos="0 0 0.02">
        <joint name="cabinet_1_drawer_joint" type="slide" axis="0 1 0" range="-0.16 0.01"/>
        <geom name="cabinet_1_drawer_g0" type="box" pos="0 0 0.0025" size="0.08 0.08 0.0025" mass="0.3"/>
        <site name="cabinet_1_drawer_region" type="box" pos="0 0 0.04" size="0.07 0.07 0.035"/>
      </body>
    </body>
    <body name="robot0" pos="0 0 0.3">
      <joint name="robot0_x" type="slide" axis="1 0 0"/>
      <joint name="robot0_y" type="slide" axis="0 1 0"/>
      <joint name="robot0_z" type="slide" axis="0 0 1"/>
      <geom name="robot0_arm" type="box" pos="0 0 0.12" size="0.01 0.01 0.04" mass="0.5"/>
      <body name="hand0">
        <geom name="hand0_palm" type="box" pos="0 0 0.06" size="0.015 0.06 0.01" mass="0.3"/>
        <site name="hand0_center" pos="0 0 0"/>
        <body name="hand0_left">
          <joint name="hand0_left_joint" type="slide" axis="0 1 0"/>
          <geom name="hand0_left_pad" type="box" pos="0 0.005 0" size="0.01 0.005 0.015" mass="0.05"/>
        </body>
        <body name="hand0_right">
          <joint name="hand0_right_joint" type="slide" axis="0 1 0"/>
          <geom name="hand0_right_pad" type="box" pos="0 -0.005 0" size="0.01 0.005 0.015" mass="0.05"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="left" joint="hand0_left_joint"/>
    <position name="right" joint="hand0_right_joint"/>
  </actuator>
</mujoco>
"""

BDDL = """
(define (problem synthetic)
  (:domain robosuite)
  (:language put the apple in the basket and close the drawer)
  (:objects apple_1 - apple basket_1 - basket)
  (:obj_of_interest apple_1 basket_1)
  (:init
    (On apple_1 table_zone)
    (Open cabinet_1_drawer_region)
  )
  (:goal
    (And (In apple_1 basket_1_contain_region) (Close cabinet_1_drawer_region))
  )
)
"""


def make_package(xml: str = XML, bddl: str | None = BDDL, task: str = TASK) -> ScenePackage:
    """The scene; other texts make other scenes with the same names."""
    drawer = ("cabinet_1_drawer_joint",)
    scene = Scene(
        simulator="synthetic",
        task=task,
        robot="robot0",
        objects=(
            SceneObject("apple_1", "apple", "object", "apple_1"),
            SceneObject("brick_1", "brick", "object", "brick_1"),
            SceneObject("basket_1", "basket", "object", "basket_1"),
            SceneObject(
                "cabinet_1",
                "cabinet",
                "fixture",
                "cabinet_1",
                drawer,
                Articulation(open=Threshold("<", -0.14), close=Threshold(">", 0.0)),
            ),
        ),
        regions=(
            Region("basket_1_contain_region", "basket_1_contain_region", (0.07, 0.07, 0.04), "basket_1"),
            Region(
                "cabinet_1_drawer_region",
                "cabinet_1_drawer_region",
                (0.07, 0.07, 0.035),
                "cabinet_1",
                joints=drawer,
            ),
            Region("table_zone", "table_zone", (0.05, 0.05, 0.007), surface="table"),
        ),
        surfaces=(Surface("table", "table"),),
        hands=(
            Hand(
                "hand0",
                "hand0",
                "hand0_center",
                ("hand0_left_pad",),
                ("hand0_right_pad",),
                ("hand0_left_joint", "hand0_right_joint"),
            ),
        ),
        control_hz=1 / CONTROL_S,
        substeps=25,
    )
    return ScenePackage(scene, xml, {}, bddl)


@cache
def _model(xml: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(xml)


def columns(package: ScenePackage, joint: str) -> slice:
    """Where a joint lies in qpos: 7 columns for a free one, 1 for a slide."""
    model = _model(package.xml)
    index = model.joint(joint).id
    start = int(model.jnt_qposadr[index])
    return slice(start, start + (7 if model.jnt_type[index] == mujoco.mjtJoint.mjJNT_FREE else 1))


def rest_states(package: ScenePackage, n_states: int) -> dict[str, np.ndarray]:
    """Components of ``n_states`` equal states: objects on the table, drawer open, hand up and open."""
    model = _model(package.xml)
    qpos = np.tile(model.qpos0, (n_states, 1))
    qpos[:, columns(package, "cabinet_1_drawer_joint")] = OPEN
    qpos[:, columns(package, "hand0_left_joint")] = 0.04
    qpos[:, columns(package, "hand0_right_joint")] = -0.04
    return {
        "time": np.arange(n_states)[:, None] * CONTROL_S,
        "qpos": qpos,
        "qvel": np.zeros((n_states, model.nv)),
        "ctrl": np.zeros((n_states, model.nu)),
        "qacc_warmstart": np.zeros((n_states, model.nv)),
    }


def make_trace(package: ScenePackage, n_states: int = 40, seed: int = 0, **metadata: Any) -> Trace:
    """One episode; see the module for what happens in it.

    Args:
        package: The scene.
        n_states: States, at least 1.
        seed: Decides what happens and all noise.
        **metadata: Fields of ``TraceMetadata`` that should differ from the default.
    """
    random = np.random.default_rng([seed, 7])
    kind = seed % 4
    states = rest_states(package, n_states)
    qpos, done = states["qpos"], np.linspace(0.0, 1.0, n_states)
    target = np.array(BESIDE if kind == 1 else (*BASKET[:2], 0.03))
    target[:2] += random.uniform(-0.02, 0.02, 2)
    apple = np.array(APPLE)
    apple[:2] += random.uniform(-0.01, 0.01, 2)
    high, home = np.array([0.0, 0.0, 0.2]), np.array([0.0, 0.0, 0.3])
    path = np.array([home, home, apple, apple, apple + high, target + high, target, target, target + high])
    when = (0.0, 0.1, 0.25, 0.3, 0.45, 0.6, 0.7, 0.75, 0.85)
    hand = np.stack([np.interp(done, when, path[:, axis]) for axis in range(3)], axis=1)
    grip = np.interp(done, (0.25, 0.28, 0.72, 0.75), (0.04, 0.0195, 0.0195, 0.04))
    held = (done >= 0.28) & (done <= 0.72)
    where = np.where(done[:, None] < 0.28, apple, target)
    where[held] = hand[held]
    for axis, name in enumerate("xyz"):
        qpos[:, columns(package, f"robot0_{name}")] = hand[:, [axis]] - home[axis]
    qpos[:, columns(package, "hand0_left_joint")] = grip[:, None]
    qpos[:, columns(package, "hand0_right_joint")] = -grip[:, None]
    qpos[:, columns(package, "apple_1_joint")][:, :3] = where
    qpos[:, columns(package, "brick_1_joint")][:, 3:] = _yaw(random.uniform(-3, 3))
    closing = (0.05, 0.15) if kind == 3 else (0.85, 0.95)
    if kind != 2:
        drawer = np.interp(done, closing, (OPEN, CLOSED))
        qpos[:, columns(package, "cabinet_1_drawer_joint")] = drawer[:, None]
    states["qvel"] = random.normal(size=states["qvel"].shape) * 1e-3
    states["qacc_warmstart"] = random.normal(size=states["qvel"].shape)
    inside = (np.abs(where - (*BASKET[:2], 0.05)) < (0.07, 0.07, 0.04)).all(axis=1)
    closed = qpos[:, columns(package, "cabinet_1_drawer_joint")][:, 0] > 0
    success = (inside & closed)[1:].astype(np.uint8)
    if kind == 1:
        metadata.setdefault("fault", "beside@1")
        label = Label(who="injected", action_id="place_in", parameters=("apple_1", "basket_1_contain_region"))
        metadata.setdefault("labels", (label,))
    cabinet = [-0.2 + random.uniform(-0.02, 0.02), 0.35 + random.uniform(-0.02, 0.02), 0.0]
    fields: dict[str, Any] = {
        "benchmark": "synthetic",
        "suite": "synthetic",
        "task_index": 0,
        "task": package.scene.task,
        "instruction": INSTRUCTION,
        "policy": "placed",
        "seed": 0,
        "episode": seed,
        "init_state_id": seed,
        "horizon": max(n_states - 1, 0),
        "warmup_steps": min(WARMUP, max(n_states - 1, 0)),
        "ended": "terminated" if success.any() else "truncated",
        "versions": {"mujoco": mujoco.__version__},
        "overrides": {"body_pos": {"cabinet_1": cabinet}},
    }
    return Trace(
        scene=package.digest,
        states=states,
        action=random.normal(size=(n_states - 1, 7)),
        reward=success.astype(np.float64),
        success=success,
        metadata=TraceMetadata(**{**fields, **metadata}),
    )


def make_dataset(
    folder: Path, n: int, *, n_states: int = 40, package: ScenePackage | None = None, name: str = "dataset"
) -> Path:
    """A dataset with the traces of seeds 0 to ``n - 1``, in one segment."""
    package = package or make_package()
    root = folder / name
    with DatasetWriter(root) as writer:
        writer.add_scene(package)
        for seed in range(n):
            writer.add(make_trace(package, n_states, seed))
    return root


def oracle_document() -> dict[str, Any]:
    """A fine-grained oracle for the traces: pick the apple up, put it into the basket, close the drawer."""

    def monitor(oracle: str, function: str, *arguments: object) -> dict[str, Any]:
        return {"oracle_id": oracle, "handle_as": {"function": function, "arguments": list(arguments)}}

    def action(name: str, parameters: list[str], *monitoring: dict[str, Any]) -> dict[str, Any]:
        return {"action_id": name, "parameters": parameters, "monitoring": list(monitoring)}

    basket, drawer = "basket_1_contain_region", "cabinet_1_drawer_region"
    pick = action(
        "pick_up",
        ["apple_1"],
        monitor("held", "grasped", "apple_1"),
        monitor("held", "lifted", "apple_1"),
    )
    place = action(
        "place_in",
        ["apple_1", basket],
        monitor("in_region", "in", "apple_1", basket),
        monitor("let_go", "released", "apple_1"),
    )
    close = action("close", [drawer], monitor("closed", "close", drawer))
    return {
        "instruction": INSTRUCTION,
        "execution_mode": "sequential",
        "plan": [
            {
                "step": 1,
                "instruction": "put the apple in the basket",
                "execution_mode": "sequential",
                "actions": [pick, place],
            },
            {
                "step": 2,
                "instruction": "close the drawer",
                "execution_mode": "sequential",
                "actions": [close],
            },
        ],
    }


def write_oracles(folder: Path, document: dict[str, Any] | None = None, name: str = TASK) -> Path:
    """Write one oracle into a folder of its own and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(document or oracle_document()))
    return folder


def _yaw(angle: float) -> list[float]:
    return [float(np.cos(angle / 2)), 0.0, 0.0, float(np.sin(angle / 2))]
