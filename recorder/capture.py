"""Reading MuJoCo's state, by component name."""

from __future__ import annotations

from typing import Final

import mujoco
import numpy as np
import numpy.typing as npt

_BITS: Final = {
    "time": "mjSTATE_TIME",
    "qpos": "mjSTATE_QPOS",
    "qvel": "mjSTATE_QVEL",
    "act": "mjSTATE_ACT",
    "history": "mjSTATE_HISTORY",
    "qacc_warmstart": "mjSTATE_WARMSTART",
    "ctrl": "mjSTATE_CTRL",
    "qfrc_applied": "mjSTATE_QFRC_APPLIED",
    "xfrc_applied": "mjSTATE_XFRC_APPLIED",
    "eq_active": "mjSTATE_EQ_ACTIVE",
    "mocap_pos": "mjSTATE_MOCAP_POS",
    "mocap_quat": "mjSTATE_MOCAP_QUAT",
    "userdata": "mjSTATE_USERDATA",
    "plugin": "mjSTATE_PLUGIN",
}
"""Components of ``mjSTATE_INTEGRATION``; those that a MuJoCo version lacks are passed over."""

COMPONENTS: Final = {
    "integration": tuple(_BITS),
    "physics": ("time", "qpos", "qvel", "act", "history", "plugin"),
    "positions": ("time", "qpos", "mocap_pos", "mocap_quat"),
}
"""Components that each fidelity stores."""

Array = npt.NDArray[np.float64]


class StateReader:
    """Reads and writes the state of one model, component by component.

    MuJoCo's state integer is used within the process only: its bits differ between versions.

    Args:
        model: Compiled model.
        fidelity: Which components to keep.
    """

    def __init__(self, model: mujoco.MjModel, fidelity: str = "integration") -> None:
        self._model = model
        bits = {
            name: int(getattr(mujoco.mjtState, bit))
            for name, bit in _BITS.items()
            if name in COMPONENTS[fidelity] and hasattr(mujoco.mjtState, bit)
        }
        self._columns: dict[str, slice] = {}
        start = 0
        for name, bit in sorted(bits.items(), key=lambda item: item[1]):
            width = mujoco.mj_stateSize(model, bit)
            if width:
                self._columns[name] = slice(start, start + width)
                start += width
        self._signature = sum(bits[name] for name in self._columns)
        self.width = start

    def read(self, data: mujoco.MjData, row: Array) -> None:
        """Copy the state into ``row``, shape ``(width,)``."""
        mujoco.mj_getState(self._model, data, row, self._signature)

    def write(self, data: mujoco.MjData, states: dict[str, Array], index: int) -> None:
        """Put a stored state into the simulator.

        Args:
            data: Data to change.
            states: Components, each ``(T, width)``; all that the model has must be there.
            index: Which state.
        """
        row = np.concatenate([states[name][index] for name in self._columns])
        mujoco.mj_setState(self._model, data, row, self._signature)

    def split(self, rows: Array) -> dict[str, Array]:
        """Turn rows of shape ``(T, width)`` into components by name."""
        return {name: np.ascontiguousarray(rows[:, cols]) for name, cols in self._columns.items()}
