"""Traces as a LeRobotDataset v3.0, with verdicts as columns by which training data can be filtered.

::

    OUT/meta/info.json                            features, numbers, where files are
    OUT/meta/stats.json                           statistics of every feature
    OUT/meta/tasks.parquet                        instructions by number
    OUT/meta/episodes/chunk-000/file-000.parquet  one row an episode, with its verdicts in words
    OUT/data/chunk-000/file-000.parquet           one row a frame

There are no images: traces have states. A frame is a state with the action after it; the last state has none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import mujoco
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from mango_trace.errors import BadInputError, UsageError
from mango_trace.exporting.selection import Chosen, Exported, Only, Verdict, chosen_traces, verdicts_of
from mango_trace.scene.geoms import subtree
from mango_trace.scene.package import ScenePackage
from mango_trace.store import Dataset

_VERSION: Final = "v3.0"
_FILE: Final = "{folder}/chunk-{{chunk_index:03d}}/file-{{file_index:03d}}.parquet"
_CHUNK_FILES: Final = 1000
_FILE_BYTES: Final = 100 << 20
_QUANTILES: Final = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
_OUTCOMES: Final = {"passed": 1, "failed": 0}
"""Numbers of outcomes in frames; all others are -1."""

_INDICES: Final = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
_VERDICTS: Final = {
    "verdict.goal": "int64",
    "verdict.oracle": "int64",
    "verdict.completed": "int64",
    "verdict.n_actions": "int64",
    "verdict.stopped": "bool",
}
"""In frames: outcome of goal and oracle (1 passed, 0 failed, -1 neither), actions completed up to this state,
actions of the oracle (-1: none), and whether progress had stopped before."""

Columns = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class _Robot:
    """Joints of the robot: names and places in qpos."""

    names: tuple[str, ...]
    columns: tuple[int, ...]


def export_lerobot(
    root: Path | str,
    folder: Path,
    database: Path | None = None,
    *,
    oracle: str = "",
    only: Only | None = None,
    by: Literal["goal", "oracle"] = "goal",
    robot_type: str = "panda",
) -> Exported:
    """Write traces as a LeRobotDataset.

    Args:
        root: The dataset.
        folder: Where to; it must not exist or be empty.
        database: Verdicts that go along.
        oracle: Oracle that is meant, where several judge a task.
        only: Write only traces with this outcome.
        by: Whose outcome that is.
        robot_type: What the dataset calls the robot.

    Raises:
        UsageError: ``only`` is given without verdicts, or the folder holds something.
        BadInputError: No trace can be exported.
        DatasetError: The dataset cannot be read.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder}: not empty; a LeRobotDataset is written as a whole")
    exported = Exported()
    chosen = chosen_traces(Dataset(root), verdicts_of(database, oracle, only), exported, only=only, by=by)
    writer = _Writer(folder, exported)
    for one in chosen:
        try:
            writer.add(one)
        except BadInputError as error:
            exported.errors[one.record.trace_id] = str(error)
        else:
            exported.written += 1
    if not exported.written:
        first = next(iter(exported.errors.values()), "none was chosen")
        raise BadInputError(f"{root}: no trace to export: {first}")
    writer.finish(robot_type)
    return exported


class _Writer:
    """Episodes so far, and the frames that are in no file yet."""

    def __init__(self, folder: Path, exported: Exported) -> None:
        self._folder, self._exported = folder, exported
        self._tasks: dict[str, int] = {}
        self._episodes: list[dict[str, Any]] = []
        self._waiting: list[pa.Table] = []
        self._file = self._frames = 0
        self._robots: dict[str, _Robot] = {}
        self._features: dict[str, dict[str, Any]] = {}
        self._fps = 0
        self._seen: list[Columns] = []

    def add(self, one: Chosen) -> None:
        """Add an episode.

        Raises:
            BadInputError: Its frames are of another kind than those of the first one.
        """
        fps, robot = round(one.package.scene.control_hz), self._robot(one)
        columns = _frames(one, robot)
        features = _features(columns, robot)
        if not self._features:
            self._features, self._fps = features, fps
        if features != self._features or fps != self._fps:
            different = [name for name in features if features[name] != self._features.get(name)]
            raise BadInputError(f"its {', '.join(different) or 'rate'} is not that of the first trace")
        task = self._tasks.setdefault(one.record.metadata.instruction, len(self._tasks))
        episode, length = len(self._episodes), len(one.trace.action)
        frame = np.arange(length)
        columns |= {
            "timestamp": (frame / fps).astype(np.float32),
            "frame_index": frame,
            "episode_index": np.full(length, episode),
            "index": self._frames + frame,
            "task_index": np.full(length, task),
        }
        self._waiting.append(_table(columns))
        self._seen.append(columns)
        self._episodes.append(self._episode(one, episode, length, columns))
        self._frames += length
        if sum(table.nbytes for table in self._waiting) >= _FILE_BYTES:
            self._flush()

    def finish(self, robot_type: str) -> None:
        """Write what is left, and the descriptions."""
        self._flush()
        meta = self._folder / "meta"
        self._write(pa.Table.from_pylist(self._episodes), "meta/episodes", 0)
        _write_tasks(meta / "tasks.parquet", list(self._tasks))
        whole = {name: np.concatenate([columns[name] for columns in self._seen]) for name in self._seen[0]}
        (meta / "stats.json").write_text(json.dumps(_statistics(whole), indent=4))
        info = {
            "codebase_version": _VERSION,
            "robot_type": robot_type,
            "total_episodes": len(self._episodes),
            "total_frames": self._frames,
            "total_tasks": len(self._tasks),
            "chunks_size": _CHUNK_FILES,
            "data_files_size_in_mb": _FILE_BYTES >> 20,
            "video_files_size_in_mb": 200,
            "fps": self._fps,
            "splits": {"train": f"0:{len(self._episodes)}"},
            "data_path": _FILE.format(folder="data"),
            "video_path": None,
            "features": {
                **self._features,
                **{name: {"dtype": kind, "shape": [1], "names": None} for name, kind in _INDICES.items()},
            },
        }
        (meta / "info.json").write_text(json.dumps(info, indent=4))

    def _robot(self, one: Chosen) -> _Robot:
        if one.record.scene not in self._robots:
            self._robots[one.record.scene] = _robot_of(one.package)
        return self._robots[one.record.scene]

    def _episode(self, one: Chosen, episode: int, length: int, columns: Columns) -> dict[str, Any]:
        metadata, verdict = one.record.metadata, one.verdict
        chunk, file = divmod(self._file, _CHUNK_FILES)
        row: dict[str, Any] = {
            "episode_index": episode,
            "tasks": [metadata.instruction],
            "length": length,
            "data/chunk_index": chunk,
            "data/file_index": file,
            "dataset_from_index": self._frames,
            "dataset_to_index": self._frames + length,
            "meta/episodes/chunk_index": 0,
            "meta/episodes/file_index": 0,
            "trace_id": one.record.trace_id,
            "policy": metadata.policy,
            "verdict_goal": verdict.goal,
            "verdict_goal_at_end": verdict.goal_at_end,
            "verdict_oracle": verdict.oracle,
            "verdict_first_failed_action": verdict.first_failed_action or "",
        }
        for name, statistics in _statistics(columns).items():
            row |= {f"stats/{name}/{key}": value for key, value in statistics.items()}
        return row

    def _flush(self) -> None:
        if self._waiting:
            self._write(pa.concat_tables(self._waiting), "data", self._file)
            self._waiting, self._file = [], self._file + 1

    def _write(self, table: pa.Table, folder: str, number: int) -> None:
        chunk, file = divmod(number, _CHUNK_FILES)
        path = self._folder / _FILE.format(folder=folder).format(chunk_index=chunk, file_index=file)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, compression="snappy")
        self._exported.files.append(path)


def _robot_of(package: ScenePackage) -> _Robot:
    """Joints with one number in the robot's part of the model.

    Raises:
        BadInputError: The scene has no robot with joints.
    """
    model = package.compile()
    robot = mujoco.mj_name2id(model, int(mujoco.mjtObj.mjOBJ_BODY), package.scene.robot)
    inside = subtree(model, [robot]) if robot > 0 else ()
    single = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    joints = [
        joint
        for joint in range(model.njnt)
        if int(model.jnt_bodyid[joint]) in inside and int(model.jnt_type[joint]) in single
    ]
    if not joints:
        raise BadInputError(f"its scene {package.scene.task} has no robot with joints")
    return _Robot(
        tuple(model.joint(joint).name for joint in joints),
        tuple(int(model.jnt_qposadr[joint]) for joint in joints),
    )


def _frames(one: Chosen, robot: _Robot) -> Columns:
    trace, length = one.trace, len(one.trace.action)
    done = np.zeros(length, dtype=np.bool_)
    done[-1:] = True
    columns: Columns = {
        "observation.state": trace.states["qpos"][:length, list(robot.columns)].astype(np.float32),
        "action": trace.action.astype(np.float32),
        "next.done": done,
    }
    if np.isfinite(trace.reward).all():
        columns["next.reward"] = trace.reward.astype(np.float32)
    if not np.isfinite(columns["observation.state"]).all():
        raise BadInputError("some of its states are not finite")
    return columns | _verdict_columns(one.verdict, length)


def _verdict_columns(verdict: Verdict, length: int) -> Columns:
    state = np.arange(length)
    completed = np.searchsorted(np.sort(np.array(verdict.completed_at, dtype=np.int64)), state, side="right")
    stopped = np.zeros(length, dtype=np.bool_)
    if verdict.oracle == "failed" and verdict.stopped_at is not None:
        stopped = state > verdict.stopped_at
    return {
        "verdict.goal": np.full(length, _OUTCOMES.get(verdict.goal, -1)),
        "verdict.oracle": np.full(length, _OUTCOMES.get(verdict.oracle, -1)),
        "verdict.completed": completed.astype(np.int64),
        "verdict.n_actions": np.full(length, -1 if verdict.n_actions is None else verdict.n_actions),
        "verdict.stopped": stopped,
    }


def _features(columns: Mapping[str, npt.NDArray[Any]], robot: _Robot) -> dict[str, dict[str, Any]]:
    names: dict[str, list[str]] = {
        "observation.state": list(robot.names),
        "action": [f"action_{index}" for index in range(columns["action"].shape[1])],
    }
    return {
        name: {
            "dtype": _VERDICTS.get(name, str(values.dtype)),
            "shape": [values.shape[1]] if values.ndim == 2 else [1],
            "names": names.get(name),
        }
        for name, values in columns.items()
    }


def _table(columns: Columns) -> pa.Table:
    arrays = {}
    for name, values in columns.items():
        if values.ndim == 2:
            flat = pa.array(np.ascontiguousarray(values).ravel())
            arrays[name] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
        else:
            arrays[name] = pa.array(values)
    return pa.table(arrays)


def _statistics(columns: Columns) -> dict[str, dict[str, list[Any]]]:
    """Statistics over frames, each a list with one number a component."""
    found = {}
    for name, values in columns.items():
        rows = values.reshape(len(values), -1)
        wide = rows.astype(np.float64)
        found[name] = {
            "min": rows.min(axis=0).tolist(),
            "max": rows.max(axis=0).tolist(),
            "mean": wide.mean(axis=0).tolist(),
            "std": wide.std(axis=0).tolist(),
            "count": [len(rows)],
            **{key: np.quantile(wide, share, axis=0).tolist() for key, share in _QUANTILES.items()},
        }
    return found


def _write_tasks(path: Path, tasks: Sequence[str]) -> None:
    """Instructions as the index of a pandas table, which is how they are looked up."""
    index = "__index_level_0__"
    described = [_pandas("task_index", "int64", "int64"), _pandas(index, "unicode", "object", named=False)]
    about = {
        "index_columns": [index],
        "column_indexes": [
            {
                "name": None,
                "field_name": None,
                "pandas_type": "unicode",
                "numpy_type": "object",
                "metadata": {"encoding": "UTF-8"},
            }
        ],
        "columns": described,
        "pandas_version": "2.2.0",
    }
    table = pa.table({"task_index": pa.array(range(len(tasks)), pa.int64()), index: pa.array(tasks)})
    pq.write_table(table.replace_schema_metadata({b"pandas": json.dumps(about).encode()}), path)


def _pandas(field: str, kind: str, numpy_type: str, *, named: bool = True) -> dict[str, Any]:
    name = field if named else None
    return {
        "name": name,
        "field_name": field,
        "pandas_type": kind,
        "numpy_type": numpy_type,
        "metadata": None,
    }
