"""Closed-loop waypoint servo: motions are generators that yield one action per control step."""

from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from recorder.policies.scripted.scene import Rotation, Scene, Vector

Action = NDArray[np.float64]
Motion = Generator[Action, None, None]

OPEN = -1.0
CLOSED = 1.0

# What an action of 1 means to OSC_POSE, per control step.
_FULL_TRANSLATION_M = 0.05
_FULL_ROTATION_RAD = 0.5
# Above 1 because the controller only covers a part of the commanded delta within one control step.
_GAIN = 1.3
# How many control steps a shaking hand keeps a direction.
_TREMOR_STEPS = 4
# Less progress than this (1 is a full action's worth) in so many control steps: something is in the way.
_PROGRESS = 0.02
_STALL_STEPS = 12


def about_x(angle_rad: float) -> Rotation:
    """Rotation about the world's x axis, ``(3, 3)``."""
    c, s = np.cos(angle_rad), np.sin(angle_rad)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def about_z(angle_rad: float) -> Rotation:
    """Rotation about the world's z axis, ``(3, 3)``."""
    c, s = np.cos(angle_rad), np.sin(angle_rad)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_vector(rotation: Rotation) -> Vector:
    """Axis times angle of a rotation matrix, ``(3,)`` rad; exact below half a turn."""
    angle = np.arccos(np.clip((np.trace(rotation) - 1.0) / 2.0, -1.0, 1.0))
    if angle < 1e-6:
        return np.zeros(3)
    skew = rotation - rotation.T
    axis = np.array([skew[2, 1], skew[0, 2], skew[1, 0]]) / (2.0 * np.sin(angle))
    vector: Vector = angle * axis
    return vector


def pointing_down(yaw_rad: float = 0.0) -> Rotation:
    """Gripper pointing down, ``(3, 3)``; at yaw 0 the fingers close along world x."""
    down: Rotation = about_z(yaw_rad) @ np.diag([1.0, -1.0, -1.0])
    return down


class Arm:
    """The robot's arm during one episode: what it sees, what it holds still, how it varies.

    Args:
        scene: The simulator's state.
        rng: Source of the episode's small variations.

    Attributes:
        scene: The simulator's state.
        grips: For each object picked up, gripper position minus object position at the grasp, m.
        rest_height_m: For each object picked up, the height of its origin before.
        deviated_at: Control step at which an injected fault began to show; None before.
        steps: Control steps so far.
        tremor_m: How far the hand shakes along each horizontal axis; 0 for a steady hand.
    """

    def __init__(self, scene: Scene, rng: np.random.Generator) -> None:
        self.scene = scene
        self.grips: dict[str, Vector] = {}
        self.rest_height_m: dict[str, float] = {}
        self.deviated_at: int | None = None
        self._rng = rng
        self._fingers = OPEN
        self._rotation = scene.gripper_rotation()
        self._speed = float(rng.uniform(0.9, 1.0))
        self.steps = 0
        self.tremor_m = 0.0
        self._tremor = np.zeros(3)

    def note_deviation(self) -> None:
        """Remember the next control step as the one at which the injected fault began."""
        if self.deviated_at is None:
            self.deviated_at = self.steps

    def jitter(self, size_m: float) -> Vector:
        """Random horizontal displacement, uniform in a square of half-width ``size_m``, ``(3,)`` m."""
        return np.append(self._rng.uniform(-size_m, size_m, size=2), 0.0)

    def move_to(
        self,
        position: Vector,
        rotation: Rotation | None = None,
        *,
        within_m: float = 0.008,
        within_rad: float = 0.1,
        speed: float = 1.0,
        budget: int = 80,
    ) -> Motion:
        """Servo the gripper to a pose until it is near enough, gets no nearer, or the budget is spent.

        Args:
            position: Where the point between the fingertips shall be, ``(3,)`` m, world frame.
            rotation: Orientation to reach and keep from now on; None keeps the present one.
            within_m: Accepted distance.
            within_rad: Accepted angle.
            speed: Bound of the translation's action entries; 1 is about 0.3 m/s.
            budget: Largest number of control steps.

        Yields:
            One action per control step.
        """
        if rotation is not None:
            self._rotation = rotation
        bound = speed * self._speed * self._rng.uniform(0.95, 1.0)
        best, best_step = np.inf, 0
        for step in range(budget):
            shift, turn = self._errors(position)
            distance, angle = float(np.linalg.norm(shift)), float(np.linalg.norm(turn))
            if distance < within_m and angle < within_rad:
                return
            # One scale for both, so that turning on the spot counts as progress too.
            remaining = distance / _FULL_TRANSLATION_M + angle / _FULL_ROTATION_RAD
            if remaining < best - _PROGRESS:
                best, best_step = remaining, step
            elif step - best_step >= _STALL_STEPS:
                return
            yield self._action(shift, turn, bound)

    def turn_to(self, rotation: Rotation) -> None:
        """Orientation to reach and keep from the next action on, ``(3, 3)``."""
        self._rotation = rotation

    def step_towards(self, position: Vector, *, speed: float = 1.0) -> Action:
        """One action towards a position that the caller may change at every step."""
        shift, turn = self._errors(position)
        return self._action(shift, turn, speed * self._speed)

    def set_fingers(self, fingers: float, steps: int) -> Motion:
        """Open or close the fingers while the hand stays where it is, for ``steps`` control steps."""
        self._fingers = fingers
        yield from self.stay(steps)

    def stay(self, steps: int) -> Motion:
        """Keep the present position for ``steps`` control steps."""
        position = self.scene.gripper()
        for _ in range(steps):
            yield self.step_towards(position)

    def rest(self) -> Action:
        """One action without motion, gripper open."""
        self._fingers = OPEN
        return self._action(np.zeros(3), np.zeros(3), 1.0)

    def _errors(self, position: Vector) -> tuple[Vector, Vector]:
        shift: Vector = position + self._shake() - self.scene.gripper()
        return shift, rotation_vector(self._rotation @ self.scene.gripper_rotation().T)

    def _shake(self) -> Vector:
        if self.tremor_m == 0.0:
            return np.zeros(3)
        if self.steps % _TREMOR_STEPS == 0:
            self._tremor = self.jitter(self.tremor_m)
        return self._tremor

    def _action(self, shift: Vector, turn: Vector, bound: float) -> Action:
        move = _GAIN * shift / _FULL_TRANSLATION_M
        # Scaled as a whole: clipping each entry would bend the path.
        move *= min(1.0, bound / max(float(np.abs(move).max()), 1e-9))
        spin = np.clip(_GAIN * turn / _FULL_ROTATION_RAD, -1.0, 1.0)
        self.steps += 1
        # Real policies emit float32; so does this one, stored as float64.
        return np.concatenate([move, spin, [self._fingers]]).astype(np.float32).astype(np.float64)
