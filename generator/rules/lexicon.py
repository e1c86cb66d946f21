"""The words that the rules understand, as data: verbs, prepositions, nouns and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Verb: TypeAlias = Literal["pick_up", "put", "stack", "push", "open", "close", "turn_on", "turn_off"]
"""What a clause asks for."""

VERBS: Final[Mapping[tuple[str, ...], Verb]] = {
    ("pick", "up"): "pick_up",
    ("pick",): "pick_up",
    ("grasp",): "pick_up",
    ("grab",): "pick_up",
    ("lift",): "pick_up",
    ("take",): "pick_up",
    ("put",): "put",
    ("place",): "put",
    ("move",): "put",
    ("set",): "put",
    ("stack",): "stack",
    ("push",): "push",
    ("slide",): "push",
    ("open",): "open",
    ("slide", "open"): "open",
    ("pull", "open"): "open",
    ("push", "closed"): "close",
    ("close",): "close",
    ("shut",): "close",
    ("turn", "on"): "turn_on",
    ("switch", "on"): "turn_on",
    ("turn", "off"): "turn_off",
    ("switch", "off"): "turn_off",
}

SPLIT_VERBS: Final[Mapping[str, Mapping[str, Verb]]] = {
    "turn": {"on": "turn_on", "off": "turn_off"},
    "switch": {"on": "turn_on", "off": "turn_off"},
    "pick": {"up": "pick_up"},
}
"""Verbs whose particle may follow the object: turn the stove on."""

PLACING: Final = frozenset({"put", "stack", "push"})
"""Verbs that need a destination."""

PREPOSITIONS: Final[Mapping[tuple[str, ...], str]] = {
    ("on", "top", "of"): "on_top",
    ("on", "the", "top", "of"): "on_top",
    ("to", "the", "right", "of"): "right",
    ("on", "the", "right", "of"): "right",
    ("right", "of"): "right",
    ("to", "the", "left", "of"): "left",
    ("on", "the", "left", "of"): "left",
    ("left", "of"): "left",
    ("to", "the", "front", "of"): "front",
    ("at", "the", "front", "of"): "front",
    ("in", "front", "of"): "front",
    ("to", "the", "back", "of"): "back",
    ("at", "the", "back", "of"): "back",
    ("behind",): "back",
    ("next", "to"): "next_to",
    ("near",): "next_to",
    ("beside",): "next_to",
    ("between",): "between",
    ("under",): "under",
    ("below",): "under",
    ("inside", "of"): "in",
    ("inside",): "in",
    ("into",): "in",
    ("in",): "in",
    ("onto",): "on",
    ("on",): "on",
    ("from",): "from",
}

LOCATIONS: Final[Mapping[tuple[str, ...], str]] = {
    **{
        (at, "the", side): side
        for at in ("at", "on", "in", "from")
        for side in ("left", "right", "front", "back")
    },
    **{(at, "the", "middle"): "middle" for at in ("at", "in", "from")},
    **{(at, *the, "table", "center"): "center" for at in ("at", "in", "from") for the in ((), ("the",))},
}
"""Places that are said without a landmark; they describe what stands before them."""

SIDES: Final = frozenset({"left", "right", "front", "back", "middle"})
"""Adjectives that tell instances of one category apart by where they start."""

DETERMINERS: Final = frozenset({"the", "a", "an"})
QUANTITIES: Final = frozenset({"both", "all"})
PRONOUNS: Final = frozenset({"it", "them"})
ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")

COLOURS: Final = frozenset(
    {"black", "white", "red", "yellow", "green", "blue", "orange", "brown", "pink", "purple", "grey", "gray"}
)

IMPLIED: Final[Mapping[str, tuple[str, ...]]] = {
    "porcelain": ("white",),
    "frypan": ("frying", "pan"),
    "cookies": ("cookie", "box"),
    "cheese": ("box",),
    "mug": ("cup",),
}
"""What a word of a category also says: people describe what they see, not what a mesh is called."""

ALIASES: Final[Mapping[str, str]] = {"shelf": "cabinet"}
"""What people call a thing of a category if the scene has nothing that is properly called so."""

DRAWERS: Final = frozenset({"drawer", "layer"})
COMPARTMENTS: Final = frozenset({"compartment"})
DOORS: Final = frozenset({"door"})
PARTS: Final = DRAWERS | COMPARTMENTS
"""Nouns for a region of something."""

DISHES: Final = frozenset({"bowl", "plate", "pan"})
"""Open tableware: what is in it lies on it, as the benchmark has no region for it."""

SHELVES: Final = frozenset({"shelf"})
"""Furniture with boards: what is on it is in its upper layer, what is under it in the lower one."""

SWITCHED: Final = frozenset({"stove"})
"""What can be on: whoever uses it is not to turn it off."""


def singular(word: str) -> str:
    """Take the plural's ending off.

    >>> singular("pots"), singular("boxes"), singular("glass")
    ('pot', 'box', 'glass')
    """
    if word.endswith(("xes", "shes", "ches")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
