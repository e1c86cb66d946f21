"""Reduce a MuJoCo model to what kinematics and collision need.

The source is the MJCF text that the simulator compiled, never a model printed by MuJoCo: printing
loses digits. Attribute texts of everything that stays are left as they are, so the slim model has
bit-identical body positions and contacts.
"""

from __future__ import annotations

import hashlib
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from mango_trace.errors import SceneError

_DROPPED_SECTIONS = frozenset(
    {"visual", "statistic", "sensor", "custom", "keyframe", "extension", "deformable"}
)
_DROPPED_ASSETS = frozenset({"texture", "material", "skin"})
_DROPPED_IN_BODIES = frozenset({"light", "camera"})
_APPEARANCE = ("material", "rgba")
_FILE_DIRECTORIES = ("meshdir", "texturedir", "assetdir")


@dataclass(frozen=True, slots=True)
class SlimModel:
    """A model without anything that is only looked at.

    Attributes:
        xml: MJCF text; its files are bare names.
        assets: Content of every file that it names.
    """

    xml: str
    assets: dict[str, bytes]

    def compile(self) -> mujoco.MjModel:
        """Compile it; files come from memory only."""
        return mujoco.MjModel.from_xml_string(self.xml, dict(self.assets))


def slim_model(xml: str, full: mujoco.MjModel, base: Path | None = None) -> SlimModel:
    """Drop visual geoms, textures, materials and all else that moves or touches nothing.

    Args:
        xml: MJCF text from which ``full`` was compiled.
        full: The compiled model; it says which geoms collide and what each body weighs.
        base: Directory that relative file names start from.

    Returns:
        The slim model, with the same bodies, joints, sites and colliding geoms in the same order.

    Raises:
        SceneError: The text and the model do not belong together, or a file is missing (all that
            are missing are listed).
    """
    root = ET.fromstring(xml)  # noqa: S314  the simulator's own text
    _drop_visual_geoms(root, full)
    _pin_inertia(root, full)
    for section in list(root):
        if section.tag in _DROPPED_SECTIONS:
            root.remove(section)
    for parent in root.iter():
        for child in list(parent):
            if child.tag in _DROPPED_IN_BODIES:
                parent.remove(child)
        if parent.tag in ("geom", "site", "mesh"):
            for attribute in _APPEARANCE:
                parent.attrib.pop(attribute, None)
    assets = _collect_assets(root, base)
    slim = SlimModel(ET.tostring(root, encoding="unicode"), assets)
    _check_same(slim.compile(), full)
    return slim


def bodies_in_order(root: ET.Element) -> Iterator[ET.Element]:
    """Bodies in the order in which MuJoCo numbers them: depth first, the world first."""
    for world in root.findall("worldbody"):
        yield world
    for world in root.findall("worldbody"):
        yield from (body for body in world.iter("body"))


def _direct_geoms(body: ET.Element) -> Iterator[tuple[ET.Element, ET.Element]]:
    """Geoms of one body with the element that holds them; frames do not start a new body."""
    for child in body:
        if child.tag == "geom":
            yield body, child
        elif child.tag in ("frame", "replicate", "composite", "flexcomp", "attach"):
            raise SceneError(f"<{child.tag}> inside <{body.tag}> is not supported in a scene")


def _drop_visual_geoms(root: ET.Element, full: mujoco.MjModel) -> None:
    in_pairs = {pair.get(side) for pair in root.iter("pair") for side in ("geom1", "geom2")}
    geom_id = 0
    for body in bodies_in_order(root):
        for parent, geom in list(_direct_geoms(body)):
            if geom_id >= full.ngeom or (geom.get("name") or "") != full.geom(geom_id).name:
                raise SceneError(
                    f"the XML does not belong to the compiled model: geom {geom_id} is "
                    f"{geom.get('name')!r} in the text"
                )
            collides = bool(full.geom_contype[geom_id] or full.geom_conaffinity[geom_id])
            if not collides and geom.get("name") not in in_pairs:
                parent.remove(geom)
            geom_id += 1
    if geom_id != full.ngeom:
        raise SceneError(f"the XML has {geom_id} geoms, the compiled model {full.ngeom}")


def _pin_inertia(root: ET.Element, full: mujoco.MjModel) -> None:
    """Write each body's inertia out, since dropped geoms may have carried it."""
    for body_id, body in enumerate(body for body in bodies_in_order(root) if body.tag == "body"):
        index = body_id + 1
        if full.body_mass[index] <= 0 or body.find("inertial") is not None:
            continue
        inertial = ET.Element(
            "inertial",
            pos=_numbers(full.body_ipos[index]),
            quat=_numbers(full.body_iquat[index]),
            mass=_numbers(full.body_mass[index]),
            diaginertia=_numbers(full.body_inertia[index]),
        )
        body.insert(0, inertial)


def _numbers(values: object) -> str:
    return " ".join(repr(float(value)) for value in np.atleast_1d(np.asarray(values)))


def _collect_assets(root: ET.Element, base: Path | None) -> dict[str, bytes]:
    """Keep the files of meshes and height fields in use, renamed by content."""
    directories = [
        compiler.attrib.pop(attribute)
        for compiler in root.iter("compiler")
        for attribute in _FILE_DIRECTORIES
        if attribute in compiler.attrib
    ]
    used = {
        geom.get(attribute)
        for tag in ("geom", "default")
        for geom in root.iter(tag)
        for attribute in ("mesh", "hfield")
    }
    assets: dict[str, bytes] = {}
    missing: list[str] = []
    for section in root.findall("asset"):
        for element in list(section):
            name = element.get("name") or Path(element.get("file", "")).stem
            if element.tag in _DROPPED_ASSETS or name not in used:
                section.remove(element)
                continue
            file = element.get("file")
            if file is None:
                continue
            content = _read_asset(file, directories, base)
            if content is None:
                missing.append(file)
                continue
            stored = hashlib.sha256(content).hexdigest()[:20] + Path(file).suffix.lower()
            assets[stored] = content
            element.set("name", name)
            element.set("file", stored)
    if missing:
        raise SceneError("files of the model are missing: " + ", ".join(sorted(missing)))
    return assets


def _read_asset(file: str, directories: list[str], base: Path | None) -> bytes | None:
    start = base or Path()
    for candidate in (start / file, *(start / directory / file for directory in directories)):
        if candidate.is_file():
            return candidate.read_bytes()
    return None


def _check_same(slim: mujoco.MjModel, full: mujoco.MjModel) -> None:
    """Raise unless both models have the same skeleton."""
    for size in ("nq", "nv", "nu", "na", "nbody", "njnt", "nsite", "nmocap", "neq"):
        if getattr(slim, size) != getattr(full, size):
            raise SceneError(
                f"the slim model has {size}={getattr(slim, size)}, the full one {getattr(full, size)}"
            )
    for index in range(full.nbody):
        if slim.body(index).name != full.body(index).name:
            raise SceneError(f"body {index} changed its name: {full.body(index).name!r}")
