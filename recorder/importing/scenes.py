"""Which scene an imported episode plays in: a package that many share, and what its own model has elsewhere.

A file carries the model of every episode as MuJoCo printed it, which loses digits. Where it is the installed
benchmark's model up to those digits, apart from where things stand, the installed one is taken: it is exact,
and all episodes share it. Else the model of the file's first episode is shared in the same way, and what fits
neither keeps a scene of its own. Which of the three it is depends on the file alone.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import mujoco
import numpy as np

from mango_trace.errors import MangoTraceError
from mango_trace.scene.model import Scene
from mango_trace.scene.overrides import Overrides, find_overrides, pristine
from mango_trace.scene.package import ScenePackage
from mango_trace.scene.slim import slim_model
from recorder.adapters.libero import LiberoAdapter, LiberoTask, make_env, seeded_reset
from recorder.adapters.robosuite import goal_of, scene_of
from recorder.importing.episode import SourceTask
from recorder.importing.errors import EpisodeError
from recorder.importing.model_text import ReadableModel, read_model

_PRINTED: Final = 5e-6
"""What six printed digits leave open, absolute and relative."""

_PLACES: Final = frozenset({"body_pos", "body_quat", "site_pos", "site_quat"})
"""Fields in which models that share a scene may differ. Bounds of geoms are computed when a model is
compiled, so that shapes may not."""
_MEANINGLESS: Final = frozenset({"site_size"})
"""Sizes that a site's shape does not use are not printed; regions have theirs from the benchmark."""

_INERTIA: Final = frozenset({"body_mass", "body_inertia", "body_ipos", "body_iquat"})
"""What means nothing of a body that never moves."""

_STRUCTURE: Final = (
    *("body_parentid", "jnt_type", "jnt_bodyid", "jnt_qposadr", "site_bodyid", "body_mocapid"),
    *("geom_type", "geom_bodyid", "geom_dataid", "geom_contype", "geom_conaffinity", "mesh_vertnum"),
)
_SAFE_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII)
_FILE_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_KEPT: Final = 8


@dataclass(frozen=True, slots=True)
class Placed:
    """Where an episode plays.

    Attributes:
        package: Its scene.
        overrides: What its own model has elsewhere.
        model: Its own model, as the file has it.
        notes: What was changed in the model, and why the scene is not shared, if so.
    """

    package: ScenePackage
    overrides: Overrides
    model: mujoco.MjModel
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Base:
    package: ScenePackage
    model: mujoco.MjModel


class SceneBook:
    """Scenes that this process has met.

    Args:
        roots: Folders with assets.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots
        self._adapter = LiberoAdapter()
        self._installed: dict[tuple[str, str, str], _Base | EpisodeError] = {}
        self._own: dict[tuple[str, str, str, str], _Base] = {}

    def place(self, task: SourceTask, xml: str, first_xml: Callable[[], str], where: str) -> Placed:
        """Find or make the scene of an episode.

        Args:
            task: Task of the episode.
            xml: Its model.
            first_xml: Gives the model of the file's first episode.
            where: What it is, for messages.

        Raises:
            EpisodeError: Its model cannot be read, or no scene can be made of it.
        """
        readable = read_model(xml, self._roots, where)
        installed = self._installed_base(task) if task.bddl is not None else None
        reason = ""
        if installed is not None:
            found = _placed_in(installed, readable)
            if isinstance(found, Placed):
                return found
            reason = f"the model is not that of the installed LIBERO: {found}; the file's own is used"
        try:
            first = first_xml()
            if first != xml:
                shared = self._own_base(task, read_model(first, self._roots, where), where, installed)
                found = _placed_in(shared, readable)
                if isinstance(found, Placed):
                    return _with_note(found, reason)
        except EpisodeError:
            pass  # said where the first episode itself is imported
        own = self._own_base(task, readable, where, installed)
        return _with_note(Placed(own.package, {}, readable.model, readable.notes), reason)

    def _installed_base(self, task: SourceTask) -> _Base:
        """LIBERO's own scene for a BDDL text."""
        assert task.bddl is not None
        key = (task.suite, task.task, task.bddl)
        if key not in self._installed:
            _forget(self._installed)
            try:
                self._installed[key] = self._build_libero(task)
            except EpisodeError as error:
                self._installed[key] = error
        found = self._installed[key]
        if isinstance(found, EpisodeError):
            raise found
        return found

    def _build_libero(self, task: SourceTask) -> _Base:
        assert task.bddl is not None
        if not _FILE_NAME.fullmatch(task.task):
            raise EpisodeError(f"{task.task!r} is no name of a task")
        with tempfile.TemporaryDirectory() as folder:
            bddl = Path(folder) / (task.suite or "imported") / f"{task.task}.bddl"
            bddl.parent.mkdir()
            try:
                bddl.write_text(task.bddl, newline="\n")
            except UnicodeEncodeError as error:
                raise EpisodeError(f"its BDDL is no text: {error}") from error
            check_harmless(bddl)
            try:
                env = make_env(LiberoTask(task.suite, 0, task.task, task.instruction, bddl), 1000)
            except MangoTraceError:
                raise
            except Exception as error:  # LIBERO raises whatever it likes
                raise EpisodeError(
                    f"LIBERO cannot build the scene of {task.task}: {type(error).__name__}: {error}"
                ) from error
            try:
                seeded_reset(env, 0)
                package, _ = self._adapter.scene(env)
                model = read_model(env.env.model.get_xml(), self._roots, f"LIBERO's {task.task}").model
            finally:
                env.close()
        return _Base(package, model)

    def _own_base(
        self, task: SourceTask, readable: ReadableModel, where: str, installed: _Base | None
    ) -> _Base:
        key = (task.benchmark, task.task, task.bddl or "", readable.xml)
        if key not in self._own:
            _forget(self._own)
            slim = slim_model(readable.xml, readable.model)
            if installed is not None:
                scene, bddl = installed.package.scene, task.bddl
                _check_names(scene, readable.model, where)
            else:
                scene = scene_of(readable.model, task.benchmark, task.task, control_hz=task.control_hz)
                bddl = goal_of(task.task) if task.benchmark == "robosuite" else None
            self._own[key] = _Base(ScenePackage(scene, slim.xml, slim.assets, bddl), readable.model)
        return self._own[key]


def check_harmless(bddl: Path) -> None:
    """See that LIBERO, which runs the rotations of regions as Python, meets numbers only.

    The file is split by LIBERO's own scanner, so that comments and lines end for both at the same places.

    Args:
        bddl: The very file that LIBERO is to read.

    Raises:
        EpisodeError: LIBERO would run something else, or cannot read it.
    """
    from bddl.parsing import scan_tokens

    try:
        waiting = [(scan_tokens(filename=str(bddl)), False)]
    except Exception as error:  # that is what it raises
        raise EpisodeError(f"LIBERO cannot read its BDDL: {error}") from error
    while waiting:
        node, is_run = waiting.pop()
        if isinstance(node, list):
            rotates = node[:1] == [":yaw_rotation"]
            waiting += [(inner, is_run or rotates) for inner in (node[1:] if rotates else node)]
        elif is_run and not _SAFE_NUMBER.fullmatch(node):
            raise EpisodeError(
                f"a :yaw_rotation of its BDDL has {node!r}, no number; LIBERO would run it as Python"
            )


def _placed_in(base: _Base, readable: ReadableModel) -> Placed | str:
    """A model as the base with some things elsewhere, or what else differs."""
    model = readable.model
    if model.names != base.model.names:
        return "other names"
    for field in _STRUCTURE:
        if not np.array_equal(getattr(model, field), getattr(base.model, field)):
            return f"{field} differs"
    if not np.allclose(model.mesh_vert, base.model.mesh_vert, rtol=_PRINTED, atol=_PRINTED):
        return "meshes differ"
    overrides = _differences(model, base.model)
    other = sorted(overrides.keys() - _PLACES)
    if other:
        names = ", ".join(list(overrides[other[0]])[:3])
        return f"{other[0]} of {names} differs"
    return Placed(base.package, overrides, model, readable.notes)


def _differences(model: mujoco.MjModel, base: mujoco.MjModel) -> Overrides:
    """Numbers in which two models differ by more than printing explains, where that means anything."""
    found = find_overrides(model, pristine(base), within=_PRINTED)
    for field in _INERTIA & found.keys():
        rows = found[field].items()
        found[field] = {name: row for name, row in rows if _moves(model, name)}
    return {field: rows for field, rows in found.items() if rows and field not in _MEANINGLESS}


def _moves(model: mujoco.MjModel, body: str) -> bool:
    index = mujoco.mj_name2id(model, int(mujoco.mjtObj.mjOBJ_BODY), body)
    return bool(model.body_weldid[index] != 0)


def _check_names(scene: Scene, model: mujoco.MjModel, where: str) -> None:
    """See that what a scene names is in a model.

    Raises:
        EpisodeError: Something is not; all that is missing is listed.
    """
    wanted = {
        "body": [
            scene.robot,
            *(item.body for item in scene.objects),
            *(surface.body for surface in scene.surfaces),
            *(hand.body for hand in scene.hands),
        ],
        "site": [*(region.site for region in scene.regions), *(hand.center for hand in scene.hands)],
        "geom": [pad for hand in scene.hands for pad in (*hand.left_pads, *hand.right_pads)],
        "joint": [joint for item in scene.objects for joint in item.joints],
    }
    kinds = {
        "body": mujoco.mjtObj.mjOBJ_BODY,
        "site": mujoco.mjtObj.mjOBJ_SITE,
        "geom": mujoco.mjtObj.mjOBJ_GEOM,
        "joint": mujoco.mjtObj.mjOBJ_JOINT,
    }
    missing = [
        f"{kind} {name}"
        for kind, names in wanted.items()
        for name in dict.fromkeys(names)
        if mujoco.mj_name2id(model, int(kinds[kind]), name) < 0
    ]
    if missing:
        raise EpisodeError(f"{where}: its model lacks what its BDDL speaks of: {', '.join(missing)}")


def _with_note(placed: Placed, note: str) -> Placed:
    notes = (*placed.notes, note) if note else placed.notes
    return Placed(placed.package, placed.overrides, placed.model, notes)


def _forget(kept: dict[Any, Any]) -> None:
    while len(kept) >= _KEPT:
        kept.pop(next(iter(kept)))
