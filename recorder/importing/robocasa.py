"""RoboCasa's LeRobot datasets: the folder ``extras`` has what LeRobot has no place for.

::

    extras/dataset_meta.json                        env_args of the whole dataset
    extras/episode_<number>/states.npz              states, (T, 1 + nq + nv), before the row's action
                            model.xml.gz            MJCF
                            ep_meta.json            instruction and what else the episode's reset drew
    data/chunk-<c>/episode_<number>.parquet         actions, in LeRobot's order of components
    meta/modality.json                              that order
"""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from recorder.adapters.robosuite import instruction_of
from recorder.importing.episode import Array, SourceEpisode, SourceTask
from recorder.importing.errors import EpisodeError, SourceError
from recorder.importing.npz import numeric, read_npz
from recorder.importing.robomimic import kitchen_task

_EPISODE = re.compile(r"episode_([0-9]{1,18})")
_MAX_TEXT: Final = 64 << 20
_MAX_WIDTH: Final = 1024
_MAX_FRAMES: Final = 1 << 30


class RobocasaFolder:
    """One dataset folder.

    Args:
        path: The folder, or its ``extras``.

    Raises:
        SourceError: It has no ``extras`` with episodes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._root = path.parent if path.name == "extras" else path
        self._extras = self._root / "extras"
        found = [
            (int(match[1]), folder.name)
            for folder in (self._extras.iterdir() if self._extras.is_dir() else ())
            if (match := _EPISODE.fullmatch(folder.name)) and folder.is_dir() and not folder.is_symlink()
        ]
        if not found:
            raise SourceError(f"{path}: no episodes extras/episode_<number>")
        self._keys = [name for _, name in sorted(found)]
        meta = _document(self._extras / "dataset_meta.json")
        given = meta.get("env_args")
        env_args: dict[str, Any] = given if isinstance(given, dict) else {}
        env = str(env_args.get("env_name") or meta.get("env") or self._root.name)
        version = env_args.get("env_version")
        versions = {"robosuite": version} if isinstance(version, str) else {}
        self.task = SourceTask("robocasa", "robocasa", env, instruction_of(env), None, versions)

    def keys(self) -> list[str]:
        """See :meth:`Source.keys`."""
        return list(self._keys)

    def filtered(self, name: str) -> list[str]:
        """See :meth:`Source.filtered`: there are none."""
        raise SourceError(f"{self.path}: no filter key {name!r}; this format has none")

    def read(self, key: str) -> SourceEpisode:
        """See :meth:`Source.read`."""
        folder, number = self._extras / key, int(key.removeprefix("episode_"))
        where = f"{self.path}: {key}"
        flat = numeric(read_npz(folder / "states.npz"), "states", where)
        if flat.ndim != 2:
            raise EpisodeError(f"{where}: states of shape {flat.shape}")
        actions, rewards = self._steps(number, len(flat), where)
        told = _document(folder / "ep_meta.json").get("lang")
        task = self.task
        return SourceEpisode(
            key=key,
            number=number,
            xml=_unpack(folder / "model.xml.gz"),
            flat=flat,
            components={},
            actions=actions,
            rewards=rewards,
            label=None if rewards is None else bool((rewards > 0).any()),
            task=kitchen_task(task.task, told, task.versions)
            if isinstance(told, str) and told.strip()
            else None,
        )

    def close(self) -> None:
        """See :meth:`Source.close`: nothing is open."""

    def _steps(self, number: int, rows: int, where: str) -> tuple[Array, Array | None]:
        """Actions and rewards; without the frames there are actions of no numbers."""
        name = f"episode_{number:06d}.parquet"
        files = [path for path in sorted(self._root.glob(f"data/*/{name}")) if not path.is_symlink()]
        if not files:
            return np.zeros((rows, 0)), None
        where = f"{where}: {files[0].name}"
        try:
            with pq.ParquetFile(files[0]) as file:
                wanted = _wanted(file, rows, where)
                table = file.read(columns=wanted, use_threads=False)
            actions = _matrix(table["action"], where)
            rewards = _matrix(table["next.reward"], where) if "next.reward" in wanted else None
        except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
            raise EpisodeError(f"{where}: {error}") from error
        if rewards is not None and rewards.shape[1] != 1:
            raise EpisodeError(f"{where}: rewards of shape {rewards.shape}")
        return actions, None if rewards is None else rewards[:, 0]


def _wanted(file: pq.ParquetFile, rows: int, where: str) -> list[str]:
    """Columns to read of a file with frames, once it is seen that they are no larger than states allow.

    Args:
        file: The file, of which nothing but its metadata has been read.
        rows: States of the episode; there are as many frames, or one fewer.
        where: What it is, for messages.

    Raises:
        EpisodeError: It has other rows, or its columns are too large: a few bytes of Parquet can stand for
            any number of equal ones.
    """
    metadata = file.metadata
    if metadata.num_rows not in (rows, rows - 1):
        raise EpisodeError(f"{where}: {metadata.num_rows} frames do not go with {rows} states")
    wanted = [name for name in ("action", "next.reward") if name in file.schema_arrow.names]
    if "action" not in wanted:
        raise EpisodeError(f"{where}: no column 'action'")
    values = size = 0
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            column = metadata.row_group(group).column(index)
            if any(f"{column.path_in_schema}.".startswith(f"{name}.") for name in wanted):
                values += column.num_values
                size += column.total_uncompressed_size
    if values > rows * _MAX_WIDTH or size > _MAX_FRAMES:
        raise EpisodeError(f"{where}: {values} numbers in {size} bytes are too many for {rows} frames")
    return wanted


def _matrix(column: pa.ChunkedArray, where: str) -> Array:
    """A column of numbers, or of lists of numbers that are equally long, ``(rows, width)``."""
    rows, width, values = len(column), 1, column.combine_chunks()
    if pa.types.is_nested(column.type):
        lengths = pc.unique(pc.list_value_length(values)).to_pylist()
        if len(lengths) > 1 or None in lengths:
            raise EpisodeError(f"{where}: lists of several lengths")
        width, values = lengths[0] if lengths else 0, pc.list_flatten(values)
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise EpisodeError(f"{where}: {column.type} holds no numbers")
    numbers: Array = values.cast(pa.float64()).to_numpy(zero_copy_only=False).reshape(rows, width)
    return numbers


def _document(path: Path) -> dict[str, Any]:
    """A JSON object in a file; empty where there is none that can be read."""
    try:
        if path.is_symlink() or path.stat().st_size > _MAX_TEXT:
            return {}
        found = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _unpack(path: Path) -> str:
    """Text of a gzip file of bounded size."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        content = unpacker.decompress(path.read_bytes(), _MAX_TEXT)
    except (OSError, zlib.error) as error:
        raise EpisodeError(f"{path}: {error}") from error
    if not unpacker.eof:
        raise EpisodeError(f"{path}: cut off, or more than {_MAX_TEXT >> 20} MiB once unpacked")
    return content.decode(errors="replace")
