"""Files that were made to harm: each is a row or a problem that says why, and nothing of it is run."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib

import h5py
import numpy as np
import pyarrow as pa
import pytest

from mango_trace.store import Dataset
from recorder.importing import import_files
from recorder.importing.errors import EpisodeError, SourceError
from recorder.importing.model_text import read_model
from recorder.importing.robomimic import RobomimicFile, _task
from recorder.importing.scenes import check_harmless
from tests.recorder.importing.lift_files import lift_xml, write_lift

LOW, HIGH = 0.82, 0.85


def test_an_episode_that_could_not_be_read_is_replaced_when_it_can_be(tmp_path):
    """Its row has no digest of a content that nobody saw."""
    file = write_lift(tmp_path / "a@b.hdf5", {"demo_3": [LOW, HIGH], "demo_33": [LOW, LOW]})
    with h5py.File(file, "a") as opened:
        for demo in ("demo_3", "demo_33"):
            opened[f"data/{demo}"].move("actions", "hidden")
    assert import_files([file], tmp_path / "out").exit_code == 3
    assert [record.metadata.source for record in Dataset(tmp_path / "out").records] == [
        "a@b.hdf5#demo_3",
        "a@b.hdf5#demo_33",
    ]
    with h5py.File(file, "a") as opened:
        opened["data/demo_33"].move("hidden", "actions")
    assert import_files([file], tmp_path / "out").files[0].imported == 1
    endings = [(one.metadata.episode, one.metadata.ended) for one in Dataset(tmp_path / "out").records]
    assert endings == [(3, "error"), (33, "truncated")]


@pytest.mark.libero
@pytest.mark.parametrize("hidden", ["; c\r{}", "; c\r\n{}", "; c\n{}", "{} ; c", "; c \x0b\x85\u2028\r {}"])
def test_a_rotation_is_not_run_wherever_the_comment_ends(tmp_path, hidden):
    """LIBERO runs rotations as Python, and a lone carriage return ends a comment for it."""
    from recorder.adapters.libero import tasks_of

    task = tasks_of("libero_10")[3]
    evil = hidden.format("(:yaw_rotation ((exit 0.0)))")
    bddl = task.bddl.read_text().replace("(:yaw_rotation", evil + "\n(:yaw_rotation", 1)
    file = write_lift(tmp_path / "a.hdf5", {"demo_0": [LOW, HIGH]})
    with h5py.File(file, "a") as opened:
        opened["data"].attrs["bddl_file_name"] = f"libero_10/{task.bddl.name}"
        opened["data"].attrs["bddl_file_content"] = bddl
    report = import_files([file], tmp_path / "out")
    assert "has 'exit', no number; LIBERO would run it as Python" in report.files[0].errors["demo_0"]


@pytest.mark.libero
def test_rotations_of_the_benchmark_itself_are_harmless(tmp_path):
    from recorder.adapters.libero import SUITES, tasks_of

    for task in (task for suite in SUITES for task in tasks_of(suite)):
        check_harmless(task.bddl)
    (tmp_path / "a.bddl").write_text("(a (:yaw_rotation 1 (2 (3 x")
    with pytest.raises(EpisodeError, match="cannot read"):
        check_harmless(tmp_path / "a.bddl")
    commented = tmp_path / "b.bddl"
    commented.write_text("(a ; (:yaw_rotation ((exit 0.0)))\n(:yaw_rotation ((-1.5e-3 .5) (1))))")
    check_harmless(commented)


def test_a_path_of_a_model_is_never_opened(tmp_path):
    """Not even to say better why the model is refused: a pipe would hang for ever."""
    pipe = tmp_path / "pipe.stl"
    os.mkfifo(pipe)
    asset = f'<mesh name="m" file="{pipe}"/>'
    mesh = '<geom type="mesh" mesh="m" contype="0" conaffinity="0"/>'  # only looked at
    xml = lift_xml(asset, mesh, '<body><joint/><geom size="0.1" mass="0"/></body>')
    file = write_lift(tmp_path / "a.hdf5", {"demo_0": [LOW, HIGH]}, xml=xml)
    code = "import sys; from pathlib import Path; from recorder.importing import import_files;"
    code += "print(import_files([Path(sys.argv[1])], Path(sys.argv[2])).files[0].errors)"
    command = [sys.executable, "-c", code, str(file), str(tmp_path / "out")]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "refuses its model" in said
    assert "mass and inertia" in said


@pytest.mark.parametrize(
    ("asset", "body"),
    [
        ('<hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/>', '<geom type="hfield" hfield="h"/>'),
        ('<hfield name="h" nrow="nan" ncol="2" size="1 1 1 1"/>', '<geom type="hfield" hfield="h"/>'),
        ("", '<replicate count="1000000"><geom size="0.1"/></replicate>'),
        ("", '<replicate count="1000"><replicate count="1000"><geom size="0.1"/></replicate></replicate>'),
        ("", '<composite prefix="c" type="cable" count="10000000 1 1"/>'),
        ("", '<body><flexcomp name="f" type="grid" count="[1000, 1000, 1000]" dim="3"/></body>'),
        ("", '</worldbody><size memory="900G"/><worldbody>'),
        ("", '</worldbody><size nuserdata="2000000000"/><worldbody>'),
        ("", '</worldbody><size nuser_geom="100000"/><worldbody>'),
    ],
)
def test_a_short_text_that_asks_for_a_huge_model_is_refused(asset, body):
    with pytest.raises(EpisodeError, match=r"more than|asks for|no number"):
        read_model(lift_xml(asset, body=body), [], "demo")


def test_what_models_multiply_in_earnest_is_read():
    asset = '<hfield name="h" nrow="100" ncol="80" size="1 1 1 1"/>'
    body = '<geom type="hfield" hfield="h"/><replicate count="50"><geom size="0.1"/></replicate>'
    body += '</worldbody><size njmax="5000" nconmax="-1" nuser_geom="3"/><worldbody>'
    assert read_model(lift_xml(asset, body=body), [], "demo").model.ngeom == 54


@pytest.mark.parametrize("kind", ["S8", "O"])
def test_a_filter_of_fixed_or_any_length(tmp_path, kind):
    demos = {f"demo_{number}": [LOW, HIGH] for number in range(4)}
    file = write_lift(tmp_path / "a.hdf5", demos)
    with h5py.File(file, "a") as opened:
        opened["mask/some"] = np.array([b"demo_1", b"demo_3", b"demo_9"], dtype=kind)
    source = RobomimicFile(file)
    assert source.filtered("some") == ["demo_1", "demo_3"]
    source.close()


def _external_filter(file, other):
    with h5py.File(other, "w") as opened:
        opened["x/some"] = np.array(["demo_0"], dtype="S")
    file["mask"] = h5py.ExternalLink(str(other), "x")


def _external_list(file, other):
    with h5py.File(other, "w") as opened:
        opened["some"] = np.array(["demo_0"], dtype="S")
    file.create_group("mask")["some"] = h5py.ExternalLink(str(other), "some")


def _pipe(file, other):
    os.mkfifo(other)
    file.create_group("mask")["some"] = h5py.ExternalLink(str(other), "some")


def _raw(file, other):
    other.write_bytes(b"demo_0")
    file.create_group("mask").create_dataset("some", (1,), "S6", external=[(str(other), 0, 6)])


def _virtual(file, other):
    with h5py.File(other, "w") as opened:
        opened["some"] = np.array(["demo_0"], dtype="S")
    layout = h5py.VirtualLayout((1,), "S6")
    layout[:] = h5py.VirtualSource(str(other), "some", (1,), "S6")
    file.create_group("mask").create_virtual_dataset("some", layout)


def _huge(file, _):
    file.create_dataset("mask/some", (1 << 44,), "S6", chunks=(1024,))


def _long(file, _):
    file["mask/some"] = np.array([b"x" * 100_000], dtype="O")


def _chunk(file, _):
    file.create_dataset("mask/some", (1,), "S1000", chunks=(4_000_000,), maxshape=(None,))


def _number(file, _):
    file["mask/some"] = np.arange(3)


def _list(file, _):
    file["mask"] = np.zeros(3)


@pytest.mark.parametrize(
    "write", [_external_filter, _external_list, _pipe, _raw, _virtual, _huge, _long, _chunk, _number, _list]
)
def test_a_filter_is_read_as_carefully_as_states(tmp_path, write):
    """From this file, of bounded size; links are not even opened."""
    file = write_lift(tmp_path / "a.hdf5", {"demo_0": [LOW, HIGH]})
    with h5py.File(file, "a") as opened:
        write(opened, tmp_path / "other")
    source = RobomimicFile(file)
    try:
        with pytest.raises(SourceError):
            source.filtered("some")
    finally:
        source.close()


_WRONG = [
    EpisodeError,
    zlib.error,
    MemoryError,
    AttributeError,
    ValueError,
    RecursionError,
    TypeError,
    pa.ArrowInvalid,
]


@pytest.mark.parametrize("kind", _WRONG)
def test_whatever_a_reader_raises_is_that_episodes(tmp_path, monkeypatch, kind):
    read = RobomimicFile.read

    def hostile(self, key):
        if key == "demo_0":
            raise kind("no \ud800 text")
        return read(self, key)

    monkeypatch.setattr(RobomimicFile, "read", hostile)
    file = write_lift(tmp_path / "a.hdf5", {"demo_0": [LOW, HIGH], "demo_1": [LOW, HIGH]})
    report = import_files([file], tmp_path / "out")
    assert (report.exit_code, report.files[0].imported) == (3, 1)
    assert "no ? text" in report.files[0].errors["demo_0"]
    assert [record.metadata.ended for record in Dataset(tmp_path / "out").records] == ["error", "truncated"]


@pytest.mark.parametrize("kind", _WRONG)
def test_whatever_opening_raises_is_that_files(tmp_path, monkeypatch, kind):
    """And the file is closed."""
    bad = write_lift(tmp_path / "bad.hdf5", {"demo_0": [LOW, HIGH]})
    good = write_lift(tmp_path / "good.hdf5", {"demo_0": [LOW, HIGH]})
    opened = []

    def hostile(data, path):
        if path == bad:
            opened.append(data)
            raise kind("no")
        return _task(data, path)

    monkeypatch.setattr("recorder.importing.robomimic._task", hostile)
    report = import_files([bad, good], tmp_path / "out")
    assert (report.exit_code, report.files[1].imported) == (3, 1)
    assert report.files[0].problem.endswith("no")
    assert not opened[0]


def _attributes(**values):
    def change(file):
        for name, value in values.items():
            file["data"].attrs[name] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _attributes(env_args='{"env_kwargs": [1]}'),
        lambda file: file["data"].attrs.create("env", b"\xff", dtype=h5py.string_dtype()),
        _attributes(env_info='{"env_name": "\\ud800"}', env=""),
        _attributes(env="x" * 2_000_000),
        _attributes(env_args='{"env_kwargs": {"control_freq": 1e999}}'),
        lambda file: file["data/demo_0"].attrs.__setitem__("model_file", "<mujoco>" + "<body>" * 5000),
        lambda file: file["data/demo_0"].attrs.__setitem__(
            "model_file", "<mujoco><worldbody>" + "<body>" * 5000 + "</body>" * 5000 + "</worldbody></mujoco>"
        ),
        lambda file: file["data/demo_0"].attrs.__setitem__("ep_meta", '{"lang": "\\ud800"}'),
    ],
)
def test_hostile_content_is_an_error_of_its_own_and_the_rest_goes_on(tmp_path, change):
    bad = write_lift(tmp_path / "bad.hdf5", {"demo_0": [LOW, HIGH]})
    good = write_lift(tmp_path / "good.hdf5", {"demo_0": [LOW, HIGH]})
    with h5py.File(bad, "a") as opened:
        change(opened)
    report = import_files([bad, good], tmp_path / "out")
    assert report.exit_code == 3
    assert report.files[0].problem or report.files[0].errors
    assert report.files[1].imported == 1
