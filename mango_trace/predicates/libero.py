"""LIBERO's predicates, exactly as the benchmark computes them.

Source: ``libero/envs/object_states/base_object_states.py``, ``objects/site_object.py`` and
``objects/articulated_objects.py`` of LIBERO at commit 8f1084e. The rules are kept with everything
odd in them, because these names promise the benchmark's own answer; geometric versions have other
names (``inside``, ``resting_on``, ``firmly_grasped``).
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import numpy.typing as npt

from mango_trace.predicates.deciding import any_contact, as_benchmark, decide
from mango_trace.scene.kinds import ArgumentKind
from mango_trace.scene.model import Region, Scene, SceneObject, Threshold
from mango_trace.signals.base import Floats, GeomGroup, Part, Signals
from mango_trace.truth import Mask, Truth

_ON_OBJECT_RADIUS = 0.03  # m, in the plane
_ON_REGION_BELOW = 0.005  # m under the region's top
_ON_REGION_ABOVE = 0.10  # m over it
_IN_BELOW = 0.01  # m under the region's box
_UP_HEIGHT = 1.0  # m, world frame


def inside_region(signals: Signals, item: str, region: str) -> Truth:
    """``in(A, R)``: A's origin lies in the axis-aligned box that LIBERO puts around R.

    Half extents are ``abs(R @ size)``, which is no rotated box: at 45 degrees of yaw a square
    region has no width. The lower bound is relaxed by 0.01 m. All bounds are open.
    """
    place = _region(signals, region)
    center, rotation = signals.position(region), signals.rotation(region)
    point = signals.position(item)
    half = np.abs(rotation @ np.array(place.half_size))
    low, high = center - half, center + half
    low[:, 2] -= _IN_BELOW
    slack = np.minimum(np.abs(point - low), np.abs(point - high)).min(axis=1)

    def rule(state: int) -> bool:
        origin, matrix = signals.exact_pose(region, state)
        at, _ = signals.exact_pose(item, state)
        size = np.abs(matrix @ np.array(place.half_size))
        upper, lower = origin + size, origin - size
        lower[2] -= _IN_BELOW
        return bool(np.all(at > lower) and np.all(at < upper))

    values = ((point > low) & (point < high)).all(axis=1)
    return decide(signals, as_benchmark(values, slack, rule), item, region)


def on(signals: Signals, item: str, support: str) -> Truth:
    """``on(A, B)``: B is an object or fixture, or a region.

    On an object: ``B.z <= A.z``, contact between the two, and less than 0.03 m between their
    origins in the plane. On a region: A's origin, in the region's frame, lies over its rectangle
    and between 0.005 m under and 0.10 m over its top (open bounds); contact with the region's
    parent is asked for only where the region has one, so nothing is for regions of a table.
    """
    if isinstance(signals.scene.item(support), Region):
        return _on_region(signals, item, support)
    above, below = signals.position(item), signals.position(support)
    offset = below[:, :2] - above[:, :2]
    distance = np.sqrt((offset * offset).sum(axis=1))

    def rule(state: int) -> bool:
        (upper, _), (lower, _) = signals.exact_pose(item, state), signals.exact_pose(support, state)
        close = np.linalg.norm(lower[:2] - upper[:2]) < _ON_OBJECT_RADIUS
        return bool(lower[2] <= upper[2] and close)

    posed = as_benchmark(
        (below[:, 2] <= above[:, 2]) & (distance < _ON_OBJECT_RADIUS),
        np.minimum(np.abs(distance - _ON_OBJECT_RADIUS), np.abs(below[:, 2] - above[:, 2])),
        rule,
    )
    return decide(signals, _counted_contact(signals, item, support, posed), item, support)


def _on_region(signals: Signals, item: str, region: str) -> Truth:
    place = _region(signals, region)
    center, rotation, point = (
        signals.position(region),
        signals.rotation(region),
        signals.position(item),
    )
    x, y, z = place.half_size
    offset = np.einsum("tij,tj->ti", rotation, point - center)
    slack = np.min(
        np.abs(
            [
                offset[:, 2] - (z - _ON_REGION_BELOW),
                offset[:, 2] - (z + _ON_REGION_ABOVE),
                np.abs(offset[:, 0]) - x,
                np.abs(offset[:, 1]) - y,
            ]
        ),
        axis=0,
    )

    def fits(delta: Floats) -> Mask:
        return np.asarray(
            (z - _ON_REGION_BELOW < delta[..., 2])
            & (delta[..., 2] < z + _ON_REGION_ABOVE)
            & (np.abs(delta[..., 0]) < x)
            & (np.abs(delta[..., 1]) < y)
        )

    def rule(state: int) -> bool:
        origin, matrix = signals.exact_pose(region, state)
        at, _ = signals.exact_pose(item, state)
        return bool(fits(matrix @ (at - origin)))

    posed = as_benchmark(fits(offset), slack, rule)
    if place.parent is not None:
        posed = _counted_contact(signals, item, place.parent, posed)
    return decide(signals, posed, item, region)


def up(signals: Signals, item: str) -> Truth:
    """``up(A)``: A's origin is at least 1.0 m above the world's origin."""
    height = signals.position(item)[:, 2]
    values = as_benchmark(
        height >= _UP_HEIGHT,
        np.abs(height - _UP_HEIGHT),
        lambda state: bool(signals.exact_pose(item, state)[0][2] >= _UP_HEIGHT),
    )
    return decide(signals, values, item)


def is_open(signals: Signals, item: str) -> Truth:
    """``open(X)``: any joint of X is past its threshold; a region's joint, a fixture's joints."""
    return _by_joints(signals, item, "open", any_joint=True)


def is_closed(signals: Signals, item: str) -> Truth:
    """``close(X)``: every joint of X is past its threshold. Not the opposite of ``open``."""
    return _by_joints(signals, item, "close", any_joint=False)


def is_turned_on(signals: Signals, item: str) -> Truth:
    """``turnon(X)``: any joint of X is past its threshold."""
    return _by_joints(signals, item, "turnon", any_joint=True)


def is_turned_off(signals: Signals, item: str) -> Truth:
    """``turnoff(X)``: every joint of X is past its threshold. Not the opposite of ``turnon``."""
    return _by_joints(signals, item, "turnoff", any_joint=False)


def joint_fault(rule: str, scene: Scene, item: str) -> str | None:
    """Why a fixture, region or joint has no such rule, or ``None``.

    Args:
        rule: ``open``, ``close``, ``turnon`` or ``turnoff``.
        scene: Meaning of the names.
        item: Fixture, region or joint.
    """
    joints, owner = _joints_of(scene, item)
    if owner is None or not joints:
        return f"{item!r} has no joint that could be asked"
    if getattr(owner.articulation, rule) is None:
        rules = [
            name
            for name in ("open", "close", "turnon", "turnoff")
            if getattr(owner.articulation, name) is not None
        ]
        return f"{owner.name!r} has no rule for {rule!r}; it has: {', '.join(rules) or 'none'}"
    if rule in ("turnon", "turnoff") and scene.kind_of(item) is ArgumentKind.REGION:
        return f"{rule!r} is asked of a fixture, not of its region {item!r}"
    return None


def _by_joints(signals: Signals, item: str, rule: str, *, any_joint: bool) -> Truth:
    joints, owner = _joints_of(signals.scene, item)
    assert owner is not None
    threshold: Threshold = getattr(owner.articulation, rule)
    held: list[npt.NDArray[np.bool_]] = [threshold.holds(signals.joint(joint)) for joint in joints]
    combine = np.logical_or if any_joint else np.logical_and
    return decide(signals, reduce(combine, held), *joints)


def _joints_of(scene: Scene, item: str) -> tuple[tuple[str, ...], SceneObject | None]:
    if scene.kind_of(item) is ArgumentKind.JOINT:
        return (item,), scene.owner_of_joint(item)
    found = scene.item(item)
    if isinstance(found, Region):
        return found.joints, None if found.parent is None else scene.object(found.parent)
    if isinstance(found, SceneObject):
        return found.joints, found
    return (), None


def _region(signals: Signals, name: str) -> Region:
    place = signals.scene.item(name)
    assert isinstance(place, Region)
    return place


def _counted_contact(signals: Signals, item: str, other: str, where: Mask) -> Mask:
    return any_contact(signals, GeomGroup(item, Part.COUNTED), GeomGroup(other, Part.COUNTED), where)
