"""Read-only view of the simulator's state. World frame, metres, rotation matrices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Rotation = NDArray[np.float64]


def displaced(position: Vector, x_m: float, y_m: float, z_m: float) -> Vector:
    """Move a position along the world's axes; ``(3,)`` m."""
    moved: Vector = position + np.array([x_m, y_m, z_m])
    return moved


class Scene:
    """Positions of bodies, sites, joints and the gripper as they are now.

    It calls nothing that changes the simulation: derived positions (bodies, sites) are those of the last
    physics substep, 2 ms behind the joints, which is far below what a waypoint needs.

    Args:
        env: LIBERO ``ControlEnv`` after its reset.
    """

    def __init__(self, env: Any) -> None:
        self._domain = env.env
        self._data = env.sim.data
        self._grip_site = env.robots[0].eef_site_id

    def body(self, name: str) -> Vector:
        """Position of the origin of an object's or fixture's body, ``(3,)`` m."""
        return np.array(self._data.body_xpos[self._domain.obj_body_id[name]], dtype=np.float64)

    def heading(self, name: str) -> float:
        """Direction of the x axis of an object's or fixture's body, rad about the world's z axis."""
        x_axis = self._data.body_xmat[self._domain.obj_body_id[name]].reshape(3, 3)[:, 0]
        return float(np.arctan2(x_axis[1], x_axis[0]))

    def site(self, name: str) -> Vector:
        """Position of a site, e.g. the centre of a region, ``(3,)`` m."""
        return np.array(self._data.get_site_xpos(name), dtype=np.float64)

    def joint(self, name: str) -> float:
        """Position of a slide (m) or hinge (rad) joint."""
        return float(self._data.get_joint_qpos(name))

    def holds(self, predicate: str, *names: str) -> bool:
        """Whether the benchmark's own predicate is true now, e.g. ``in`` of an object and a region."""
        return bool(self._domain._eval_predicate([predicate, *names]))

    def gripper(self) -> Vector:
        """Position of the point between the fingertips, ``(3,)`` m."""
        return np.array(self._data.site_xpos[self._grip_site], dtype=np.float64)

    def gripper_rotation(self) -> Rotation:
        """Orientation of the gripper, ``(3, 3)``; the columns are its axes in the world frame."""
        return np.array(self._data.site_xmat[self._grip_site], dtype=np.float64).reshape(3, 3)
