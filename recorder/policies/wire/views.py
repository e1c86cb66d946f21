"""What served policies are shown of LIBERO: two camera images and eight numbers, as in openpi's loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from mango_trace.errors import UsageError

RENDERED: Final = 256
"""Pixels a side at which LIBERO's cameras are rendered, as the training data were."""

SENT: Final = 224
"""Pixels a side of the images that openpi's policies take."""

AGENT: Final = "agentview"
WRIST: Final = "robot0_eye_in_hand"

Pixels = npt.NDArray[np.uint8]


def camera(observation: Mapping[str, Any], name: str) -> Pixels:
    """A camera's image, turned by 180 degrees as the training data were, ``(H, W, 3)``.

    Raises:
        UsageError: The environment renders no such image.
    """
    image = observation.get(f"{name}_image")
    if image is None:
        raise UsageError(f"the observation has no image {name}_image; record with --image-size {RENDERED}")
    return np.ascontiguousarray(image[::-1, ::-1])


def resize_with_pad(image: Pixels, height: int, width: int) -> Pixels:
    """Resize without distortion, bilinearly, and pad with black to ``(height, width, 3)``.

    Sizes and margins are rounded down, as openpi does.
    """
    old_height, old_width = image.shape[:2]
    if (old_height, old_width) == (height, width):
        return image
    ratio = max(old_width / width, old_height / height)
    size = int(old_width / ratio), int(old_height / ratio)
    padded = Image.new("RGB", (width, height))
    padded.paste(
        Image.fromarray(image).resize(size, Image.Resampling.BILINEAR),
        ((width - size[0]) // 2, (height - size[1]) // 2),
    )
    return np.asarray(padded)


def state(observation: Mapping[str, Any]) -> npt.NDArray[np.float64]:
    """Hand and gripper, ``(8,)``: position in m, orientation as axis times angle, the two fingers in m."""
    from robosuite.utils.transform_utils import quat2axisangle

    return np.concatenate(
        (
            observation["robot0_eef_pos"],
            quat2axisangle(np.array(observation["robot0_eef_quat"])),
            observation["robot0_gripper_qpos"],
        )
    )
