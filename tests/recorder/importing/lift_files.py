"""Small robosuite files: a cube, a table, no meshes and no robot.

::

    write_lift(path, {"demo_1": [0.82, 0.82, 0.85]})     heights of the cube; above 0.84 is success
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

XML = """<mujoco model="base">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.002"/>
  <asset>{asset}</asset>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 0.1"/>
    <body name="table" pos="0 0 0.775">
      <geom name="table_collision" type="box" size="0.4 0.4 0.025"/>
      <site name="table_top" pos="0 0 0.025"/>
    </body>
    <body name="cube_main" pos="0 0 0.82">
      <joint name="cube_joint0" type="free"/>
      <geom name="cube_g0" type="box" size="0.02 0.02 0.02" mass="0.1"/>{geom}
    </body>
    {body}
  </worldbody>
</mujoco>"""
NQ, NV = 7, 6


def lift_xml(asset: str = "", geom: str = "", body: str = "") -> str:
    return XML.format(asset=asset, geom=geom, body=body)


def lift_states(heights: Sequence[float], extra: int = 0) -> np.ndarray:
    """Flattened states with the cube at the given heights and ``extra`` more numbers behind."""
    states = np.zeros((len(heights), 1 + NQ + NV + extra))
    states[:, 0] = np.arange(len(heights)) * 0.05
    states[:, 3] = heights
    states[:, 4] = 1.0
    return states


def write_lift(
    path: Path,
    demos: Mapping[str, Sequence[float]],
    *,
    xml: str | Mapping[str, str] = "",
    masks: Mapping[str, Sequence[str]] | None = None,
    **datasets: Any,
) -> Path:
    """Write a file; datasets are functions of the number of rows, or arrays for every demonstration."""
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["env"] = "Lift"
        data.attrs["env_info"] = json.dumps({"env_name": "Lift", "robots": "Panda"})
        for name, heights in demos.items():
            demo = data.create_group(name)
            text = xml if isinstance(xml, str) else xml.get(name, "")
            demo.attrs["model_file"] = text or lift_xml()
            demo["states"] = lift_states(heights)
            demo["actions"] = np.zeros((len(heights), 7))
            for key, values in datasets.items():
                if key in demo:
                    del demo[key]
                demo[key] = values(len(heights)) if callable(values) else values
        for name, members in (masks or {}).items():
            file[f"mask/{name}"] = np.array(list(members), dtype="S")
    return path
