"""Demonstrations and rollouts of robosuite, robomimic and LIBERO in HDF5.

::

    data                attributes: env, env_info (robosuite); env_args (robomimic);
                        bddl_file_name, bddl_file_content, problem_info (LIBERO)
    data/demo_<n>       attributes: model_file (MJCF text), ep_meta (RoboCasa)
        states          (T, 1 + nq + nv), before the action of the same row
        terminal_state  (1 + nq + nv,), only where this program wrote the file
        actions         (T, action_dim)
        rewards         (T,), optional
        obs/...         not read: object poses come from states and model alone
    mask/<name>         names of demonstrations, optional
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from mango_trace.errors import BddlError, suggest
from mango_trace.scene.bddl import parse_bddl, unify_lines
from recorder.adapters.libero import SUITES
from recorder.adapters.robosuite import instruction_of
from recorder.importing import hdf5
from recorder.importing.episode import Array, SourceEpisode, SourceTask
from recorder.importing.errors import EpisodeError, SourceError


class RobomimicFile:
    """One HDF5 file.

    Args:
        path: The file.

    Raises:
        SourceError: It cannot be read, or has no demonstrations.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = hdf5.open_file(path)
        try:
            self._data = hdf5.subgroup(self._file, "data", str(path))
            self._keys = hdf5.numbered(self._data, "demo_")
            self.task = _task(self._data, path)
            if not self._keys:
                raise SourceError(f"{path}: no demonstrations data/demo_<number>")
        except BaseException as error:
            self.close()
            if isinstance(error, EpisodeError):
                raise SourceError(str(error)) from error
            raise

    def keys(self) -> list[str]:
        """See :meth:`Source.keys`."""
        return list(self._keys)

    def filtered(self, name: str) -> list[str]:
        """See :meth:`Source.filtered`: robomimic's filter keys."""
        there = hdf5.has(self._file, "mask")
        try:
            masks = hdf5.subgroup(self._file, "mask", str(self.path)) if there else None
            if masks is None or not hdf5.has(masks, name):
                raise SourceError(f"{self.path}: no filter key {name!r}{suggest(name, list(masks or ()))}")
            kept = hdf5.names(masks, name, f"{self.path}: mask")
        except EpisodeError as error:
            raise SourceError(str(error)) from error
        return [key for key in self._keys if key in kept]

    def read(self, key: str) -> SourceEpisode:
        """See :meth:`Source.read`."""
        where = f"{self.path}: data/{key}"
        demo = hdf5.subgroup(self._data, key, f"{self.path}: data")
        rewards = hdf5.numbers(demo, "rewards", where, 1) if hdf5.has(demo, "rewards") else None
        return SourceEpisode(
            key=key,
            number=int(key.removeprefix("demo_")),
            xml=self._model(demo, where),
            flat=_states(demo, where),
            components={},
            actions=hdf5.numbers(demo, "actions", where, 2),
            rewards=rewards,
            label=None if rewards is None else bool((rewards > 0).any()),
            robot_joints=_robot_joints(demo, where),
            task=_kitchen_task(self.task, hdf5.document(demo, "ep_meta")),
        )

    def close(self) -> None:
        """See :meth:`Source.close`."""
        self._file.close()

    def _model(self, demo: Any, where: str) -> str:
        """Text of the model, which old robosuite keeps in a folder ``models`` beside the file."""
        model = hdf5.text(demo, "model_file")
        if model is None:
            raise EpisodeError(f"{where}: no attribute 'model_file', so its states mean nothing")
        if model.lstrip().startswith("<"):
            return model
        name = PureWindowsPath(model).name
        beside = self.path.parent / "models" / name
        if name != model or not beside.is_file() or beside.is_symlink():
            raise EpisodeError(f"{where}: its model {model!r} is not in {beside.parent}")
        return beside.read_text(errors="replace")


def _task(data: Any, path: Path) -> SourceTask:
    bddl = hdf5.text(data, "bddl_file_content")
    bddl_name = hdf5.text(data, "bddl_file_name")
    env_args = hdf5.document(data, "env_args")
    versions = {}
    version = hdf5.text(data, "repository_version") or env_args.get("env_version")
    if isinstance(version, str) and version:
        versions["robosuite"] = version
    hz = (env_args.get("env_kwargs") or {}).get("control_freq", 20)
    control_hz = float(hz) if isinstance(hz, int | float) and hz > 0 else 20.0
    if bddl is not None or bddl_name is not None:
        return _libero_task(data, path, bddl, bddl_name, versions, control_hz)
    info = hdf5.document(data, "env_info")
    env = hdf5.text(data, "env") or env_args.get("env_name") or info.get("env_name")
    if not isinstance(env, str) or not env:
        raise SourceError(f"{path}: says nothing of its environment: no attribute env, env_args, env_info")
    benchmark = "robocasa" if "layout_and_style_ids" in (env_args.get("env_kwargs") or {}) else "robosuite"
    task = env.removeprefix("Robosuite_").split("_")[0]
    return SourceTask(benchmark, benchmark, task, instruction_of(task), None, versions, control_hz)


def _libero_task(
    data: Any, path: Path, bddl: str | None, bddl_name: str | None, versions: dict[str, str], hz: float
) -> SourceTask:
    if bddl is None:
        raise SourceError(f"{path}: names the BDDL file {bddl_name!r} and does not carry its content")
    bddl = unify_lines(bddl)
    try:
        problem = parse_bddl(bddl, f"{path}: bddl_file_content")
    except BddlError as error:
        raise SourceError(str(error)) from error
    name = PurePosixPath((bddl_name or path.name).replace("\\", "/"))
    task = name.stem.removesuffix("_demo")
    suite = next((part for part in reversed(name.parts) if part in SUITES), "")
    told = hdf5.document(data, "problem_info").get("language_instruction")
    instruction = told if isinstance(told, str) and told.strip() else problem.instruction
    return SourceTask("libero", suite, task, instruction.strip('" '), bddl, versions, hz)


def _kitchen_task(task: SourceTask, meta: dict[str, Any]) -> SourceTask | None:
    """RoboCasa words the instruction of every episode anew."""
    told = meta.get("lang")
    if not isinstance(told, str) or not told.strip():
        return None
    return kitchen_task(task.task, told, task.versions, task.control_hz)


def kitchen_task(
    task: str, instruction: str, versions: Mapping[str, str], control_hz: float = 20.0
) -> SourceTask:
    """Task of one RoboCasa episode."""
    return SourceTask("robocasa", "robocasa", task, instruction.strip(), None, versions, control_hz)


def _states(demo: Any, where: str) -> Array:
    """States before the actions, and the terminal one where this program wrote the file."""
    states = hdf5.numbers(demo, "states", where, 2)
    if not hdf5.has(demo, "terminal_state"):
        return states
    last = hdf5.numbers(demo, "terminal_state", where, 1)
    if last.shape != states.shape[1:]:
        raise EpisodeError(f"{where}: terminal_state has {len(last)} numbers, states {states.shape[1]}")
    return np.concatenate([states, last[None]])


def _robot_joints(demo: Any, where: str) -> Array | None:
    obs = hdf5.subgroup(demo, "obs", where) if hdf5.has(demo, "obs") else None
    for name in ("joint_states", "robot0_joint_pos"):
        if obs is not None and hdf5.has(obs, name):
            return hdf5.numbers(obs, name, f"{where}/obs", 2)
    return None
