"""Where things start, and which of several alike a description tells apart.

From the premises of the task's BDDL, which describe the scene before anything happened. The frame is that of
the surface, whose middle is its origin: x grows to the front (away from the robot, towards who watches), y to
the right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from mango_trace.scene.bddl import Problem
from mango_trace.scene.model import Region, Scene

MARGIN_M: Final = 0.02
"""By how much one thing must fit better than the next to be the one that is meant."""

Point: TypeAlias = tuple[float, float]


class Placement:
    """Where the objects of a scene start.

    Args:
        scene: The scene.
        problem: The task's BDDL; of it, premises and rectangles are used.
    """

    def __init__(self, scene: Scene, problem: Problem) -> None:
        self._scene = scene
        self._centers = {rectangle.region: rectangle.center for rectangle in problem.rectangles}
        self._supports = {
            premise.arguments[0]: premise.arguments[1]
            for premise in problem.initial
            if premise.predicate in ("on", "in") and len(premise.arguments) == 2
        }

    def position(self, name: str) -> Point | None:
        """Where a thing or place is, or what carries it.

        Returns:
            x (to the front) and y (to the right), m; ``None`` if no rectangle is known.
        """
        seen: set[str] = set()
        current: str | None = name
        while current is not None and current not in seen:
            if current in self._centers:
                return self._centers[current]
            seen.add(current)
            owner = self._owner(current)
            current = self._supports.get(current) or (owner if owner != current else None)
        return None

    def lies_at(self, name: str, place: str, *, outside: bool) -> bool:
        """Whether a thing starts on or in a place.

        Args:
            name: The thing.
            place: An object, fixture or region.
            outside: Whether what lies in a moving part (a drawer) does not count.
        """
        support = self._supports.get(name)
        if support is None or (outside and support != place and self._moves(support)):
            return False
        return place in (support, self._owner(support))

    def select(self, kind: str, names: Sequence[str], anchors: Sequence[str]) -> tuple[str, ...]:
        """Keep what a relation describes.

        Args:
            kind: As in :class:`generator.rules.syntax.Relation`.
            names: Candidates.
            anchors: Landmarks.

        Returns:
            The candidates that fit; several if nothing decides between them.
        """
        if kind in ("on", "on_top", "in", "from"):
            outside = kind in ("on", "on_top")
            return tuple(name for name in names if self.lies_at(name, anchors[0], outside=outside))
        points = {name: self.position(name) for name in names}
        marks = [self.position(anchor) for anchor in anchors]
        known = {name: point for name, point in points.items() if point is not None}
        if len(known) < len(names) or None in marks:
            return tuple(names)
        landmarks = [mark for mark in marks if mark is not None]
        if kind in _EXTREMES and not anchors:
            return _best(known, _EXTREMES[kind])
        match kind:
            case "middle":
                return _middle(known)
            case "center":
                return _best(known, lambda point: math.dist(point, (0.0, 0.0)))
            case "between" if len(landmarks) == 2:
                return _best(known, lambda point: _distance_to_segment(point, *landmarks))
            case "next_to":
                beside = {
                    name: at
                    for name, at in known.items()
                    if not self.lies_at(name, anchors[0], outside=False)
                }
                return _best(beside, lambda point: math.dist(point, landmarks[0]))
            case "left" | "right" | "front" | "back":
                side = {
                    name: at
                    for name, at in known.items()
                    if _EXTREMES[kind](at) < _EXTREMES[kind](landmarks[0])
                }
                return _best(side, lambda point: math.dist(point, landmarks[0]))
            case _:
                return tuple(names)

    def _owner(self, name: str) -> str:
        item = self._item(name)
        return item.parent or name if isinstance(item, Region) else name

    def _moves(self, name: str) -> bool:
        item = self._item(name)
        return isinstance(item, Region) and bool(item.joints)

    def _item(self, name: str) -> object:
        return next((region for region in self._scene.regions if region.name == name), None)


_EXTREMES: Final[dict[str, Callable[[Point], float]]] = {
    "front": lambda point: -point[0],
    "back": lambda point: point[0],
    "right": lambda point: -point[1],
    "left": lambda point: point[1],
}


def _best(points: dict[str, Point], cost: Callable[[Point], float]) -> tuple[str, ...]:
    """The cheapest, with all that are within the margin of it."""
    if not points:
        return ()
    costs = {name: cost(point) for name, point in points.items()}
    bound = min(costs.values()) + MARGIN_M
    return tuple(name for name, value in costs.items() if value < bound)


def _middle(points: dict[str, Point]) -> tuple[str, ...]:
    """The one in the middle of an odd number, along the axis on which they lie farthest apart."""
    spread = [max(axis) - min(axis) for axis in zip(*points.values(), strict=True)]
    axis = spread.index(max(spread))
    ordered = sorted(points, key=lambda name: points[name][axis])
    half, rest = divmod(len(ordered), 2)
    return (ordered[half],) if rest else tuple(ordered)


def _distance_to_segment(point: Point, start: Point, end: Point) -> float:
    along = (end[0] - start[0], end[1] - start[1])
    length = along[0] ** 2 + along[1] ** 2
    share = 0.0
    if length:
        share = ((point[0] - start[0]) * along[0] + (point[1] - start[1]) * along[1]) / length
    share = min(max(share, 0.0), 1.0)
    return math.dist(point, (start[0] + share * along[0], start[1] + share * along[1]))
