"""Scene packages on disk: content-addressed, shared by all traces of a scene.

::

    scenes/<sha256>/scene.json     meaning of the model
                    model.xml      MJCF, the source of truth
                    task.bddl      the benchmark's own task description, if there is one
                    assets/        files that the MJCF names and that are in no other place
    scenes/assets/                 files that the MJCF of several scenes name, e.g. meshes of the robot

The name of the directory is the digest of the package, shared files included, so a package cannot change
unnoticed.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import mujoco
from pydantic import ValidationError

from mango_trace.errors import NewerFormatError, SceneError
from mango_trace.scene.bddl import Problem, parse_bddl
from mango_trace.scene.model import FORMAT_VERSION, SCENE_ADAPTER, Scene

_BARE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ASSETS = "assets"
_FORBIDDEN_TAGS = frozenset({"include", "plugin", "extension", "model"})
_MAX_BYTES = 64 << 20


@dataclass(frozen=True)
class ScenePackage:
    """A scene with its model.

    Attributes:
        scene: Meaning of the model.
        xml: MJCF text.
        assets: Files that the MJCF names, by bare name.
        bddl: The benchmark's task description, or ``None``.
    """

    scene: Scene
    xml: str
    assets: dict[str, bytes]
    bddl: str | None = None

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Every file of the package by its relative path."""
        document = json.dumps(SCENE_ADAPTER.dump_python(self.scene, mode="json"), indent=1, sort_keys=True)
        files = {"scene.json": document.encode(), "model.xml": self.xml.encode()}
        if self.bddl is not None:
            files["task.bddl"] = self.bddl.encode()
        files.update((f"{_ASSETS}/{name}", content) for name, content in self.assets.items())
        return files

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the names and contents of all files, in hex."""
        return _digest(self.files)

    @cached_property
    def problem(self) -> Problem | None:
        """Instruction, premises and goal, or ``None`` without a BDDL file.

        Raises:
            BddlError: The BDDL does not parse.
        """
        return None if self.bddl is None else parse_bddl(self.bddl, f"{self.scene.task}.bddl")

    def compile(self) -> mujoco.MjModel:
        """Compile the model; files come from memory only.

        Raises:
            SceneError: MuJoCo refuses the model; the message carries its reason.
        """
        try:
            return mujoco.MjModel.from_xml_string(self.xml, dict(self.assets))
        except ValueError as error:
            raise SceneError(
                f"scene {self.digest[:12]} ({self.scene.task}): MuJoCo {mujoco.__version__} "
                f"refuses its model: {error}"
            ) from error


def write_package(package: ScenePackage, scenes: Path) -> Path:
    """Store a package, once; a second call with the same content changes nothing.

    Args:
        package: What to store.
        scenes: Directory of all scene packages.

    Returns:
        The package's own directory.
    """
    target = scenes / package.digest
    if target.is_dir():
        return target
    scenes.mkdir(parents=True, exist_ok=True)
    shared = {
        f"{_ASSETS}/{name}"
        for name in _named_files(package.xml) & package.assets.keys()
        if _shared(scenes / _ASSETS, name, package.assets[name])
    }
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=scenes))
    for name, content in package.files.items():
        if name not in shared:
            path = part / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
    try:
        part.chmod(0o755)  # mkdtemp keeps others out
        part.rename(target)
    except OSError:  # another writer was first; both wrote the same bytes
        shutil.rmtree(part)
    return target


def drop_unused_packages(scenes: Path, used: Collection[str]) -> None:
    """Delete packages that nobody needs, and the shared files that only they named.

    Args:
        scenes: Directory of all scene packages.
        used: Digests of those to keep.
    """
    if not scenes.is_dir():
        return
    for path in scenes.iterdir():
        if path.name != _ASSETS and path.name not in used:
            shutil.rmtree(path)
    try:
        needed = {name for digest in used for name in read_package(scenes / digest).assets}
    except SceneError:
        return  # what a damaged package needs is not known
    for path in (scenes / _ASSETS).iterdir() if (scenes / _ASSETS).is_dir() else ():
        if path.name not in needed:
            path.unlink()


def read_package(directory: Path) -> ScenePackage:
    """Read and check a scene package.

    Args:
        directory: The package's directory, named by its digest.

    Returns:
        The package.

    Raises:
        SceneError: A file is missing, malformed, unsafe, or the content does not match the name.
        NewerFormatError: Written by a newer version.
    """
    files = _read_files(directory)
    files.update(_read_shared(directory.parent / _ASSETS, files))
    if _digest(files) != directory.name:
        raise SceneError(f"{directory}: content does not match its name; the package was changed")
    for required in ("scene.json", "model.xml"):
        if required not in files:
            raise SceneError(f"{directory}: no {required}")
    _check_version(directory, files["scene.json"])
    try:
        scene = SCENE_ADAPTER.validate_json(files["scene.json"])
        xml = files["model.xml"].decode()
        bddl = files["task.bddl"].decode() if "task.bddl" in files else None
    except (ValidationError, UnicodeDecodeError) as error:
        raise SceneError(f"{directory}: {error}") from error
    prefix = f"{_ASSETS}/"
    assets = {
        name.removeprefix(prefix): content for name, content in files.items() if name.startswith(prefix)
    }
    check_xml(xml, frozenset(assets), str(directory))
    return ScenePackage(scene, xml, assets, bddl)


def check_xml(xml: str, assets: frozenset[str], where: str) -> None:
    """Refuse a model that would reach outside its package.

    Args:
        xml: MJCF text.
        assets: Files that it may name.
        where: Name of the package, for messages.

    Raises:
        SceneError: It does not parse, includes something, loads a plugin, or names a file that is
            not in the package.
    """
    for element in _parse(xml, where).iter():
        if element.tag in _FORBIDDEN_TAGS:
            raise SceneError(f"{where}: model.xml uses <{element.tag}>, which is not allowed")
        for attribute, value in element.attrib.items():
            if attribute.startswith("file") and value not in assets:
                raise SceneError(f"{where}: model.xml names {value!r}, which is not in the package")


def _parse(xml: str, where: str) -> ET.Element:
    if "<!" in xml.replace("<!--", ""):
        raise SceneError(f"{where}: model.xml declares a document type or entity")
    try:
        return ET.fromstring(xml)  # noqa: S314  no entities: checked above
    except ET.ParseError as error:
        raise SceneError(f"{where}: model.xml is not XML: {error}") from error


def _check_version(directory: Path, document: bytes) -> None:
    try:
        version = json.loads(document).get("format_version", FORMAT_VERSION)
    except (ValueError, AttributeError, RecursionError) as error:
        raise SceneError(f"{directory}/scene.json: {error}") from error
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise NewerFormatError(f"{directory}/scene.json", version, FORMAT_VERSION)


def _read_files(directory: Path) -> dict[str, bytes]:
    if not directory.is_dir():
        raise SceneError(f"{directory}: no such scene package")
    files: dict[str, bytes] = {}
    total = 0
    for path in _files_below(directory):
        name = path.relative_to(directory).as_posix()
        if path.is_symlink() or not _BARE_NAME.fullmatch(path.name):
            raise SceneError(f"{directory}: {name!r} is not allowed in a scene package")
        total += path.stat().st_size
        if total > _MAX_BYTES:
            raise SceneError(f"{directory}: larger than {_MAX_BYTES >> 20} MiB")
        files[name] = path.read_bytes()
    return files


def _files_below(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _files_below(path)
        else:
            yield path


def _named_files(xml: str) -> frozenset[str]:
    """Bare names of the files that a model names; none where the text is not to be trusted."""
    try:
        root = _parse(xml, "model.xml")
    except SceneError:
        return frozenset()  # said where the package is read
    return frozenset(
        value
        for element in root.iter()
        for attribute, value in element.attrib.items()
        if attribute.startswith("file") and _BARE_NAME.fullmatch(value)
    )


def _shared(folder: Path, name: str, content: bytes) -> bool:
    """Store a file for all scenes; False where another one has its name."""
    path = folder / name
    if not path.exists():
        folder.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile(prefix=".part-", dir=folder, delete=False) as part:
            part.write(content)
        Path(part.name).chmod(0o644)
        Path(part.name).rename(path)  # whole or not at all
    return not path.is_symlink() and path.read_bytes() == content


def _read_shared(folder: Path, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Files for all scenes that a model names and its own package lacks."""
    xml = files.get("model.xml", b"").decode(errors="replace")
    found: dict[str, bytes] = {}
    total = sum(map(len, files.values()))
    wanted = {name for name in _named_files(xml) if f"{_ASSETS}/{name}" not in files}
    try:  # one listing, because each question to remote storage takes its time
        there = {path.name for path in folder.iterdir()} if wanted else set()
    except (FileNotFoundError, NotADirectoryError):
        there = set()
    for name in sorted(wanted & there):
        path = folder / name
        if path.is_symlink() or folder.is_symlink():
            raise SceneError(f"{folder}: {name!r} is not allowed there")
        total += path.stat().st_size
        if total > _MAX_BYTES:
            raise SceneError(f"{folder}: with {name!r} the package is larger than {_MAX_BYTES >> 20} MiB")
        found[f"{_ASSETS}/{name}"] = path.read_bytes()
    return found


def _digest(files: dict[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(f"{name}\0{hashlib.sha256(files[name]).hexdigest()}\n".encode())
    return whole.hexdigest()
