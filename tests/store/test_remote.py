"""A dataset at a URL is read like the folder that it was copied from."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.errors import DatasetError, SceneError, TraceError, UnknownNameError, UsageError
from mango_trace.store import Dataset, DatasetWriter, compact_dataset, locate, mark_sample, verify_dataset
from mango_trace.store.samples import write_sample
from tests.killing import run_script
from tests.remote import free_port, s3_server, upload
from tests.synthetic import make_dataset, make_package, make_trace

pytestmark = pytest.mark.remote
upath = pytest.importorskip("upath", reason="needs the extra 'remote'")

N = 5


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    folder = make_dataset(tmp_path_factory.mktemp("remote"), N)
    write_sample(folder, "few", {Dataset(folder).records[0].trace_id: "success"})
    return folder


@pytest.fixture(scope="module")
def bucket():
    pytest.importorskip("moto.server", reason="needs moto")
    pytest.importorskip("s3fs", reason="needs the extra 'remote'")
    with s3_server() as url:
        yield url


@pytest.fixture(scope="module", params=["memory", "s3"])
def url(request, root) -> str:
    base = "memory://robots" if request.param == "memory" else request.getfixturevalue("bucket")
    return upload(root, f"{base}/runs [1]/dataset")  # a name that a pattern would take for another one


def equal(one: Dataset, other: Dataset) -> bool:
    if one.records != other.records or one.info != other.info or one.samples != other.samples:
        return False
    for record in one.records:
        a, b = one.load(record), other.load(record)
        same = [np.array_equal(a.states[name], b.states[name]) for name in a.states]
        if a.states.keys() != b.states.keys() or not all(same) or not np.array_equal(a.action, b.action):
            return False
        if one.scene(record.scene) != other.scene(record.scene):
            return False
    return True


def test_everything_in_it_is_what_was_copied(root, url):
    dataset = Dataset(url)
    assert equal(Dataset(root), dataset)
    assert len(dataset.records) == N
    assert [check.problem for check in verify_dataset(dataset)] == [None] * N
    assert not dataset.problems
    assert str(dataset.root) == url


def test_a_file_url_is_the_folder(root, tmp_path):
    folder = tmp_path / "a b"
    folder.symlink_to(root)
    assert locate(folder.as_uri()) == locate(f"file://localhost{folder}") == folder
    assert equal(Dataset(root), Dataset(folder.as_uri()))


def test_a_place_survives_the_way_to_another_process(url):
    place = locate(url)
    again = pickle.loads(pickle.dumps(place))
    assert (again, str(again), hash(again)) == (place, url, hash(place))


def test_what_came_later_is_seen_when_it_is_opened_again(tmp_path, bucket):
    folder = make_dataset(tmp_path, 1)
    place = upload(folder, f"{bucket}/growing")
    assert len(Dataset(place).records) == 1
    with DatasetWriter(folder) as writer:
        writer.add(make_trace(make_package(), 40, 1))
    upload(folder, place)
    assert len(Dataset(place).records) == 2


def test_markers_of_folders_that_consoles_make_are_no_segments(tmp_path, bucket):
    place = upload(make_dataset(tmp_path, 1), f"{bucket}/marked")
    [segment] = (locate(place) / "segments").iterdir()
    import boto3

    for key in ("marked/", "marked/segments/", f"marked/segments/{segment.name}/", "marked/scenes/assets/"):
        boto3.client("s3").put_object(Bucket="robots", Key=key)
    dataset = Dataset(place)
    assert [check.problem for check in verify_dataset(dataset)] == [None]
    assert not dataset.problems


def test_arrays_in_another_encoding_are_read_through_zarr(tmp_path, request):
    import zarr

    folder = make_dataset(tmp_path, 1)
    array = next(folder.rglob("qpos/zarr.json")).parent
    values = zarr.open_array(str(array), mode="r")[:]
    zarr.create_array(str(array), data=values, chunks=values.shape, overwrite=True)
    assert "blosc" not in (array / "zarr.json").read_text()
    for place in ("memory://other", f"{request.getfixturevalue('bucket')}/other"):
        assert equal(Dataset(folder), Dataset(upload(folder, place)))


def test_a_missing_or_cut_chunk_is_named(tmp_path, url):
    folder = make_dataset(tmp_path, 1)
    place = upload(folder, f"{url}-damaged")
    chunk = next(folder.rglob("qpos/c/0/0")).relative_to(folder).as_posix()
    whole = (locate(place) / chunk).read_bytes()
    for damage, message in ((whole[:50], "cut off"), (None, "missing c/0/0")):
        if damage is None:
            (locate(place) / chunk).fs.rm_file((locate(place) / chunk).path)
        else:
            (locate(place) / chunk).write_bytes(damage)
        dataset = Dataset(place)
        with pytest.raises(TraceError, match=message):
            dataset.load(dataset.records[0])


def test_a_changed_scene_or_one_with_foreign_files_is_refused(tmp_path, url):
    folder = make_dataset(tmp_path, 1)
    place = upload(folder, f"{url}-scene")
    dataset = Dataset(place)
    scene = dataset.records[0].scene
    (dataset.root / "scenes" / scene / "note.txt").write_text("hello")
    with pytest.raises(SceneError, match="the package was changed"):
        dataset.scene(scene)
    (dataset.root / "scenes" / scene / "no name.txt").write_text("hello")
    with pytest.raises(SceneError, match="not allowed in a scene package"):
        Dataset(place).scene(scene)


def test_a_broken_index_spoils_its_segment_only(tmp_path, url):
    folder = make_dataset(tmp_path, 1)
    with DatasetWriter(folder) as writer:
        writer.add(make_trace(make_package(), 40, 1))
    place = upload(folder, f"{url}-index")
    bad = sorted((locate(place) / "segments").iterdir())[0] / "episodes.parquet"
    bad.write_bytes(bad.read_bytes()[:-10])
    dataset = Dataset(place)
    assert len(dataset.records) == 1
    [problem] = dataset.problems
    assert str(bad) in str(problem)


# Commands.


def run(*arguments: object):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def test_what_only_reads_takes_urls(root, url, tmp_path):
    trace = Dataset(root).records[0].trace_id
    for command in (["ls"], ["labels", "list"], ["labels", "export"], ["sample"]):
        here, there = run(*command, root), run(*command, url)
        assert (there.exit_code, there.stdout) == (here.exit_code, here.stdout) == (0, here.stdout)
    assert f"{url}: {N} of {N} traces are sound" in run("verify", url).stdout
    assert run("show", trace, "--data", url).stdout == run("show", trace, "--data", root).stdout
    assert run("extract", url, "--sample", "few", "--out", tmp_path / "few").exit_code == 0
    assert [record.trace_id for record in Dataset(tmp_path / "few").records] == [trace]


@pytest.mark.parametrize(
    "command",
    [
        ["compact", "{url}"],
        ["annotate", "{url}", "0", "--first-failed", "none"],
        ["labels", "import", "{url}", "-"],
        ["sample", "{url}", "--mark"],
        ["extract", "{url}", "--sample", "few", "--out", "s3://robots/new"],
        ["record", "libero_10", "--out", "s3://robots/new"],
    ],
)
def test_what_writes_refuses_urls(url, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*(word.format(url=url) for word in command))
    assert (result.exit_code, "can be read only; write to a folder" in result.stderr) == (2, True), result
    assert not list(tmp_path.iterdir())


def test_so_does_the_library(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for write in (
        lambda: compact_dataset(locate(url)),
        lambda: mark_sample(locate(url)),
        lambda: DatasetWriter(locate(url)),
        lambda: DatasetWriter(Path(url)),
        lambda: DatasetWriter(Path("s3://robots/new")),
    ):
        with pytest.raises(UsageError, match="can be read only"):
            write()
    assert not list(tmp_path.iterdir())


# What is wrong is named, with the URL.


def test_what_is_no_dataset_is_named_with_what_is_there_instead(url):
    parent, _, name = url.rpartition("/")
    with pytest.raises(DatasetError, match=f"not a dataset.*there are datasets in it: {name}") as caught:
        Dataset(parent)
    assert str(caught.value).startswith(f"{parent}: ")
    with pytest.raises(DatasetError, match=r"nowhere: not a dataset, no readable dataset\.json$"):
        Dataset(f"{parent}/nowhere")
    assert run("ls", f"{parent}/nowhere").exit_code == 3


def test_a_bucket_that_is_missing_or_cannot_be_reached_is_named(bucket, monkeypatch):
    import s3fs

    with pytest.raises(DatasetError, match=r"^s3://nobody/runs: "):
        Dataset("s3://nobody/runs")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        with pytest.raises(DatasetError, match=r"^s3://robots/runs: .*[Cc]o(uld not|nnect)"):
            Dataset("s3://robots/runs")
    finally:
        s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("ftp://127.0.0.1:{port}/runs", DatasetError, "refused"),
        ("s4://robots/runs", UnknownNameError, "no kind of storage 's4'; there are: abfs, .*s3"),
        ("gs://robots/runs", UsageError, "gcsfs"),
        ("simplecache::s3://robots/runs", UnknownNameError, "no kind of storage 'simplecache::s3'"),
        ("zip://runs.zip", UnknownNameError, "no kind of storage 'zip'"),
        ("https://host/runs", UnknownNameError, "no kind of storage 'https'"),
        ("s3:///runs", DatasetError, "bucket"),
        ("sftp://me:secret@host/runs", UsageError, "must not hold a password"),
        ("file://host/runs", UsageError, "a file URL is file:///"),
    ],
)
def test_a_url_that_cannot_be_read_is_refused_with_the_reason(place, error, message):
    place = place.format(port=free_port())
    with pytest.raises(error, match=message) as caught:
        Dataset(place)
    assert "secret" not in str(caught.value)
    assert run("ls", place).exit_code == error.exit_code


def test_without_the_extra_folders_work_and_a_url_names_it(root):
    script = """
        import sys
        sys.modules["upath"] = sys.modules["fsspec"] = sys.modules["s3fs"] = None  # as if not installed
        from mango_trace.errors import UsageError
        from mango_trace.store import Dataset
        print(len(Dataset(sys.argv[1]).records), len(Dataset("file://" + sys.argv[1]).records))
        try:
            Dataset("s3://robots/runs")
        except UsageError as error:
            print(error)
    """
    counts, error = run_script(script, root).splitlines()
    assert counts == f"{N} {N}"
    assert error == (
        "s3://robots/runs: reading from a URL needs the extra 'remote': pip install 'mango-trace[remote]'"
    )


def test_a_newer_format_is_named(tmp_path, url):
    from mango_trace.errors import NewerFormatError

    place = locate(upload(make_dataset(tmp_path, 1), f"{url}-newer"))
    info = json.loads((place / "dataset.json").read_text())
    (place / "dataset.json").write_text(json.dumps({**info, "format_version": 99}))
    with pytest.raises(NewerFormatError, match="99"):
        Dataset(place)
