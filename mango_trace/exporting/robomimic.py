"""Traces as robomimic's HDF5, one file a task, with verdicts as attributes and filter keys.

::

    OUT/<task>.hdf5   data             attributes env_args; of LIBERO also bddl_file_name, bddl_file_content
                      data/demo_<n>    states, actions, dones, rewards (if recorded), terminal_state;
                                       attributes model_file, trace_id, verdict_goal, verdict_oracle, ...
                      mask/<name>      goal_passed, goal_failed, oracle_passed, ...: robomimic's filter keys
    OUT/assets/       meshes that the models name

A row of ``states`` is the state before its action. The state after the last action, which the layout has no
place for, is ``terminal_state``; other programs pass over it.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from mango_trace.errors import BadInputError, UsageError
from mango_trace.exporting.selection import Chosen, Exported, Only, chosen_traces, verdicts_of
from mango_trace.scene.overrides import Overrides
from mango_trace.scene.package import ScenePackage
from mango_trace.store import Dataset

_PLACED: Final = {"body_pos": "pos", "body_quat": "quat"}
_OTHER_ROTATIONS: Final = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def export_robomimic(
    root: Path | str,
    folder: Path,
    database: Path | None = None,
    *,
    oracle: str = "",
    only: Only | None = None,
    by: Literal["goal", "oracle"] = "goal",
) -> Exported:
    """Write traces as robomimic's HDF5.

    Args:
        root: The dataset.
        folder: Where to; files of the same names are replaced.
        database: Verdicts that go along.
        oracle: Oracle that is meant, where several judge a task.
        only: Write only traces with this outcome.
        by: Whose outcome that is.

    Raises:
        UsageError: h5py is not installed, or ``only`` is given without verdicts.
        DatasetError: The dataset cannot be read.
    """
    try:
        import h5py
    except ModuleNotFoundError as error:
        raise UsageError("robomimic's HDF5 needs h5py; pip install 'mango-trace[import]'") from error
    exported = Exported()
    dataset = Dataset(root)
    chosen = chosen_traces(dataset, verdicts_of(database, oracle, only), exported, only=only, by=by)
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Any] = {}
    masks: dict[str, dict[str, list[str]]] = {}
    try:
        for one in chosen:
            task = one.package.scene.task
            name = _UNSAFE.sub("_", task)
            if name not in files:
                path = folder / f"{name}.hdf5"
                files[name] = h5py.File(path, "w")
                exported.files.append(path)
                _describe(files[name].create_group("data"), one)
            demos = masks.setdefault(name, {})
            try:
                demo = _write(files[name]["data"], one)
            except BadInputError as error:
                exported.errors[one.record.trace_id] = str(error)
                continue
            exported.written += 1
            _write_assets(folder / "assets", one.package)
            for mask in (f"goal_{one.verdict.goal}", f"oracle_{one.verdict.oracle}"):
                demos.setdefault(mask, []).append(demo)
        for name, kept in masks.items():
            files[name]["data"].attrs["total"] = sum(
                int(demo.attrs["num_samples"]) for demo in files[name]["data"].values()
            )
            for mask, demos_of_mask in kept.items():
                files[name][f"mask/{mask}"] = np.array(demos_of_mask, dtype="S")
    finally:
        for file in files.values():
            file.close()
    return exported


def _describe(data: Any, one: Chosen) -> None:
    metadata, scene = one.record.metadata, one.package.scene
    env_args = {
        "type": 1,  # robomimic's number for robosuite
        "env_name": metadata.task,
        "env_version": metadata.versions.get("robosuite", ""),
        "env_kwargs": {"control_freq": scene.control_hz},
    }
    data.attrs["env_args"] = json.dumps(env_args)
    data.attrs["env"] = metadata.task
    if one.package.bddl is not None and scene.simulator == "libero":
        problem = one.package.problem
        data.attrs["bddl_file_name"] = f"bddl_files/{metadata.suite}/{metadata.task}.bddl"
        data.attrs["bddl_file_content"] = one.package.bddl
        told = {"language_instruction": metadata.instruction, "problem_name": problem.name if problem else ""}
        data.attrs["problem_info"] = json.dumps(told)


def _write(data: Any, one: Chosen) -> str:
    trace, verdict = one.trace, one.verdict
    missing = [name for name in ("time", "qpos", "qvel") if name not in trace.states]
    if missing:
        raise BadInputError(f"its states lack {', '.join(missing)}, which the layout needs")
    xml = placed_xml(one.package, one.record.metadata.overrides)
    flat = np.concatenate([trace.states[name] for name in ("time", "qpos", "qvel")], axis=1)
    name = f"demo_{len(data)}"
    demo = data.create_group(name)
    packed: dict[str, Any] = {"compression": "gzip", "shuffle": True} if len(trace.action) else {}
    demo.create_dataset("states", data=flat[:-1], **packed)
    demo.create_dataset("actions", data=trace.action, **packed)
    demo.create_dataset("terminal_state", data=flat[-1])
    dones = np.zeros(len(trace.action), dtype=np.uint8)
    dones[-1:] = 1
    demo.create_dataset("dones", data=dones)
    if np.isfinite(trace.reward).all():
        demo.create_dataset("rewards", data=trace.reward)
    attributes = {
        "model_file": xml,
        "num_samples": len(trace.action),
        "trace_id": one.record.trace_id,
        "policy": one.record.metadata.policy,
        "verdict_goal": verdict.goal,
        "verdict_goal_at_end": verdict.goal_at_end,
        "verdict_oracle": verdict.oracle,
        "verdict_completed": verdict.completed,
        "verdict_n_actions": verdict.n_actions,
        "verdict_first_failed_action": verdict.first_failed_action,
        "verdict_stopped_at": verdict.stopped_at,
    }
    for key, value in attributes.items():
        if value is not None:
            demo.attrs[key] = value
    return name


def placed_xml(package: ScenePackage, overrides: Overrides) -> str:
    """A scene's model with things where a reset put them.

    Raises:
        BadInputError: The reset changed something that is not the place of a body.
    """
    other = sorted(overrides.keys() - _PLACED.keys())
    if other:
        raise BadInputError(f"its reset changed {', '.join(other)}, which no text of the model is made for")
    root = ET.fromstring(package.xml)  # noqa: S314  checked when the package was read
    bodies = {body.get("name"): body for body in root.iter("body")}
    for field, attribute in _PLACED.items():
        for name, numbers in overrides.get(field, {}).items():
            if name not in bodies:
                raise BadInputError(f"its reset moved {name!r}, which is no body of its model")
            for rotation in _OTHER_ROTATIONS if attribute == "quat" else ():
                bodies[name].attrib.pop(rotation, None)
            bodies[name].set(attribute, _numbers(numbers))
    return ET.tostring(root, encoding="unicode")


def _numbers(values: Sequence[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


def _write_assets(folder: Path, package: ScenePackage) -> None:
    for name, content in package.assets.items():
        path = folder / name
        if not path.exists():
            folder.mkdir(exist_ok=True)
            path.write_bytes(content)
