"""Public reports about files of other people (sections A and B): what comes of importing them."""

from __future__ import annotations

import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import duckdb
import h5py
import mujoco
import numpy as np
import pytest
from click.testing import CliRunner

from mango_trace.evaluation import evaluate
from mango_trace.queries import run_query
from mango_trace.store import Dataset
from recorder.import_cli import import_command
from recorder.importing import import_files
from recorder.importing.errors import EpisodeError
from recorder.importing.init_states import read_init_states
from recorder.importing.model_text import find_asset, read_model
from recorder.importing.run import Choice
from tests.recorder.importing.lift_files import lift_states, lift_xml, write_lift

LOW, HIGH = 0.82, 0.85


def _judged(folder, name="out"):
    """Outcome of the goal, by number of the episode, and the summary."""
    summary = evaluate([folder / name], [], folder / "v.duckdb")
    with duckdb.connect(str(folder / "v.duckdb"), read_only=True) as con:
        rows = con.execute(
            "SELECT t.episode, coalesce(e.outcome, t.status) FROM traces t LEFT JOIN end_state e"
            " USING (trace_id) ORDER BY 1"
        ).fetchall()
    return dict(rows), summary


def test_o_22_claims_are_labels(tmp_path):
    """Reward 1 on a cube that never rose, none on one that did: failed and passed, they disagree 2 of 2."""
    claimed = write_lift(tmp_path / "a.hdf5", {"demo_0": [LOW] * 5}, rewards=lambda n: np.eye(n)[-1])
    silent = write_lift(tmp_path / "b.hdf5", {"demo_1": [LOW, LOW, HIGH, HIGH]}, rewards=np.zeros)
    with h5py.File(claimed, "a") as file:  # with the terminal state, so that failed is sure
        del file["data/demo_0/states"]
        file["data/demo_0/states"] = lift_states([LOW] * 6)
    assert import_files([claimed, silent], tmp_path / "out").exit_code == 0
    outcomes, _ = _judged(tmp_path)
    assert outcomes == {0: "failed", 1: "passed"}
    total = run_query(tmp_path / "v.duckdb", "source_labels").records()[-1]
    assert (total["n_labelled"], total["disagree"]) == (2, 2)
    assert (total["claimed_and_failed"], total["denied_and_passed"]) == (1, 1)
    assert [record.live_success for record in Dataset(tmp_path / "out").records] == [None, None]


def test_o_91_the_last_action_may_have_reached_it(tmp_path):
    """T states and T actions, the goal in none of them: not failed, undetermined, and said why."""
    file = write_lift(tmp_path / "a.hdf5", {"demo_0": [LOW] * 4})
    import_files([file], tmp_path / "out")
    outcomes, _ = _judged(tmp_path)
    assert outcomes == {0: "undetermined"}
    (row,) = (
        duckdb.connect(str(tmp_path / "v.duckdb"), read_only=True)
        .execute("SELECT problems, n_states, n_steps FROM traces")
        .fetchall()
    )
    assert row[0][0] == "terminal state not stored"
    assert row[1:] == (5, 4)


def test_o_25_a_filter_that_keeps_nothing_is_an_error(tmp_path):
    demos = {f"demo_{number}": [LOW, HIGH] for number in range(50)}
    none = [demo for demo in demos if demo.endswith("x")]
    file = write_lift(tmp_path / "a.hdf5", demos, masks={"moving": none, "some": ["demo_3", "demo_10"]})
    out = ["--out", str(tmp_path / "out")]
    result = CliRunner().invoke(import_command, [str(file), *out, "--filter-key", "moving"])
    assert result.exit_code == 3
    assert "0 of 50 episodes kept" in result.output
    result = CliRunner().invoke(import_command, [str(file), *out, "--filter-key", "some"])
    assert result.exit_code == 0
    assert "2 of 50 episodes imported, 0 were there already, 48 left out, 0 errors" in result.output
    result = CliRunner().invoke(import_command, [str(file), *out, "--filter-key", "som"])
    assert result.exit_code == 3
    assert "did you mean 'some'" in result.output


def test_o_29_other_widths_are_refused(tmp_path):
    """One number more than time, positions and velocities: no slicing, both widths are named."""
    demos = {"demo_0": [LOW, HIGH], "demo_1": [LOW, HIGH]}
    file = write_lift(tmp_path / "a.hdf5", demos)
    with h5py.File(file, "a") as opened:
        del opened["data/demo_0/states"]
        opened["data/demo_0/states"] = lift_states([LOW, HIGH], extra=1)
    report = import_files([file], tmp_path / "out")
    assert report.files[0].imported == 1
    assert "2 states of 15 numbers; its model has 14" in report.files[0].errors["demo_0"]
    dataset = Dataset(tmp_path / "out")
    trace = dataset.load(next(record for record in dataset.records if record.metadata.episode == 1))
    assert np.array_equal(trace.time[:2], [0.0, 0.05])


def _mesh(folder):
    """A tetrahedron as STL."""
    points = np.array([[0, 0, 0], [0.02, 0, 0], [0, 0.02, 0], [0, 0, 0.02]], dtype="<f4")
    content = bytearray(80) + np.uint32(4).tobytes()
    for face in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)):
        content += np.zeros(3, "<f4").tobytes() + points[list(face)].tobytes() + b"\0\0"
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_bytes(bytes(content))


@pytest.mark.parametrize(
    "path",
    [
        "/Users/x/robosuite-dev/robosuite/models/assets/robots/panda/meshes/link0.stl",
        "C:\\Users\\x\\site-packages\\robosuite\\models\\assets\\robots\\panda\\meshes/link0.stl",
        "C:\\data\\assets\\robots\\panda\\meshes/link0.stl",
        "/home/u/robosuite/old/robosuite/models/assets/robots/panda/meshes/link0.stl",
        "/robosuite/models/assets/x/robosuite/models/assets/arenas/../robots/panda/meshes/link0.stl",
    ],
)
def test_o_30_o_31_paths_of_other_machines(tmp_path, path):
    """The last marker of a path counts, whichever slash separates."""
    root = tmp_path / "package"
    mesh = root / "models" / "assets" / "robots" / "panda" / "meshes" / "link0.stl"
    _mesh(mesh)
    (root / "models" / "assets" / "arenas").mkdir()
    assert find_asset(path, [root]) == mesh
    text = lift_xml(f'<mesh name="m" file="{path}"/>', '<geom name="g" type="mesh" mesh="m" mass="0.1"/>')
    here = text.replace(path, str(mesh))
    found = read_model(text, [root], "demo").model
    expected = mujoco.MjModel.from_xml_string(here)
    for field in ("body_mass", "body_pos", "geom_pos", "geom_quat", "mesh_vert"):
        assert np.array_equal(getattr(found, field), getattr(expected, field))


def test_o_30_nothing_outside_the_folders_of_assets_is_read(tmp_path):
    (tmp_path / "secret.stl").write_bytes(b"x")
    (tmp_path / "root" / "assets").mkdir(parents=True)
    assert find_asset("/a/assets/../../secret.stl", [tmp_path / "root"]) is None
    assert find_asset(str(tmp_path / "secret.stl"), [tmp_path / "root"]) is None


def test_o_30_everything_that_is_missing_is_listed_at_once(tmp_path):
    names = ["/a/robosuite/models/assets/x.stl", "/b/robosuite/models/assets/y.stl"]
    asset = "".join(f'<mesh name="m{i}" file="{name}"/>' for i, name in enumerate(names))
    geoms = "".join(f'<geom type="mesh" mesh="m{i}" mass="0.1"/>' for i in range(2))
    with pytest.raises(EpisodeError) as error:
        read_model(lift_xml(asset, geoms), [tmp_path], "demo")
    assert all(name in str(error.value) for name in names)


def test_what_is_only_looked_at_is_not_missed(tmp_path):
    """Textures and visual meshes that exist nowhere: the model means the same without them."""
    asset = '<texture type="2d" name="t" file="/a/x.png"/><mesh name="v" file="/a/v.obj"/>'
    geom = '<geom name="vis" type="mesh" mesh="v" contype="0" conaffinity="0" group="1" mass="0"/>'
    readable = read_model(lift_xml(asset, geom), [], "demo")
    assert readable.notes == ()
    assert [readable.model.geom(index).name for index in range(3)] == ["floor", "table_collision", "cube_g0"]


def test_o_32_an_asset_that_was_never_published(tmp_path):
    """Of 5 demonstrations the third lacks a mesh: 4 are judged, 1 is a row with its error."""
    path = "/x/robocasa/models/assets/objects/book_3.stl"
    lacking = lift_xml(f'<mesh name="m" file="{path}"/>', '<geom type="mesh" mesh="m" mass="0.1"/>')
    demos = {f"demo_{number}": [LOW, HIGH, HIGH] for number in range(5)}
    file = write_lift(tmp_path / "a.hdf5", demos, xml={"demo_2": lacking})
    result = CliRunner().invoke(import_command, [str(file), "--out", str(tmp_path / "out")])
    assert result.exit_code == 3
    assert "4 of 5 episodes imported" in result.output
    outcomes, summary = _judged(tmp_path)
    assert outcomes == {0: "passed", 1: "passed", 2: "error", 3: "passed", 4: "passed"}
    assert summary.exit_code == 3
    (reason,) = summary.trace_errors.values()
    assert "missing assets" in reason
    assert "book_3.stl" in reason
    rates = run_query(tmp_path / "v.duckdb", "rates").records()
    row = next(one for one in rates if (one["criterion"], one["task"]) == ("benchmark_success_once", "TOTAL"))
    assert (row["n"], row["passed"], row["errors"]) == (4, 4, 1)


def test_an_episode_that_failed_is_replaced_when_it_can_be_imported(tmp_path):
    path = "/x/robosuite/models/assets/book_3.stl"
    lacking = lift_xml(f'<mesh name="m" file="{path}"/>', '<geom type="mesh" mesh="m" mass="0.1"/>')
    file = write_lift(tmp_path / "a.hdf5", {"demo_0": [LOW, HIGH]}, xml=lacking)
    assert import_files([file], tmp_path / "out").exit_code == 3
    assert import_files([file], tmp_path / "out").exit_code == 3
    assert len(Dataset(tmp_path / "out").records) == 1
    _mesh(tmp_path / "assets" / "book_3.stl")
    report = import_files([file], tmp_path / "out", Choice(assets=(tmp_path / "assets",)))
    assert report.exit_code == 0
    (record,) = Dataset(tmp_path / "out").records
    assert record.metadata.ended == "truncated"


def test_o_33_the_same_rows_every_time(tmp_path):
    """55 demonstrations: 55 rows, the same ones, whatever the workers."""
    rng = np.random.default_rng(0)
    demos = {f"demo_{number}": rng.uniform(0.8, 0.9, 6) for number in range(55)}
    file = write_lift(tmp_path / "a.hdf5", demos)
    found = []
    for workers in (1, 2):
        report = import_files([file], tmp_path / str(workers), workers=workers)
        assert report.files[0].imported == 55
        found.append([(record.trace_id, record.scene) for record in Dataset(tmp_path / str(workers)).records])
    assert found[0] == found[1]
    assert len(set(found[0])) == 55
    assert len({scene for _, scene in found[0]}) == 1


@pytest.mark.parametrize(
    ("change", "note", "refusal"),
    [
        ('<option collision="all" ', "dropped collision='all' of <option>", None),
        ('<option collision="predefined" ', None, "unrecognized attribute: 'collision'"),
        ('<option apirate="100" ', "dropped apirate='100' of <option>", None),
        ('<option solver="none" ', None, "invalid keyword: 'none' Element 'option'"),
    ],
)
def test_o_34_old_models_are_migrated_or_refused(tmp_path, change, note, refusal):
    """Dropped where nothing depends on it, and said so; else refused with element and line."""
    xml = lift_xml().replace("<option ", change)
    file = write_lift(tmp_path / "a.hdf5", {"demo_0": [LOW, HIGH]}, xml=xml)
    report = import_files([file], tmp_path / "out")
    (record,) = Dataset(tmp_path / "out").records
    if refusal is None:
        assert report.exit_code == 0
        assert note in record.metadata.notes[0]
        assert _judged(tmp_path)[0] == {0: "passed"}
    else:
        reason = report.files[0].errors["demo_0"]
        assert refusal in reason
        assert "line 3" in reason
        assert record.metadata.error == reason


def test_o_34_joints_with_attributes_of_newer_versions(tmp_path):
    xml = lift_xml(
        body='<body name="d"><joint name="j" type="hinge" unknownattribute="1"/><geom size=".1"/></body>'
    )
    file = write_lift(tmp_path / "a.hdf5", {"demo_0": [LOW, HIGH]}, xml=xml)
    assert "unknownattribute" in import_files([file], tmp_path / "out").files[0].errors["demo_0"]


def test_o_35_o_37_models_are_texts_and_states_have_names(tmp_path):
    """No MJB and no state integer in a dataset: what another version wrote is read by name and width."""
    file = write_lift(tmp_path / "a.hdf5", {"demo_0": [LOW, HIGH]})
    import_files([file], tmp_path / "out")
    dataset = Dataset(tmp_path / "out")
    (record,) = dataset.records
    scene = tmp_path / "out" / "scenes" / record.scene
    assert {path.suffix for path in scene.iterdir()} == {".json", ".xml", ".bddl"}
    assert set(record.checksums) == {
        *("state/time", "state/qpos", "state/qvel", "step/action", "step/reward", "step/success")
    }
    assert np.array_equal(dataset.load(record).states["qpos"][:2], lift_states([LOW, HIGH])[:, 1:8])


def test_o_36_a_stored_model_is_the_one_that_was_given(tmp_path):
    """Inertia of a shell by default: masses and places are kept; a frame around a body is refused."""
    shell = '<default><mesh inertia="shell"/></default><worldbody>'
    _mesh(tmp_path / "assets" / "m.stl")
    geom = '<geom name="cube_m" type="mesh" mesh="m" pos="0.1 0 0"/>'
    xml = lift_xml('<mesh name="m" file="/x/assets/m.stl" scale="3 3 3"/>', geom)
    xml = xml.replace("<worldbody>", shell)
    file = write_lift(tmp_path / "a.hdf5", {"demo_0": [LOW, HIGH]}, xml=xml)
    choice = Choice(assets=(tmp_path / "assets",))
    assert import_files([file], tmp_path / "out", choice).exit_code == 0
    dataset = Dataset(tmp_path / "out")
    stored = dataset.scene(dataset.records[0].scene).compile()
    given = mujoco.MjModel.from_xml_string(xml.replace("/x/assets", str(tmp_path / "assets")))
    for size in ("nq", "nv", "nbody", "ngeom"):
        assert getattr(stored, size) == getattr(given, size)
    np.testing.assert_allclose(stored.body_mass, given.body_mass, atol=1e-9)
    np.testing.assert_allclose(stored.geom_pos, given.geom_pos, atol=1e-9)
    framed = lift_xml(body='<frame pos="0 0 1"><body name="f"><geom size="0.1"/></body></frame>')
    file = write_lift(tmp_path / "b.hdf5", {"demo_0": [LOW, HIGH]}, xml=framed)
    report = import_files([file], tmp_path / "framed")
    assert "<frame>" in report.files[0].errors["demo_0"]


def test_o_38_numbers_order_demonstrations(tmp_path):
    demos = {f"demo_{number}": [LOW, LOW + number / 1000] for number in range(12)}
    file = write_lift(tmp_path / "a.hdf5", demos)
    import_files([file], tmp_path / "out")
    dataset = Dataset(tmp_path / "out")
    assert [record.metadata.episode for record in dataset.records] == list(range(12))
    for record in dataset.records:
        assert dataset.load(record).states["qpos"][1, 2] == LOW + record.metadata.episode / 1000


def test_o_39_a_file_that_was_cut_off(tmp_path):
    """Its size and what it should be, no rows of it, and the other file goes on."""
    whole = write_lift(tmp_path / "whole.hdf5", {"demo_0": [LOW, HIGH]})
    cut = write_lift(tmp_path / "cut.hdf5", {f"demo_{n}": [LOW] * 50 for n in range(20)})
    size = cut.stat().st_size
    cut.write_bytes(cut.read_bytes()[: size // 2])
    result = CliRunner().invoke(import_command, [str(cut), str(whole), "--out", str(tmp_path / "out")])
    assert result.exit_code == 3
    assert f"truncated: {size // 2} of {size} bytes" in result.output
    assert len(Dataset(tmp_path / "out").records) == 1


def test_o_40_readers_do_not_exclude_each_other(tmp_path):
    """Two imports of one read-only file at the same time, while a third reader has it open."""
    file = write_lift(tmp_path / "a.hdf5", {f"demo_{n}": [LOW, HIGH] for n in range(5)})
    file.chmod(0o444)
    before = file.read_bytes(), file.stat().st_mtime_ns
    command = "import sys; from pathlib import Path; from recorder.importing import import_files;" + (
        "sys.exit(import_files([Path(sys.argv[1])], Path(sys.argv[2])).exit_code)"
    )
    with h5py.File(file):
        both = [
            subprocess.Popen([sys.executable, "-c", command, str(file), str(tmp_path / name)], cwd=ROOT)
            for name in ("one", "two")
        ]
        assert [process.wait(timeout=300) for process in both] == [0, 0]
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    assert len(Dataset(tmp_path / "one").records) == len(Dataset(tmp_path / "two").records) == 5


ROOT = Path(__file__).parents[2]


class _Evil:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


@pytest.mark.parametrize("archived", [False, True])
def test_o_41_pickled_initial_states(tmp_path, archived):
    """An array is read; anything else is refused before it runs."""
    states = np.random.default_rng(0).normal(size=(50, 14))
    evil = tmp_path / "evil.pruned_init"
    for path, content in ((tmp_path / "good.pruned_init", states), (evil, _Evil(tmp_path / "ran"))):
        if archived:  # what torch.save has written since version 1.6
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("archive/data.pkl", pickle.dumps(content, protocol=2))
                archive.writestr("archive/version", "3")
        else:
            path.write_bytes(pickle.dumps(content, protocol=2))
    assert np.array_equal(read_init_states(tmp_path / "good.pruned_init"), states)
    with pytest.raises(EpisodeError, match="which is not run"):
        read_init_states(evil)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "content",
    [np.array([{}], dtype=object), np.zeros((2, 2), dtype="S3"), [[1.0]], {"states": 1}, np.zeros(3)],
)
def test_o_41_only_an_array_of_numbers_is_one(tmp_path, content):
    path = tmp_path / "x.pruned_init"
    path.write_bytes(pickle.dumps(content, protocol=2))
    with pytest.raises(EpisodeError):
        read_init_states(path)


def test_o_44_observations_are_never_used(tmp_path):
    """Columns of obs/object in two orders: the pose comes from states and model, so nothing changes."""
    one = write_lift(tmp_path / "v141.hdf5", {"demo_0": [LOW, HIGH, HIGH]})
    two = write_lift(tmp_path / "v15.hdf5", {"demo_0": [LOW, HIGH, HIGH]})
    for file, columns in ((one, [0, 1, 2]), (two, [2, 0, 1])):
        with h5py.File(file, "a") as opened:
            opened["data/demo_0/obs/object"] = np.arange(9.0).reshape(3, 3)[:, columns]
    for name, file in (("a", one), ("b", two)):
        import_files([file], tmp_path / name)
    a, b = (Dataset(tmp_path / name) for name in "ab")
    assert a.records[0].checksums == b.records[0].checksums
    assert a.records[0].scene == b.records[0].scene


def test_links_to_other_files_are_not_followed(tmp_path):
    other = write_lift(tmp_path / "other.hdf5", {"demo_0": [LOW, HIGH]})
    file = write_lift(tmp_path / "a.hdf5", {"demo_0": [LOW, HIGH], "demo_1": [LOW, HIGH]})
    with h5py.File(file, "a") as opened:
        del opened["data/demo_0/states"]
        opened["data/demo_0/states"] = h5py.ExternalLink(str(other), "data/demo_0/states")
        opened["data/demo_2"] = h5py.ExternalLink(str(other), "data/demo_0")
    report = import_files([file], tmp_path / "out")
    assert report.files[0].imported == 1
    assert all("link to another place" in reason for reason in report.files[0].errors.values())
    assert set(report.files[0].errors) == {"demo_0", "demo_2"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<!DOCTYPE x [<!ENTITY a "b">]><mujoco/>', "entity"),
        ('<mujoco><include file="/etc/passwd"/></mujoco>', "<include>"),
        ("<mujoco><extension><plugin plugin='x'/></extension></mujoco>", "not allowed"),
        ("<mujoco>", "not XML"),
    ],
)
def test_models_that_reach_outside_are_refused(text, message):
    with pytest.raises(EpisodeError, match=message):
        read_model(text, [], "demo")


def test_states_and_actions_that_do_not_fit(tmp_path):
    file = write_lift(tmp_path / "a.hdf5", {"demo_0": [LOW] * 4}, actions=np.zeros((7, 7)))
    assert (
        "4 states do not go with 7 actions"
        in import_files([file], tmp_path / "out").files[0].errors["demo_0"]
    )


def test_numbers_of_episodes_can_be_chosen(tmp_path):
    file = write_lift(tmp_path / "a.hdf5", {f"demo_{n}": [LOW, HIGH] for n in range(8)})
    out = ["--out", str(tmp_path / "out")]
    assert CliRunner().invoke(import_command, [str(file), *out, "--episodes", "1,5-6"]).exit_code == 0
    assert [record.metadata.episode for record in Dataset(tmp_path / "out").records] == [1, 5, 6]
    for wrong in ("x", "3-1", "1,,2"):
        assert CliRunner().invoke(import_command, [str(file), *out, "--episodes", wrong]).exit_code != 0


def test_what_is_no_file_of_episodes_is_said(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.hdf5").write_text("x")
    with h5py.File(tmp_path / "c.hdf5", "w") as file:
        file.create_group("data")
    with h5py.File(tmp_path / "d.hdf5", "w") as file:
        file.create_group("data/demo_0")
    paths = [tmp_path / name for name in ("a.txt", "b.hdf5", "c.hdf5", "d.hdf5", "none.hdf5")]
    report = import_files(paths, tmp_path / "out")
    problems = [file.problem for file in report.files]
    for problem, message in zip(
        problems,
        (
            "no reader",
            "cannot be read as HDF5",
            "says nothing of its environment",
            "nothing of",
            "no such file",
        ),
        strict=True,
    ):
        assert message in problem
    assert report.exit_code == 3
    assert not (tmp_path / "out").exists()
