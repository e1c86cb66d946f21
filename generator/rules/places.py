"""Where something is to go: the atomic task, and the region or thing that it ends at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from generator.rules.errors import AmbiguousError, InstructionError, NoReferentError
from generator.rules.grounding import Grounding
from generator.rules.lexicon import DISHES, SHELVES, SIDES, Verb
from generator.rules.syntax import Relation
from mango_trace.scene.model import Region

_TASKS: Final[Mapping[str, str]] = {
    "in": "place_in",
    "under": "place_in",
    "on": "place_on",
    "on_top": "place_on",
    **dict.fromkeys(SIDES - {"middle"}, "place_on"),
}
_SURFACES: Final = ("cook_region", "top_side", "top_region")
"""What a thing that is put on something lies on, the best first."""

_LAYERS: Final[Mapping[str, str]] = {"on": "top_region", "under": "bottom_region"}
"""What the boards of a shelf make."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where something is to go.

    Attributes:
        task_id: The atomic task that brings it there.
        target: The region or thing that it ends at.
        anchor: The thing that the instruction names.
        relation: How the instruction says it stands to it, as in :class:`generator.rules.syntax.Relation`.
    """

    task_id: str
    target: str
    anchor: str
    relation: str


def task_of(verb: Verb, relation: Relation) -> str:
    """The atomic task that a destination asks for, as far as words tell.

    Raises:
        InstructionError: Nothing can be put there.
    """
    head = relation.anchors[-1].head if relation.anchors else ""
    task_id = _TASKS.get(relation.kind)
    if task_id is None or not relation.anchors:
        places = ", ".join(sorted(_TASKS))
        raise InstructionError(f"{relation.shown()!r} is no place to put something; there are: {places}")
    if relation.kind == "in" and head in DISHES:
        task_id = "place_on"
    elif relation.kind in _LAYERS and head in SHELVES:
        task_id = "place_in"
    return "push_to" if verb == "push" and task_id == "place_on" else task_id


def destination(verb: Verb, relation: Relation, grounding: Grounding) -> Destination:
    """Find where something is to go in a scene.

    Args:
        verb: What is done.
        relation: The destination.
        grounding: Names of the scene.

    Raises:
        InstructionError: There is no such place, or more than one.
    """
    task_id = task_of(verb, relation)
    phrase = relation.anchors[-1]
    found = grounding.candidates(phrase)
    owners = tuple(dict.fromkeys(map(grounding.owner, found)))
    # On top of the drawers is on top of what has them.
    if len(owners) > 1 or (len(found) > 1 and task_id == "place_in"):
        raise AmbiguousError(phrase.text, found)
    named, anchor = found[0], owners[0]
    regions = grounding.regions_of(anchor)
    if relation.kind in SIDES:
        target = grounding.beside(anchor, relation.kind, relation.shown())
    elif relation.kind in _LAYERS and (phrase.head in SHELVES or relation.kind == "under"):
        target = _layer(relation, regions, anchor)
    elif task_id == "place_in":
        target = named if grounding.region(named) else _container(relation, regions, anchor)
    else:
        on = (regions[name].name for name in _SURFACES if name in regions and not regions[name].joints)
        target = next(on, anchor)
    return Destination(task_id, target, anchor, relation.kind)


def _layer(relation: Relation, regions: Mapping[str, Region], anchor: str) -> str:
    name = _LAYERS[relation.kind]
    if name not in regions or regions[name].joints:
        known = tuple(region.name for region in regions.values())
        raise NoReferentError(relation.shown(), f"{anchor} has no layer there", known)
    return regions[name].name


def _container(relation: Relation, regions: Mapping[str, Region], anchor: str) -> str:
    found = [
        region.name
        for rest, region in regions.items()
        if region.joints or {"contain", "heating"} & set(rest.split("_"))
    ]
    if not found:
        known = tuple(region.name for region in regions.values())
        raise NoReferentError(relation.shown(), f"{anchor} has no region that holds something", known)
    if len(found) > 1:
        raise AmbiguousError(relation.shown(), found)
    return found[0]
