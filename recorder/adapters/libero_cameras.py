"""LIBERO's cameras, rendered only for observations that somebody looks at.

Where nothing but a processor draws, an image takes longer than the step, and a policy that plays the
first five actions of a chunk looks at every fifth observation only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


class Shutter:
    """Whether the cameras of an environment draw; while it is closed their images are black.

    robosuite samples them at the first substep of a step, so it is set before the step whose observation
    is looked at.

    Attributes:
        open: Whether they draw.
    """

    def __init__(self, env: Any) -> None:
        """Take hold of the cameras of a LIBERO ``ControlEnv``, from its next reset on."""
        self.open = True
        domain = env.env
        create = domain._create_camera_sensors

        @functools.wraps(create)
        def creating(cam_name: str, cam_w: int, cam_h: int, *args: Any, **kwargs: Any) -> Any:
            sensors, names = create(cam_name, cam_w, cam_h, *args, **kwargs)
            black = np.zeros((cam_h, cam_w, 3), np.uint8)
            return [self._shaded(sensor, black) for sensor in sensors], names

        domain._create_camera_sensors = creating  # a reset makes the sensors anew

    def _shaded(self, sensor: Callable[[Any], Any], black: Any) -> Callable[[Any], Any]:
        @functools.wraps(sensor)
        def shaded(cache: Any) -> Any:
            return sensor(cache) if self.open else black

        return shaded
