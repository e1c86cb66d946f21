"""LIBERO demonstration files, made of recorded rollouts in the layout of LIBERO's ``create_dataset.py``.

::

    write_demonstrations(path, traces)          one file, demo_0, demo_1, ... in the order of the traces
    shared_states(native, imported)             states of a rollout that are also in its demonstration

The script plays a collected demonstration, drops its first five steps, and writes for every other step the
state before it, its action and the observation after it. The state after the last action is not written;
reward and done of the last row are 1 whatever happened.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import h5py
import mujoco
import numpy as np

from mango_trace.scene.overrides import apply_overrides
from mango_trace.store import Trace
from recorder.adapters.libero import LiberoAdapter, make_env, seeded_reset, tasks_of

DROPPED = 5
"""Steps that the script leaves out, because a force sensor is not stable before."""


def write_demonstrations(path: Path, traces: Sequence[Trace], *, dropped: int = DROPPED) -> Path:
    """Write rollouts of one task as LIBERO's script writes demonstrations."""
    metadata = traces[0].metadata
    task = tasks_of(metadata.suite)[metadata.task_index]
    env = make_env(task, 1000)
    adapter = LiberoAdapter()
    try:
        seeded_reset(env, 0)
        with h5py.File(path, "w") as file:
            data = file.create_group("data")
            data.attrs["env_name"] = type(env.env).__name__
            problem = {
                "problem_name": type(env.env).__name__.lower(),
                "domain_name": "robosuite",
                "language_instruction": task.instruction,
            }
            data.attrs["problem_info"] = json.dumps(problem)
            data.attrs["macros_image_convention"] = "opengl"
            data.attrs["bddl_file_name"] = f"chiliocosm/bddl_files/{metadata.suite}/{task.bddl.name}"
            data.attrs["bddl_file_content"] = task.bddl.read_text()
            env_args = {"type": 1, "env_name": type(env.env).__name__, "env_kwargs": {"control_freq": 20}}
            data.attrs["env_args"] = json.dumps(env_args)
            for number, trace in enumerate(traces):
                model = printed_model(env, adapter, trace)
                _write_demo(data.create_group(f"demo_{number}"), trace, model, dropped)
            data.attrs["num_demos"] = len(traces)
    finally:
        env.close()
    return path


def printed_model(env, adapter: LiberoAdapter, trace: Trace) -> str:
    """The model of a rollout as MuJoCo prints it: with fewer digits than it has."""
    env.env.reset_from_xml_string(env.env.model.get_xml())
    apply_overrides(adapter.physics(env)[0], trace.metadata.overrides)
    with tempfile.TemporaryDirectory() as folder:  # what sim.model.get_xml() does, which leaves a file open
        printed = Path(folder) / "model.xml"
        mujoco.mj_saveLastXML(str(printed), adapter.physics(env)[0])
        return printed.read_text()


def _write_demo(demo: h5py.Group, trace: Trace, model: str, dropped: int) -> None:
    flat = np.concatenate([trace.states[name] for name in ("time", "qpos", "qvel")], axis=1)
    rows = len(trace.action) - dropped
    ones = np.zeros(rows, dtype=np.uint8)
    ones[-1] = 1
    demo.create_dataset("states", data=flat[dropped:-1])
    demo.create_dataset("actions", data=trace.action[dropped:])
    demo.create_dataset("rewards", data=ones)
    demo.create_dataset("dones", data=ones)
    demo.create_dataset("obs/joint_states", data=trace.states["qpos"][dropped + 1 :, :7])
    demo.attrs["num_samples"] = rows
    demo.attrs["model_file"] = model
    demo.attrs["init_state"] = flat[dropped]
