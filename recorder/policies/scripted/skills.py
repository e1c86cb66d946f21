"""What the arm can do: pick, place, push, pull, turn. A skill is data; its motion is a generator of actions.

All but waiting have switches that make them fail in a known way; `faults` flips them. A skill with a switch
on calls `Arm.note_deviation` at the step at which it leaves the good path.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

import numpy as np

from recorder.policies.scripted.motion import CLOSED, OPEN, Arm, Motion, about_z, pointing_down
from recorder.policies.scripted.scene import Rotation, Scene, Vector, displaced

# An object further than this from where the grasp left it is no longer in the hand.
_SLIP_M = 0.04
# The part of the way to its target after which an object is dropped early.
_EARLY = 0.15
# How far a shaking hand is from where it should be, at most, along each horizontal axis.
_TREMOR_M = 0.07
# How long the hand holds a knob still before it lets go.
_BRAKE_STEPS = 12
# A yaw further back than this comes near the end of the wrist's range.
_LEAST_YAW_RAD = -0.4


class Skill(Protocol):
    """One step of a plan."""

    def motion(self, arm: Arm) -> Motion:
        """Yield the actions of this skill, one per control step, reading the scene as it goes."""
        ...


class BadGrasp(Enum):
    """How a pick goes wrong."""

    FINGERS_OPEN = "the fingers stay open"
    IN_THE_AIR = "the fingers close above the object, which they never reach"
    SHAKY = "the hand shakes while it comes down and closes"


class Drop(Enum):
    """Where on its way an object is let go."""

    EARLY = "soon after it was lifted"
    MIDWAY = "half-way, over a free spot of the table"
    LATE = "above a free spot of the table beside the target, from the height of the carry"


class Miss(Enum):
    """Where an object is set down instead of at its target."""

    BESIDE = "on a free spot of the table beside it"
    ON_RIM = "on the rim of what it should be in or on"
    ELSEWHERE = "at another region"
    SHAKY = "wherever the shaking hand is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """Grasp an object from above and lift it.

    Attributes:
        body: The object.
        grasp_m: Gripper position at the grasp minus the object's origin, world axes.
        yaw_rad: Direction in which the fingers close; 0 is along world x.
        lift_m: How far the object is lifted.
        heading: Angle about z, rad, by which the whole grasp is turned, for objects that start at any; None
            is 0.
        fails: How it goes wrong; None where it does not.
    """

    body: str
    grasp_m: tuple[float, float, float]
    yaw_rad: float = 0.0
    lift_m: float = 0.18
    heading: Callable[[Scene], float] | None = None
    fails: BadGrasp | None = None

    def motion(self, arm: Arm) -> Motion:
        """Hover, descend, close the fingers, lift."""
        down = pointing_down(self.yaw_rad)
        grasp = np.array(self.grasp_m)
        if self.heading is not None:
            heading = self.heading(arm.scene)
            grasp = about_z(heading) @ grasp
            # Half a turn more is the same grasp: take the one that the wrist reaches.
            down = pointing_down((heading + self.yaw_rad - _LEAST_YAW_RAD) % np.pi + _LEAST_YAW_RAD)
        offset = grasp + arm.jitter(0.0015)
        hover = np.array([0.0, 0.0, 0.10]) + arm.jitter(0.004)
        yield from arm.set_fingers(OPEN, 1)
        above = arm.scene.body(self.body) + offset + hover
        above[2] = max(above[2], arm.scene.gripper()[2] - 0.02)
        yield from arm.move_to(above, down, within_m=0.03, within_rad=0.3)
        yield from arm.move_to(arm.scene.body(self.body) + offset + hover, within_m=0.012)
        # Where it stood at first, also when it is picked up again from somewhere else.
        arm.rest_height_m.setdefault(self.body, float(arm.scene.body(self.body)[2]))
        if self.fails in (BadGrasp.IN_THE_AIR, BadGrasp.SHAKY):
            arm.note_deviation()
        if self.fails is BadGrasp.SHAKY:
            arm.tremor_m = _TREMOR_M
        if self.fails is not BadGrasp.IN_THE_AIR:
            yield from arm.move_to(arm.scene.body(self.body) + offset, within_m=0.005, speed=0.7)
        if self.fails is BadGrasp.FINGERS_OPEN:
            arm.note_deviation()
        yield from arm.set_fingers(OPEN if self.fails is BadGrasp.FINGERS_OPEN else CLOSED, 12)
        arm.tremor_m = 0.0
        arm.grips[self.body] = arm.scene.gripper() - arm.scene.body(self.body)
        lifted = arm.scene.gripper() + np.array([0.0, 0.0, self.lift_m])
        yield from arm.move_to(lifted, within_m=0.03, speed=0.7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Carry the object in the hand to a target, lower it and let go.

    Attributes:
        body: The object.
        target: Where its origin shall be when the fingers open, m, world frame; asked again on the way.
        beside_m: Horizontal displacement from the target to a free spot of the table next to it.
        drop_m: Horizontal displacement from the middle of the carry to a free spot of the table.
        hover_m: Height above the target at which the lowering begins.
        aim_m: How near to the point above the target the object has to be before it is lowered.
        retreat_m: How far the hand goes up afterwards.
        yaw_rad: Direction of the fingers when they open, as for a pick; None keeps that of the grasp.
        rim_m: Displacement from the target to the rim of what the object should be in or on; None where
            there is no rim to set it on.
        elsewhere: Where its origin is when it stands in or on another region; None where there is none.
        reachable: Whether the hand can take the object from its target again.
        misses: Where the object is set down instead; None for the target.
        drops: Where the object is let go, the hand going on without it; None where it is not.
    """

    body: str
    target: Callable[[Scene], Vector]
    beside_m: tuple[float, float]
    drop_m: tuple[float, float]
    hover_m: float = 0.08
    aim_m: float = 0.01
    retreat_m: float = 0.12
    yaw_rad: float | None = None
    rim_m: tuple[float, float, float] | None = None
    elsewhere: Callable[[Scene], Vector] | None = None
    reachable: bool = True
    misses: Miss | None = None
    drops: Drop | None = None

    def motion(self, arm: Arm) -> Motion:
        """Carry, lower, open the fingers, retreat."""
        scatter = arm.jitter(0.0015)
        hover = np.array([0.0, 0.0, self.hover_m])
        if self.misses is not None:
            arm.note_deviation()
        if self.drops is not None:
            yield from self._drop(arm, self.drops)
        above = self._goal(arm, scatter) + hover
        above[2] = max(above[2], arm.scene.gripper()[2])
        down = None if self.yaw_rad is None else pointing_down(self.yaw_rad)
        yield from arm.move_to(above, down, within_m=0.015, speed=0.8, budget=100)
        yield from arm.move_to(self._goal(arm, scatter) + hover, within_m=self.aim_m, speed=0.7)
        if self.misses is Miss.SHAKY:
            arm.tremor_m = _TREMOR_M
        yield from arm.move_to(self._goal(arm, scatter), within_m=0.006, speed=0.5)
        yield from arm.set_fingers(OPEN, 8)
        arm.tremor_m = 0.0
        raised = arm.scene.gripper() + np.array([0.0, 0.0, self.retreat_m])
        yield from arm.move_to(raised, within_m=0.04)

    def _goal(self, arm: Arm, scatter: Vector) -> Vector:
        """Where the gripper has to be to have the object at its target, ``(3,)`` m."""
        target = self._target(arm) + scatter
        grip = arm.grips[self.body]
        now = arm.scene.gripper() - arm.scene.body(self.body)
        if self.yaw_rad is not None:
            # What is still to turn takes the object with it.
            now = pointing_down(self.yaw_rad) @ arm.scene.gripper_rotation().T @ now
        # Follow small slips of the object in the hand; without it, carry on as if it were there.
        in_hand = np.linalg.norm(now - grip) < _SLIP_M
        goal: Vector = target + (now if in_hand else grip)
        return goal

    def _target(self, arm: Arm) -> Vector:
        """Where the object's origin shall be when the fingers open, wrong places included, ``(3,)`` m."""
        if self.misses is Miss.ELSEWHERE and self.elsewhere is not None:
            return self.elsewhere(arm.scene)
        target = self.target(arm.scene)
        if self.misses is Miss.BESIDE:
            target = displaced(target, *self.beside_m, 0.0)
            target[2] = arm.rest_height_m[self.body] + 0.005
        elif self.misses is Miss.ON_RIM and self.rim_m is not None:
            target = displaced(target, *self.rim_m)
        return target

    def _drop(self, arm: Arm, where: Drop) -> Motion:
        start, goal = arm.scene.gripper(), self._goal(arm, np.zeros(3))
        if where is Drop.EARLY:
            point = start + _EARLY * (goal - start)
        elif where is Drop.MIDWAY:
            point = displaced((start + goal) / 2.0, *self.drop_m, 0.0)
        else:
            point = displaced(goal, *self.beside_m, 0.0)
        point[2] = start[2]
        yield from arm.move_to(point, within_m=0.03, speed=0.8)
        arm.note_deviation()
        yield from arm.set_fingers(OPEN, 8)


@dataclass(frozen=True, slots=True)
class PushPose:
    """How to push something as it is now. World frame.

    Attributes:
        point: Where the point between the fingertips touches the pushed surface, ``(3,)`` m.
        direction: Unit vector of the push, ``(3,)``.
        rotation: Orientation of the gripper, ``(3, 3)``.
    """

    point: Vector
    direction: Vector
    rotation: Rotation


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """Push something along with the closed fingers until it is where it should be; if it is, do nothing.

    Attributes:
        pose: How to push; asked again at every step, so it moves and turns with what is pushed.
        done: Whether it is where it should be.
        approach_m: Distance before the surface at which the fingers come down.
        lead_m: How far behind the surface the servo aims, i.e. how hard it pushes.
        retreat_m: How far the fingers go back from it before they go up.
        budget: Largest number of control steps of the push itself.
        stops_after_m: Less than the whole way is a fault: the push ends when the surface has moved so far.
        hold_steps: How many control steps the push goes on when done, against a rebound.
        attempts: How often at most to push, from the approach on, if it is not done afterwards.
    """

    pose: Callable[[Scene], PushPose]
    done: Callable[[Scene], bool]
    approach_m: float = 0.03
    lead_m: float = 0.05
    retreat_m: float = 0.06
    budget: int = 45
    stops_after_m: float = math.inf
    hold_steps: int = 0
    attempts: int = 1

    def motion(self, arm: Arm) -> Motion:
        """Come down before the surface, push, move back and up; again if that was not enough."""
        for _ in range(self.attempts):
            if self.done(arm.scene):
                return
            yield from self._once(arm)

    def _once(self, arm: Arm) -> Motion:
        up = np.array([0.0, 0.0, 1.0])
        yield from arm.set_fingers(CLOSED, 1)
        pose = self.pose(arm.scene)
        scatter = arm.jitter(0.003)[0] * np.cross(up, pose.direction)
        before = pose.point - self.approach_m * pose.direction + scatter
        high = before + 0.08 * up
        high[2] = max(high[2], arm.scene.gripper()[2])
        yield from arm.move_to(high, pose.rotation, within_m=0.03, within_rad=0.15)
        yield from arm.move_to(before, within_m=0.012, within_rad=0.15, speed=0.8, budget=40)
        start = self.pose(arm.scene).point
        held = 0
        for _ in range(self.budget):
            if self.done(arm.scene):
                if held == self.hold_steps:
                    break
                held += 1
            pose = self.pose(arm.scene)
            if np.linalg.norm(pose.point - start) >= self.stops_after_m:
                arm.note_deviation()
                break
            arm.turn_to(pose.rotation)
            yield arm.step_towards(pose.point + self.lead_m * pose.direction + scatter, speed=0.7)
        back = arm.scene.gripper() - self.retreat_m * pose.direction
        yield from arm.move_to(back, within_m=self.retreat_m / 2.0, budget=30)
        raised = arm.scene.gripper() + 0.15 * up
        yield from arm.move_to(raised, pointing_down(), within_m=0.04, within_rad=0.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """Grasp a handle and pull it until it is where it should be; if it is, do nothing.

    Attributes:
        handle: Where the point between the fingertips grasps the handle, ``(3,)`` m, world frame; asked
            again at every step, so it moves with what is pulled.
        direction: Unit vector of the pull, world frame.
        rotation: Orientation of the gripper, ``(3, 3)``.
        done: Whether it is where it should be.
        approach_m: Distance before the handle, along the pull, at which the hand comes down.
        lead_m: How far ahead of the handle the servo aims, i.e. how hard it pulls.
        budget: Largest number of control steps of the pull itself.
        stops_after_m: Less than the whole way is a fault: the pull ends when the handle has moved so far.
    """

    handle: Callable[[Scene], Vector]
    direction: tuple[float, float, float]
    rotation: Rotation
    done: Callable[[Scene], bool]
    approach_m: float = 0.07
    lead_m: float = 0.06
    budget: int = 60
    stops_after_m: float = math.inf

    def motion(self, arm: Arm) -> Motion:
        """Come down before the handle, move onto it, close the fingers, pull, let go, move away and up."""
        if self.done(arm.scene):
            return
        up = np.array([0.0, 0.0, 1.0])
        outwards = np.array(self.direction)
        yield from arm.set_fingers(OPEN, 1)
        scatter = arm.jitter(0.003)[0] * np.cross(up, outwards)
        before = self.handle(arm.scene) + self.approach_m * outwards + scatter
        high = before + 0.08 * up
        high[2] = max(high[2], arm.scene.gripper()[2])
        yield from arm.move_to(high, self.rotation, within_m=0.03, within_rad=0.15)
        yield from arm.move_to(before, within_m=0.01, speed=0.8)
        yield from arm.move_to(self.handle(arm.scene) + scatter, within_m=0.006, speed=0.6)
        yield from arm.set_fingers(CLOSED, 10)
        start = self.handle(arm.scene)
        for _ in range(self.budget):
            if self.done(arm.scene):
                break
            handle = self.handle(arm.scene)
            if np.linalg.norm(handle - start) >= self.stops_after_m:
                arm.note_deviation()
                break
            yield arm.step_towards(handle + self.lead_m * outwards + scatter, speed=0.7)
        yield from arm.set_fingers(OPEN, 8)
        yield from arm.move_to(arm.scene.gripper() + self.approach_m * outwards, within_m=0.02, budget=30)
        raised = arm.scene.gripper() + 0.12 * up
        yield from arm.move_to(raised, pointing_down(), within_m=0.04, within_rad=0.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Grasp a knob from above and turn it about the vertical; if it is turned already, do nothing.

    Attributes:
        knob: Where the point between the fingertips grasps the knob, ``(3,)`` m, world frame.
        angle: How far the knob is turned, rad, anticlockwise seen from above.
        done: Whether it is turned far enough.
        yaw_rad: Direction in which the fingers close on the knob at angle 0; 0 is along world x.
        lead_rad: How far ahead of the knob the servo aims, i.e. how hard it turns.
        budget: Largest number of control steps of the turn itself.
        stops_after_rad: Less than the whole way is a fault: the turn ends when the knob has turned so far.
        sense: 1 to turn anticlockwise, -1 to turn clockwise.
    """

    knob: Callable[[Scene], Vector]
    angle: Callable[[Scene], float]
    done: Callable[[Scene], bool]
    yaw_rad: float = 0.0
    lead_rad: float = 0.3
    budget: int = 60
    stops_after_rad: float = math.inf
    sense: int = 1

    def motion(self, arm: Arm) -> Motion:
        """Hover, descend, close the fingers, turn, hold, let go, go up."""
        if self.done(arm.scene):
            return
        up = np.array([0.0, 0.0, 1.0])
        yield from arm.set_fingers(OPEN, 1)
        knob = self.knob(arm.scene) + arm.jitter(0.0015)
        start = self.angle(arm.scene)
        above = knob + 0.10 * up
        above[2] = max(above[2], arm.scene.gripper()[2] - 0.02)
        yield from arm.move_to(above, self._grasp(start), within_m=0.03, within_rad=0.3)
        yield from arm.move_to(knob + 0.10 * up, within_m=0.012)
        yield from arm.move_to(knob, within_m=0.006, speed=0.7)
        yield from arm.set_fingers(CLOSED, 10)
        for _ in range(self.budget):
            if self.done(arm.scene):
                break
            if self.sense * (self.angle(arm.scene) - start) >= self.stops_after_rad:
                arm.note_deviation()
                break
            arm.turn_to(self._grasp(self.angle(arm.scene) + self.sense * self.lead_rad))
            yield arm.step_towards(knob)
        # A knob that is let go while it turns goes on turning. The hand is ahead of it: back to where it is.
        arm.turn_to(self._grasp(self.angle(arm.scene)))
        yield from arm.stay(_BRAKE_STEPS)
        yield from arm.set_fingers(OPEN, 8)
        yield from arm.move_to(arm.scene.gripper() + 0.12 * up, within_m=0.03)

    def _grasp(self, angle_rad: float) -> Rotation:
        return pointing_down(self.yaw_rad + angle_rad)


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert(Place):
    """Carry the object in the hand to a doorway, slide it in level, let go and push it further in.

    For where the hand cannot enter from above. The faults of `Place` are set down and dropped as there.

    Attributes:
        doorway_m: Horizontal displacement from the target to where the object is before it slides in.
        nudge: Pushes it in to where the hand that holds it does not reach.
        back_m: How far the hand moves back out before that.
        stops_short: True is a fault: the object is set down before the doorway and not pushed.
    """

    doorway_m: tuple[float, float]
    nudge: Push
    back_m: float = 0.05
    stops_short: bool = False

    def motion(self, arm: Arm) -> Motion:
        """Carry, slide in, open the fingers, move back, push."""
        if self.misses is not None:
            yield from Place.motion(self, arm)
            return
        scatter = arm.jitter(0.0015)
        doorway = np.append(self.doorway_m, 0.0)
        outwards = doorway / np.linalg.norm(doorway)
        up = np.array([0.0, 0.0, self.hover_m])
        if self.drops is not None:
            yield from self._drop(arm, self.drops)
        turned = None if self.yaw_rad is None else pointing_down(self.yaw_rad)
        before = self._goal(arm, scatter) + doorway + up
        yield from arm.move_to(before, turned, within_m=0.03, speed=0.8, budget=100)
        yield from arm.move_to(self._goal(arm, scatter) + doorway, within_m=self.aim_m, speed=0.7)
        if self.stops_short:
            arm.note_deviation()
            down = np.array([0.0, 0.0, arm.rest_height_m[self.body] - self.target(arm.scene)[2]])
            yield from arm.move_to(self._goal(arm, scatter) + doorway + down, within_m=0.006, speed=0.5)
        else:
            yield from arm.move_to(self._goal(arm, scatter), within_m=0.006, speed=0.5)
        yield from arm.set_fingers(OPEN, 8)
        yield from arm.move_to(arm.scene.gripper() + self.back_m * outwards, within_m=0.02)
        if not self.stops_short:
            yield from self.nudge.motion(arm)


@dataclass(frozen=True, slots=True)
class PutBack:
    """Take a placed object away again and set it down beside.

    Attributes:
        pick: How it was picked up.
        place: How it was placed.
    """

    pick: Pick
    place: Place

    def motion(self, arm: Arm) -> Motion:
        """Pick, then place beside the target."""
        pick = self.pick
        if pick.heading is None and self.place.yaw_rad is not None:
            x, y, z = about_z(self.place.yaw_rad - pick.yaw_rad) @ pick.grasp_m
            pick = replace(pick, grasp_m=(x, y, z), yaw_rad=self.place.yaw_rad)
        yield from pick.motion(arm)
        yield from Place.motion(replace(self.place, misses=Miss.BESIDE, yaw_rad=None), arm)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Stay where the arm is.

    Attributes:
        steps: Control steps to wait.
    """

    steps: int

    def motion(self, arm: Arm) -> Motion:
        """Hold the present position."""
        yield from arm.stay(self.steps)
