"""Damaged datasets: what is broken is named, the rest is read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.errors import DatasetError, NewerFormatError, SceneError, TraceError
from mango_trace.store import Dataset, DatasetWriter, verify_dataset
from tests.synthetic import make_dataset, make_package, make_trace


def problems(root: Path) -> dict[int, str]:
    """Problems of traces by episode, after opening the dataset anew."""
    checks = verify_dataset(Dataset(root))
    return {check.record.metadata.episode: check.problem for check in checks if check.problem}


@pytest.fixture(scope="module")
def _sound(tmp_path_factory) -> Path:
    package, root = make_package(), tmp_path_factory.mktemp("sound") / "two"
    for seeds in (range(3), range(3, 6)):
        with DatasetWriter(root) as writer:
            writer.add_scene(package)
            for seed in seeds:
                writer.add(make_trace(package, 40, seed))
    return root


@pytest.fixture
def two_segments(_sound, tmp_path) -> Path:
    """Episodes 0 to 2 in one segment, 3 to 5 in another."""
    return Path(shutil.copytree(_sound, tmp_path / "two"))


def segment_of(root: Path, episode: int) -> Path:
    record = next(r for r in Dataset(root).records if r.metadata.episode == episode)
    return root / "segments" / record.segment


@pytest.mark.parametrize("keep", [0, 1, 10, 15, 16, 17, 100, -20, -1])
def test_a_cut_chunk_spoils_its_traces_and_is_named(two_segments, keep):
    """O-58"""
    root = two_segments
    chunk = next(segment_of(root, 0).rglob("qpos/c/0/0"))
    chunk.write_bytes(chunk.read_bytes()[:keep])
    found = problems(root)
    assert set(found) == {0, 1, 2}
    assert all("state/qpos" in text and "qpos/c/0/0" in text for text in found.values()), found


def test_a_deleted_chunk_reads_as_zeros_and_is_caught(two_segments):
    root = two_segments
    next(segment_of(root, 0).rglob("qpos/c/0/0")).unlink()
    found = problems(root)
    assert set(found) == {0, 1, 2}
    assert all("state/qpos does not match its checksum: missing c/0/0" in t for t in found.values())


def test_any_flipped_byte_is_caught_or_harmless(tmp_path):
    """A flip may hit what no trace uses; what is read without a problem is what was written."""
    root = make_dataset(tmp_path, 2)
    expected = {r.trace_id: Dataset(root).load(r).states["qpos"].tobytes() for r in Dataset(root).records}
    chunk = next((root / "segments").rglob("qpos/c/0/0"))
    whole = chunk.read_bytes()
    caught = []
    for position in [*range(16), *range(16, len(whole), max(1, len(whole) // 60))]:
        chunk.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
        dataset = Dataset(root)
        for record in dataset.records:
            try:
                read = dataset.load(record).states["qpos"].tobytes()
            except TraceError as error:
                caught.append("state/qpos" in str(error))
            else:
                assert read == expected[record.trace_id]
    assert len(caught) > 20
    assert all(caught)


def test_a_chunk_of_another_trace_is_caught(tmp_path):
    one, two = make_dataset(tmp_path, 1, name="a"), make_dataset(tmp_path, 2, name="b")
    source = next((two / "segments").rglob("qpos/c/0/0"))
    next((one / "segments").rglob("qpos/c/0/0")).write_bytes(source.read_bytes())
    assert problems(one) == {}  # the first trace of both is the same
    source = next((two / "segments").rglob("qvel/c/0/0"))
    next((one / "segments").rglob("qpos/c/0/0")).write_bytes(source.read_bytes())
    assert "state/qpos" in problems(one)[0]


@pytest.mark.parametrize("name", ["zarr.json", "c"])
def test_a_missing_array_is_named(two_segments, name):
    root = two_segments
    target = next(segment_of(root, 4).rglob("step/action")) / name
    target.rename(target.with_name("elsewhere"))
    found = problems(root)
    assert set(found) == {3, 4, 5}
    assert all("step/action" in text for text in found.values())


def test_an_array_that_is_too_short_is_named(two_segments):
    root = two_segments
    path = next(segment_of(root, 4).rglob("state/qpos/zarr.json"))
    document = json.loads(path.read_text())
    document["shape"][0] = 100
    path.write_text(json.dumps(document))
    assert problems(root) == {
        5: "state/qpos cannot be read: the array ends at row 100, the trace at 120; chunks "
        f"{segment_of(root, 4).name}/states.zarr/{Dataset(root).records[5].group}/state/qpos/c/0/0"
    }


@pytest.mark.parametrize("keep", [0, 3, 200, -1])
def test_a_truncated_index_is_named_and_other_segments_are_read(two_segments, keep):
    """O-68: a file that is there is not yet a file that is whole."""
    root = two_segments
    index = segment_of(root, 0) / "episodes.parquet"
    index.write_bytes(index.read_bytes()[:keep])
    dataset = Dataset(root)
    assert [r.metadata.episode for r in dataset.records] == [3, 4, 5]
    assert len(dataset.problems) == 1
    assert str(index) in str(dataset.problems[0])
    assert problems(root) == {}


def rewrite_index(index: Path, change) -> None:
    table = pq.read_table(index)
    pq.write_table(change(table), index)


def replaced(table: pa.Table, column: str, value: object) -> pa.Table:
    position = table.schema.get_field_index(column)
    values = [value, *table.column(column).to_pylist()[1:]]
    return table.set_column(
        position, table.schema.field(column), pa.array(values, table.schema.field(column).type)
    )


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("group", "../../../elsewhere", "is no name of a group"),
        ("checksums", '{"state/../../x": ""}', "is no name of an array"),
        ("checksums", "{}", "no checksum of state/qpos, state/time, step/action"),
        ("checksums", "[1", "EOF while parsing a list"),
        ("checksums", "3", "not iterable"),
        ("state_start", -5, "a negative number of rows"),
        ("n_states", 7, "7 states do not go with 39 steps"),
        ("n_states", None, "NoneType"),
        ("recorded_at", None, "NoneType"),
        ("metadata", "{}", "benchmark"),
        ("metadata", None, "should be string, bytes or bytearray"),
    ],
)
def test_a_malformed_row_is_named_and_other_segments_are_read(two_segments, column, value, message):
    root = two_segments
    index = segment_of(root, 0) / "episodes.parquet"
    rewrite_index(index, lambda table: replaced(table, column, value))
    dataset = Dataset(root)
    assert [r.metadata.episode for r in dataset.records] == [3, 4, 5]
    assert message in str(dataset.problems[0])
    assert str(index) in str(dataset.problems[0])


def test_an_index_that_asks_for_absurd_rows_is_refused_without_reading_them(two_segments):
    root = two_segments
    index = segment_of(root, 0) / "episodes.parquet"
    rewrite_index(index, lambda table: replaced(table, "state_start", 10**15))
    assert problems(root)[0].startswith("state/")
    assert "the array ends at row 4096" in problems(root)[0]


def test_missing_columns_are_named(two_segments):
    root = two_segments
    rewrite_index(segment_of(root, 0) / "episodes.parquet", lambda table: table.drop(["group"]))
    dataset = Dataset(root)
    assert len(dataset.records) == 3
    assert "columns are missing: group" in str(dataset.problems[0])


@pytest.mark.parametrize(("version", "kind"), [(b"2", NewerFormatError), (b"new", DatasetError)])
def test_an_index_of_another_format_is_named_and_other_segments_are_read(two_segments, version, kind):
    root = two_segments
    key = {b"mango_trace.format_version": version}
    rewrite_index(segment_of(root, 0) / "episodes.parquet", lambda table: table.replace_schema_metadata(key))
    dataset = Dataset(root)
    assert len(dataset.records) == 3
    assert isinstance(dataset.problems[0], kind)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ('{"format_version": 2}', NewerFormatError, "format version 2 is newer than 1"),
        ('{"format_version": 9, "wings": true}', NewerFormatError, "upgrade mango-trace"),
        ('{"format_version": 1, "wings": true}', DatasetError, "wings"),
        ("", DatasetError, "dataset.json"),
        ("[]", DatasetError, "dataset.json"),
        ('{"format_version": "x"}', DatasetError, "format_version"),
    ],
)
def test_a_newer_or_malformed_dataset_is_refused(tmp_path, text, kind, message):
    root = make_dataset(tmp_path, 1)
    (root / "dataset.json").write_text(text)
    for use in (Dataset, DatasetWriter):
        with pytest.raises(DatasetError, match=message) as caught:
            use(root)
        assert type(caught.value) is kind


def test_what_is_no_dataset_is_named(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere", Path(__file__)):
        with pytest.raises(DatasetError, match="not a dataset"):
            Dataset(path)


def test_leftovers_of_a_killed_writer_are_ignored(tmp_path):
    """O-68: part files, a segment without index, a half-written scene."""
    root = make_dataset(tmp_path, 3)
    segment = segment_of(root, 0)
    (segment / ".episodes.parquet.0123.part").write_bytes(b"PAR1")
    chunk = next(segment.rglob("qpos/c/0/0"))
    chunk.with_name(".0.4567.part").write_bytes(chunk.read_bytes()[:50])
    (root / ".dataset.json.89.part").write_text("{")
    (root / "segments" / "20200101T000000-ab" / "states.zarr").mkdir(parents=True)
    (root / "segments" / "notes.txt").write_text("x")
    (root / "scenes" / ".part-xyz").mkdir()
    dataset = Dataset(root)
    assert len(dataset.records) == 3
    assert dataset.problems == []
    assert problems(root) == {}


def test_a_scene_that_is_missing_or_no_digest_is_named(tmp_path):
    root = make_dataset(tmp_path, 1)
    dataset = Dataset(root)
    for digest in ("../../etc", "", "0" * 64, "a/b"):
        with pytest.raises(SceneError):
            dataset.scene(digest)


def test_a_prefix_finds_one_trace_or_says_which_there_are(tmp_path):
    dataset = Dataset(make_dataset(tmp_path, 3))
    ids = [record.trace_id for record in dataset.records]
    assert dataset.find(ids[1][:12]).trace_id == ids[1]
    with pytest.raises(DatasetError, match="3 traces start with ''"):
        dataset.find("")
    with pytest.raises(DatasetError, match=ids[0]):
        dataset.find("zzz")


def test_verify_says_how_many_are_sound_and_exits_with_3_for_damage(tmp_path, two_segments):
    root = two_segments
    sound = CliRunner().invoke(cli, ["verify", str(root)])
    assert (sound.exit_code, sound.stdout) == (0, f"{root}: 6 of 6 traces are sound\n")
    next(segment_of(root, 0).rglob("qpos/c/0/0")).unlink()
    broken = CliRunner().invoke(cli, ["verify", str(root)])
    assert broken.exit_code == 3
    assert "3 of 6 traces are sound" in broken.stdout
    assert broken.stderr.count("missing c/0/0") == 3
    assert CliRunner().invoke(cli, ["verify", str(tmp_path / "nowhere")]).exit_code == 3
