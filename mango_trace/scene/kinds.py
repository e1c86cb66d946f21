"""Kinds of things that a scene names and a predicate takes."""

from __future__ import annotations

from enum import StrEnum


class ArgumentKind(StrEnum):
    """What an argument of a predicate is."""

    OBJECT = "object"
    REGION = "region"
    FIXTURE = "fixture"
    JOINT = "joint"
    HAND = "hand"
    SURFACE = "surface"
    NUMBER = "number"
