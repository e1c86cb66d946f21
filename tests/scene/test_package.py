"""Scene packages: what was stored is what is read, and nothing reaches outside the package."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from mango_trace.errors import NewerFormatError, SceneError
from mango_trace.scene.overrides import apply_overrides, find_overrides, pristine
from mango_trace.scene.package import (
    ScenePackage,
    check_xml,
    drop_unused_packages,
    read_package,
    write_package,
)
from mango_trace.signals import SceneKinematics
from tests.synthetic import XML, make_package, make_trace, rest_states

PACKAGE = make_package()


def stored(tmp_path: Path, package: ScenePackage = PACKAGE) -> Path:
    return write_package(package, tmp_path / "scenes")


def renamed(folder: Path) -> Path:
    """Name a changed package by its content, as an attacker would."""
    files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(f"{name}\0{hashlib.sha256(files[name]).hexdigest()}\n".encode())
    return folder.rename(folder.with_name(whole.hexdigest()))


def with_mesh() -> ScenePackage:
    """A package whose model names a file."""
    obj = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
    xml = XML.replace("<worldbody>", '<asset><mesh name="m" file="m.obj"/></asset><worldbody>', 1).replace(
        "</worldbody>", '<body name="rock"><geom type="mesh" mesh="m"/></body></worldbody>', 1
    )
    return ScenePackage(PACKAGE.scene, xml, {"m.obj": obj}, PACKAGE.bddl)


def test_write_then_read_is_identity(tmp_path):
    for package in (PACKAGE, with_mesh(), make_package(bddl=None)):
        read = read_package(stored(tmp_path, package))
        assert read == package
        assert read.digest == package.digest


def test_writing_twice_changes_nothing_and_a_digest_names_the_content(tmp_path):
    folder = stored(tmp_path)
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert stored(tmp_path) == folder
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == times
    assert [path.name for path in folder.parent.iterdir()] == [PACKAGE.digest]
    assert make_package(task="another").digest != PACKAGE.digest
    assert make_package(xml=XML + "\n").digest != PACKAGE.digest


def test_the_model_of_a_package_equals_a_direct_compilation(tmp_path):
    for package in (PACKAGE, with_mesh()):
        read = read_package(stored(tmp_path, package)).compile()
        direct = mujoco.MjModel.from_xml_string(package.xml, package.assets)
        assert pristine(read).keys() == pristine(direct).keys()
        for field, values in pristine(direct).items():
            assert np.array_equal(pristine(read)[field], values), field
        assert read.names == direct.names


@pytest.mark.parametrize("name", ["scene.json", "model.xml", "task.bddl"])
def test_a_changed_file_is_detected(tmp_path, name):
    folder = stored(tmp_path)
    (folder / name).write_bytes((folder / name).read_bytes() + b" ")
    with pytest.raises(SceneError, match="content does not match its name"):
        read_package(folder)


@pytest.mark.parametrize("name", ["extra.txt", "assets/extra.stl"])
def test_an_added_or_removed_file_is_detected(tmp_path, name):
    folder = stored(tmp_path, with_mesh())
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("x")
    with pytest.raises(SceneError, match="content does not match its name"):
        read_package(folder)
    (folder / name).unlink()
    read_package(folder)
    (folder.parent / "assets" / "m.obj").unlink()
    with pytest.raises(SceneError, match="content does not match its name"):
        read_package(folder)


def test_a_file_that_several_scenes_name_is_stored_once(tmp_path):
    first, second = with_mesh(), with_mesh()
    second = replace(second, bddl=None)
    folders = [stored(tmp_path, package) for package in (first, second)]
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("m.obj")] == [
        "scenes/assets/m.obj"
    ]
    assert [read_package(folder) for folder in folders] == [first, second]


def test_another_file_of_the_same_name_stays_with_its_scene(tmp_path):
    first = with_mesh()
    second = replace(first, assets={"m.obj": first.assets["m.obj"] + b"v 9 9 9\n"})
    unnamed = replace(first, assets={**first.assets, "other.obj": b"x"})
    for package in (first, second, unnamed):
        assert read_package(stored(tmp_path, package)) == package
    for package in (first, second, unnamed):
        assert read_package(tmp_path / "scenes" / package.digest) == package


def test_a_changed_or_linked_shared_file_is_detected(tmp_path):
    folder = stored(tmp_path, with_mesh())
    shared = folder.parent / "assets" / "m.obj"
    whole = shared.read_bytes()
    shared.write_bytes(whole + b" ")
    with pytest.raises(SceneError, match="content does not match its name"):
        read_package(folder)
    shared.unlink()
    (tmp_path / "m.obj").write_bytes(whole)
    shared.symlink_to(tmp_path / "m.obj")
    with pytest.raises(SceneError, match="is not allowed"):
        read_package(folder)
    shared.unlink()
    with shared.open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)  # sparse
    with pytest.raises(SceneError, match="larger than 64 MiB"):
        read_package(folder)


def test_shared_files_go_with_the_last_scene_that_names_them(tmp_path):
    meshed, plain = with_mesh(), PACKAGE
    for package in (meshed, plain):
        stored(tmp_path, package)
    drop_unused_packages(tmp_path / "scenes", {meshed.digest, plain.digest})
    assert read_package(tmp_path / "scenes" / meshed.digest) == meshed
    drop_unused_packages(tmp_path / "scenes", {plain.digest})
    assert read_package(tmp_path / "scenes" / plain.digest) == plain
    assert not list(tmp_path.rglob("m.obj"))
    assert not (tmp_path / "scenes" / meshed.digest).exists()


def test_a_symbolic_link_is_refused_even_when_the_content_fits(tmp_path):
    folder = stored(tmp_path)
    outside = (folder / "model.xml").rename(tmp_path / "model.xml")
    (folder / "model.xml").symlink_to(outside)
    with pytest.raises(SceneError, match=r"'model\.xml' is not allowed"):
        read_package(folder)


def test_a_linked_folder_is_refused(tmp_path):
    package = with_mesh()
    folder = stored(tmp_path, package)
    shared = folder.parent / "assets"
    outside = shared.rename(tmp_path / "assets")
    shared.symlink_to(outside)
    with pytest.raises(SceneError, match="is not allowed"):
        read_package(folder)
    shared.unlink()
    (folder / "assets").symlink_to(outside)
    with pytest.raises(SceneError):
        read_package(folder)


@pytest.mark.parametrize("name", [".hidden", "-rf", "a b", "a;b", "ü.stl", "a\nb"])
def test_a_malicious_file_name_is_refused(tmp_path, name):
    folder = stored(tmp_path)
    (folder / name).write_text("x")
    with pytest.raises(SceneError, match="is not allowed in a scene package"):
        read_package(renamed(folder))


def test_a_package_that_is_too_large_is_refused_without_reading_it(tmp_path):
    folder = stored(tmp_path)
    with (folder / "huge.bin").open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)  # sparse
    with pytest.raises(SceneError, match="larger than 64 MiB"):
        read_package(folder)


def test_missing_files_are_named(tmp_path):
    for name in ("scene.json", "model.xml"):
        folder = stored(tmp_path)
        (folder / name).unlink()
        with pytest.raises(SceneError, match=f"no {name}"):
            read_package(renamed(folder))
    with pytest.raises(SceneError, match="no such scene package"):
        read_package(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("document", "kind", "message"),
    [
        ({"format_version": 2}, NewerFormatError, "format version 2 is newer than 1"),
        ({"format_version": 2, "wings": 1}, NewerFormatError, "upgrade"),
        ({"wings": 1}, SceneError, "wings"),
        ({"control_hz": float("nan")}, SceneError, "control_hz"),
        ({"objects": 3}, SceneError, "objects"),
    ],
)
def test_a_newer_or_malformed_scene_is_refused(tmp_path, document, kind, message):
    folder = stored(tmp_path)
    path = folder / "scene.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **document}))
    with pytest.raises(SceneError if kind is SceneError else NewerFormatError, match=message):
        read_package(renamed(folder))


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '"x"', "[" * 100_000])
def test_a_scene_that_is_no_document_is_refused(tmp_path, text):
    folder = stored(tmp_path)
    (folder / "scene.json").write_text(text)
    with pytest.raises(SceneError):
        read_package(renamed(folder))


@pytest.mark.parametrize(
    "part",
    [
        '<include file="m.obj"/>',
        '<asset><model name="x" file="m.obj"/></asset>',
        '<extension><plugin plugin="mujoco.elasticity.cable"/></extension>',
        '<worldbody><plugin plugin="x"/></worldbody>',
        '<asset><mesh name="a" file="/etc/passwd"/></asset>',
        '<asset><mesh name="a" file="../../../etc/passwd"/></asset>',
        '<asset><mesh name="a" file="assets/m.obj"/></asset>',
        '<asset><mesh name="a" file="other.obj"/></asset>',
        '<asset><texture name="a" type="cube" fileup="/etc/passwd"/></asset>',
        '<asset><hfield name="a" file="/etc/passwd"/></asset>',
        '<asset><skin file="/etc/passwd"/></asset>',
        '<asset><texture name="a" type="skybox" file="http://localhost/x.png"/></asset>',
        '<worldbody><flexcomp name="f" type="mesh" file="/etc/passwd"/></worldbody>',
        '<worldbody><composite type="cable"><plugin plugin="p"/></composite></worldbody>',
    ],
)
def test_a_model_that_reaches_outside_is_refused(part):
    with pytest.raises(SceneError, match=r"not allowed|not in the package"):
        check_xml(f"<mujoco>{part}</mujoco>", frozenset({"m.obj"}), "here")


@pytest.mark.parametrize(
    "xml",
    [
        '<!DOCTYPE x [<!ENTITY a "b">]><mujoco model="&a;"/>',
        '<!DOCTYPE x SYSTEM "file:///etc/passwd"><mujoco/>',
        "<!--><!DOCTYPE x><mujoco/>",
        '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY l2 "&lol;&lol;">]><mujoco/>',
    ],
)
def test_document_types_and_entities_are_refused(xml):
    with pytest.raises(SceneError):
        check_xml(xml, frozenset(), "here")


def test_comments_are_allowed():
    check_xml("<!-- a comment --><mujoco><!-- another --></mujoco>", frozenset(), "here")


def test_what_is_no_xml_is_refused():
    for xml in ("", "<mujoco>", "hello", "<a/><b/>"):
        with pytest.raises(SceneError, match="is not XML"):
            check_xml(xml, frozenset(), "here")


def test_a_refused_model_is_never_compiled(tmp_path, monkeypatch):
    package = make_package(xml='<mujoco><include file="/etc/passwd"/></mujoco>')
    folder = stored(tmp_path, package)
    monkeypatch.setattr(mujoco.MjModel, "from_xml_string", lambda *_: pytest.fail("compiled"))
    with pytest.raises(SceneError, match="<include>"):
        read_package(folder)


def test_a_model_that_mujoco_refuses_says_why(tmp_path):
    package = make_package(xml='<mujoco><worldbody><geom type="wings"/></worldbody></mujoco>')
    with pytest.raises(SceneError, match=r"put_the_apple.*refuses its model.*wings"):
        read_package(stored(tmp_path, package)).compile()


def cabinet_positions(kinematics: SceneKinematics, seeds: list[int]) -> dict[int, bytes]:
    found = {}
    for seed in seeds:
        trace = make_trace(PACKAGE, 5, seed)
        signals = kinematics.signals(trace.signals_input, overrides=trace.metadata.overrides)
        found[seed] = signals.position("cabinet_1_drawer_region").tobytes()
    return found


def test_overrides_of_one_trace_do_not_leak_into_another():
    seeds = list(range(6))
    alone = {seed: cabinet_positions(SceneKinematics(PACKAGE), [seed])[seed] for seed in seeds}
    assert len(set(alone.values())) == len(seeds)
    for order in (seeds, seeds[::-1], [3, 0, 3, 5, 1, 4, 2, 0]):
        found = cabinet_positions(SceneKinematics(PACKAGE), order)
        assert found == {seed: alone[seed] for seed in found}


def test_without_overrides_the_model_is_as_compiled_again():
    kinematics = SceneKinematics(PACKAGE)
    before = pristine(kinematics.model)
    states = rest_states(PACKAGE, 2)
    inputs = {**states, "time": states["time"][:, 0]}
    rows = {
        "body_pos": {"cabinet_1": [1.0, 2.0, 3.0], "apple_1": [0.0, 0.0, 1.0]},
        "geom_size": {"apple_1_g0": [0.1, 0.1, 0.1]},
        "opt_gravity": {"#2": [-1.0]},
        "dof_damping": {"#3": [5.0]},
        "qpos0": {"#0": [0.5]},
    }
    kinematics.signals(inputs, overrides=rows)
    assert not np.array_equal(kinematics.model.body_pos, before["body_pos"])
    kinematics.signals(inputs)
    for field, values in pristine(kinematics.model).items():
        assert np.array_equal(values, before[field]), field


def test_a_refused_override_does_not_spoil_the_next_trace():
    kinematics = SceneKinematics(PACKAGE)
    before = pristine(kinematics.model)
    states = rest_states(PACKAGE, 2)
    inputs = {**states, "time": states["time"][:, 0]}
    bad = {"body_pos": {"cabinet_1": [1.0, 2.0, 3.0], "cabinet_2": [0.0, 0.0, 0.0]}}
    for _ in range(2):
        with pytest.raises(SceneError):
            kinematics.signals(inputs, overrides=bad)
    kinematics.signals(inputs)
    for field, values in pristine(kinematics.model).items():
        assert np.array_equal(values, before[field]), field


def test_found_overrides_applied_to_a_fresh_model_give_the_live_one():
    live, fresh = PACKAGE.compile(), PACKAGE.compile()
    compiled = pristine(live)
    assert find_overrides(live, compiled) == {}
    live.body("cabinet_1").pos[:] = (0.1, 1 / 3, -0.0)
    live.body("cabinet_1").quat[:] = (0.8, 0.6, 0.0, 0.0)
    live.geom("apple_1_g0").friction[0] = 0.123
    live.opt.gravity[2] = -1.62
    live.opt.timestep = 0.001
    found = find_overrides(live, compiled)
    assert set(found) == {"body_pos", "body_quat", "geom_friction", "opt_gravity", "opt_timestep"}
    apply_overrides(fresh, json.loads(json.dumps(found)))
    for field, values in pristine(live).items():
        assert np.array_equal(pristine(fresh)[field], values), field


@pytest.mark.parametrize(
    "rows",
    [
        {"names": {"x": [1.0]}},
        {"body_parentid": {"cabinet_1": [0.0]}},
        {"opt_wings": {"#0": [1.0]}},
        {"opt_disableflags": {"#0": [1.0]}},
        {"body_pos": {"cabinet_1": [1.0, 2.0]}},
        {"body_pos": {"cabinet_1": []}},
        {"body_pos": {"nobody": [1.0, 2.0, 3.0]}},
        {"body_pos": {"#999": [1.0, 2.0, 3.0]}},
        {"body_pos": {"#-1": [1.0, 2.0, 3.0]}},
        {"body_pos": {"cabinet_1": [float("nan"), 0.0, 0.0]}},
        {"body_pos": {"cabinet_1": [float("inf"), 0.0, 0.0]}},
        {"opt_gravity": {"#0": [0.0, 0.0, -1.0]}},
        {"opt_gravity": {"#3": [1.0]}},
        {"opt_timestep": {"#0": []}},
        {"opt_timestep": {"#0": [1.0, 2.0]}},
    ],
)
def test_an_override_that_does_not_fit_is_refused(rows):
    with pytest.raises(SceneError):
        apply_overrides(PACKAGE.compile(), rows)


def test_an_override_of_a_geom_that_the_slim_model_dropped_is_passed_over():
    model = PACKAGE.compile()
    before = pristine(model)
    apply_overrides(model, {"geom_pos": {"some_visual_geom": [1.0, 2.0, 3.0]}})
    assert all(np.array_equal(pristine(model)[field], values) for field, values in before.items())
