"""States of MuJoCo's components in an NPZ, as MetaSim's and other people's scripts save them.

::

    time, qpos, qvel     (T,) or (T, 1); (T, nq); (T, nv), the last two as in MuJoCo
    act, mocap_pos, ...  further components, optional
    actions, rewards     (T, action_dim) or (T - 1, ...); optional
    model                MJCF text; else a file of the same name with .xml beside it
    task, instruction    texts, optional

Several NPZ files of a folder are its episodes, by the number in their names. MetaSim's own pickles are not
read: unpickling runs whatever is in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from recorder.importing.episode import Array, SourceEpisode, SourceTask
from recorder.importing.errors import EpisodeError, SourceError
from recorder.importing.npz import numeric, read_npz

_STATE: Final = ("time", "qpos", "qvel", "act", "mocap_pos", "mocap_quat")
_NUMBER = re.compile(r"([0-9]{1,18})$")


class MetasimFiles:
    """One NPZ file, or a folder of them.

    Args:
        path: The file or folder.

    Raises:
        SourceError: There is no NPZ file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
        files = [file for file in files if not file.is_symlink()]
        if not files:
            raise SourceError(f"{path}: no .npz files")
        numbered = [(_number(file, index), file) for index, file in enumerate(files)]
        if len({number for number, _ in numbered}) != len(numbered):
            numbered = list(enumerate(files))
        self._files = {f"{file.stem}_{number}": file for number, file in sorted(numbered)}
        self.task = SourceTask("metasim", "metasim", path.stem, path.stem.replace("_", " "))

    def keys(self) -> list[str]:
        """See :meth:`Source.keys`."""
        return list(self._files)

    def filtered(self, name: str) -> list[str]:
        """See :meth:`Source.filtered`: there are none."""
        raise SourceError(f"{self.path}: no filter key {name!r}; this format has none")

    def read(self, key: str) -> SourceEpisode:
        """See :meth:`Source.read`."""
        file = self._files[key]
        arrays = read_npz(file)
        components = {name: _rows(arrays, name, str(file)) for name in _STATE if name in arrays}
        if "qpos" not in components:
            raise EpisodeError(f"{file}: no array 'qpos'; there are: {', '.join(sorted(arrays)) or 'none'}")
        if "time" not in components:
            raise EpisodeError(f"{file}: no array 'time', so a reset inside it could not be seen")
        rewards = _rows(arrays, "rewards", str(file)).ravel() if "rewards" in arrays else None
        n = len(components["qpos"])
        task = _text(arrays, "task") or self.task.task
        return SourceEpisode(
            key=key,
            number=int(key.rpartition("_")[2]),
            xml=_model(file, arrays),
            flat=np.empty((0, 0)),
            components=components,
            actions=_rows(arrays, "actions", str(file)) if "actions" in arrays else np.zeros((n - 1, 0)),
            rewards=rewards,
            label=None if rewards is None else bool((rewards > 0).any()),
            task=SourceTask(
                "metasim", "metasim", task, _text(arrays, "instruction") or task.replace("_", " ")
            ),
        )

    def close(self) -> None:
        """See :meth:`Source.close`: nothing is open."""


def _number(file: Path, default: int) -> int:
    match = _NUMBER.search(file.stem)
    return int(match[1]) if match else default


def _rows(arrays: Mapping[str, np.ndarray[Any, Any]], name: str, where: str) -> Array:
    values: Array = numeric(arrays, name, where)
    values = values[:, None] if values.ndim == 1 else values
    return values.reshape(len(values), -1)


def _text(arrays: Mapping[str, np.ndarray[Any, Any]], name: str) -> str:
    values = arrays.get(name)
    return (
        str(values.item()).strip()
        if values is not None and values.dtype.kind == "U" and values.size == 1
        else ""
    )


def _model(file: Path, arrays: Mapping[str, np.ndarray[Any, Any]]) -> str:
    text = _text(arrays, "model")
    beside = file.with_suffix(".xml")
    if text:
        return text
    if beside.is_file() and not beside.is_symlink():
        return beside.read_text(errors="replace")
    raise EpisodeError(f"{file}: no text 'model' and no {beside.name}, so its states mean nothing")
