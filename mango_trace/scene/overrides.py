"""What a reset wrote into the model, apart from the state.

Fixtures are placed by writing ``body_pos``; that is not part of MuJoCo's state and differs from
episode to episode. An override names the field, the element and the numbers, so that it applies to
any model with the same names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

import mujoco
import numpy as np
import numpy.typing as npt

from mango_trace.errors import SceneError, suggest

Overrides: TypeAlias = dict[str, dict[str, list[float]]]
"""Field of ``mjModel`` -> name of the element -> its numbers."""

_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "body": ("pos", "quat", "mass", "inertia", "ipos", "iquat", "gravcomp"),
    "geom": (
        *("pos", "quat", "size", "friction", "solref", "solimp", "solmix", "margin", "gap"),
        *("contype", "conaffinity"),
    ),
    "site": ("pos", "quat", "size"),
    "jnt": ("pos", "axis", "range", "stiffness", "solref", "solimp", "margin"),
    "actuator": ("gainprm", "biasprm", "ctrlrange", "forcerange", "gear"),
    "eq": ("data", "solref", "solimp"),
}
_OBJECTS: Final = {
    "body": mujoco.mjtObj.mjOBJ_BODY,
    "geom": mujoco.mjtObj.mjOBJ_GEOM,
    "site": mujoco.mjtObj.mjOBJ_SITE,
    "jnt": mujoco.mjtObj.mjOBJ_JOINT,
    "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
    "eq": mujoco.mjtObj.mjOBJ_EQUALITY,
}
_DOF_FIELDS: Final = ("damping", "armature", "frictionloss", "solref", "solimp")
_OPTIONS: Final = ("timestep", "gravity", "wind", "density", "viscosity", "impratio")

PristineModel: TypeAlias = dict[str, npt.NDArray[np.float64]]
"""Values of every field that can be overridden, as compiled."""


def pristine(model: mujoco.MjModel) -> PristineModel:
    """Copy what :func:`find_overrides` compares with, from a freshly compiled model."""
    values = {field: np.array(getattr(model, field), dtype=np.float64) for field in _all_fields()}
    values.update(
        (f"opt_{option}", np.atleast_1d(np.array(getattr(model.opt, option), dtype=np.float64)))
        for option in _OPTIONS
    )
    return values


def find_overrides(live: mujoco.MjModel, compiled: PristineModel, *, within: float = 0.0) -> Overrides:
    """Find every number in which a live model differs from the compiled one.

    Args:
        live: Model of the running simulator, after its reset.
        compiled: Values of the same model as it was compiled.
        within: Differences that count as none, absolute and relative: a printed model has fewer digits.

    Returns:
        The differing rows; empty when there are none.
    """
    overrides: Overrides = {}
    for field, before in compiled.items():
        after = _values(live, field)
        if np.array_equal(after, before):
            continue
        differs = np.abs(after - before) > within * (1 + np.abs(before)) if within else after != before
        changed = np.flatnonzero(differs.reshape(len(after), -1).any(axis=1))
        if not changed.size:
            continue
        overrides[field] = {
            _row_name(live, field, int(row)): np.atleast_1d(after[row]).tolist() for row in changed
        }
    return overrides


def restore_fields(model: mujoco.MjModel, compiled: PristineModel, fields: Iterable[str]) -> None:
    """Put fields back to what was compiled.

    Args:
        model: Model to change in place.
        compiled: Values of the same model as it was compiled.
        fields: Fields to restore; unknown ones are passed over.
    """
    for field in fields:
        if field in compiled and field.startswith("opt_"):
            _set_option(model, field, compiled[field])
        elif field in compiled:
            getattr(model, field)[...] = compiled[field]


def apply_overrides(model: mujoco.MjModel, overrides: Mapping[str, Mapping[str, list[float]]]) -> None:
    """Write overrides into a model.

    Elements that the slim model dropped (visual geoms) are passed over.

    Args:
        model: Model with the same names; changed in place.
        overrides: What :func:`find_overrides` returned.

    Raises:
        SceneError: An unknown field or element, or a wrong number of values.
    """
    for field, rows in overrides.items():
        if field not in _all_fields() and field.removeprefix("opt_") not in _OPTIONS:
            raise SceneError(f"model override of {field!r}{suggest(field, _all_fields())}")
        for name, numbers in rows.items():
            _write_row(model, field, name, np.asarray(numbers, dtype=np.float64))


def _all_fields() -> list[str]:
    fields = [f"{kind}_{field}" for kind, names in _FIELDS.items() for field in names]
    return fields + [f"dof_{field}" for field in _DOF_FIELDS] + ["qpos0", "qpos_spring"]


def _values(model: mujoco.MjModel, field: str) -> npt.NDArray[np.float64]:
    if field.startswith("opt_"):
        option = getattr(model.opt, field.removeprefix("opt_"))
        return np.atleast_1d(np.asarray(option, dtype=np.float64))
    return np.asarray(getattr(model, field), dtype=np.float64)


def _row_name(model: mujoco.MjModel, field: str, row: int) -> str:
    kind = field.split("_", 1)[0]
    if kind not in _OBJECTS:
        return f"#{row}"
    return mujoco.mj_id2name(model, int(_OBJECTS[kind]), row) or f"#{row}"


def _write_row(model: mujoco.MjModel, field: str, name: str, numbers: npt.NDArray[np.float64]) -> None:
    kind = field.split("_", 1)[0]
    if not np.isfinite(numbers).all():
        raise SceneError(f"model override {field}[{name}] is not finite")
    array = _values(model, field).copy() if kind == "opt" else getattr(model, field)
    if name.startswith("#") and name[1:].isdigit():
        row = int(name[1:])
        if kind == "geom":
            raise SceneError(f"model override {field}[{name}]: the geom has no name")
    else:
        row = mujoco.mj_name2id(model, int(_OBJECTS[kind]), name) if kind in _OBJECTS else -1
        if row < 0 and kind == "geom":
            return
    if not 0 <= row < len(array) or np.size(array[row]) != numbers.size:
        raise SceneError(f"model override {field}[{name}] with {numbers.size} numbers does not fit the model")
    array[row] = numbers.reshape(np.shape(array[row]))
    if kind == "opt":
        _set_option(model, field, array)


def _set_option(model: mujoco.MjModel, field: str, values: npt.NDArray[np.float64]) -> None:
    option = field.removeprefix("opt_")
    setattr(model.opt, option, values if np.ndim(getattr(model.opt, option)) else float(values[0]))
