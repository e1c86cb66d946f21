"""Arrays and tables that claim to be larger, or something else, than they are."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.lib import format as npy

from mango_trace.store import Dataset
from recorder.importing import import_files
from recorder.importing.errors import EpisodeError
from recorder.importing.init_states import read_init_states
from recorder.importing.npz import read_npz
from tests.recorder.importing.lift_files import lift_states, lift_xml

LOW, HIGH = 0.82, 0.85


def _npy(shape, dtype="<f8"):
    """A header that claims a shape, and no numbers."""
    stream = io.BytesIO()
    npy.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        _npy((1 << 40,)),
        _npy((1 << 20, 1 << 20), "|b1"),
        _npy((1 << 62, 1 << 62)),
        b"text",
        b"\x93NUMPY\x03\0",
    ],
)
def test_an_array_that_claims_more_than_there_is_is_not_made(tmp_path, content):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("qpos.npy", content)
    with pytest.raises(EpisodeError, match=r"GiB as float64|cannot be read as NPZ"):
        read_npz(tmp_path / "a.npz")


def test_the_bound_is_that_of_all_arrays_as_float64(tmp_path, monkeypatch):
    """What is stored as one byte needs eight."""
    monkeypatch.setattr("recorder.importing.npz._MAX_BYTES", 8000)
    np.savez(tmp_path / "fits.npz", a=np.zeros(500, "u1"), b=np.zeros((1, 480), bool))
    assert read_npz(tmp_path / "fits.npz")["b"].shape == (1, 480)
    np.savez(tmp_path / "large.npz", a=np.zeros(500, "u1"), b=np.zeros(501, bool))
    with pytest.raises(EpisodeError, match="as float64"):
        read_npz(tmp_path / "large.npz")


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("dtype", ["<f8", ">f4", "u1", "?", "<i2"])
def test_pickled_arrays_of_all_sorts_are_read(tmp_path, protocol, dtype):
    expected = np.arange(12).reshape(3, 4).astype(dtype)
    for array in (expected, np.asfortranarray(expected)):
        (tmp_path / "x.init").write_bytes(pickle.dumps(array, protocol=protocol))
        assert np.array_equal(read_init_states(tmp_path / "x.init"), expected)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80\x02Nr\xff\xff\xff\x7f.", "remembers something as number 2147483647"),
        (b"Np999999999\n.", "remembers something as number 999999999"),
        (b"\x80\x02" + b"N0" * 10 + b".", "has POP"),
        (b"\x80\x02" + b"N" * 2000 + b".", "more than one array needs"),
        (b"\x80\x02" + b"c_codecs\nencode\nU\x01aU\x06latin1\x86R" * 9 + b".", "more than one array needs"),
        (b"\x80\x02cnumpy\ndtype\nU\x02f8\x85RK\x01b.", "described in another way"),
        (b"\x80\x02cnumpy\ndtype\n}U\x01aNsb.", "describes what it calls"),
        (b"\x80\x02cnumpy\ndtype\nU\x02O8\x85R.", "no numbers"),
        (b"\x80\x02cnumpy\nndarray\nK\x05\x85R.", "in another way"),
        (b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n)R(K\x01K\x05\x85NK\0Nt.", "cannot be read"),
        (b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n)R(K\x01K\x05\x85NK\0Ntb.", "in another way"),
        (b"\x80\x03B\xff\xff\xff\x7fa.", "expected 2147483647 bytes"),
    ],
)
def test_a_pickle_that_no_array_has_is_refused_before_it_is_run(tmp_path, content, message):
    (tmp_path / "x.init").write_bytes(content)
    with pytest.raises(EpisodeError, match=message):
        read_init_states(tmp_path / "x.init")


def test_what_torch_wrote_before_its_archives_is_read(tmp_path):
    parts = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True, "type_sizes": {"int": 4}}, np.ones((2, 3))]
    (tmp_path / "x.init").write_bytes(b"".join(pickle.dumps(part, protocol=2) for part in parts))
    assert np.array_equal(read_init_states(tmp_path / "x.init"), np.ones((2, 3)))


def _frames(root, table, **options):
    """A RoboCasa folder of two episodes of three states, the frames of one of them from a table."""
    for number in (0, 1):
        folder = root / "extras" / f"episode_{number:06d}"
        folder.mkdir(parents=True)
        np.savez(folder / "states.npz", states=lift_states([LOW, HIGH, HIGH]))
        (folder / "model.xml.gz").write_bytes(gzip.compress(lift_xml().encode()))
    frames = root / "data" / "chunk-000" / "episode_000001.parquet"
    frames.parent.mkdir(parents=True)
    pq.write_table(pa.table(table), frames, **options)
    return root


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"action": pa.array(np.zeros(10_000_000))}, "10000000 frames do not go with 3 states"),
        ({"action": pa.array([[0.0] * 1_000_000] * 3)}, "too many for 3 frames"),
        ({"action": pa.array([[0.0], [0.0, 1.0], []])}, "several lengths"),
        ({"action": pa.array([[0.0], None, [1.0]])}, "several lengths"),
        ({"action": pa.array([["0"]] * 3)}, "no numbers"),
        ({"action": pa.array([[[0.0]]] * 3)}, "no numbers"),
        ({"action": pa.array([{"a": 1.0}] * 3)}, "episode_000001.parquet"),
        ({"other": pa.array([1.0] * 3)}, "no column 'action'"),
        ({"action": pa.array([[0.0]] * 3), "next.reward": pa.array([[0.0, 1.0]] * 3)}, "rewards of shape"),
    ],
)
def test_frames_that_do_not_go_with_the_states_are_a_row(tmp_path, table, message):
    report = import_files([_frames(tmp_path / "kitchen", table)], tmp_path / "out")
    assert (report.exit_code, report.files[0].imported) == (3, 1)
    assert message in report.files[0].errors["episode_000001"]


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.list_(pa.int64(), 2), pa.large_list(pa.float64())]
)
def test_frames_are_read_whatever_their_lists(tmp_path, kind):
    """And what else is in the file is not even looked at, however large."""
    actions, rewards = [[1, 2], [3, 4], [5, 6]], pa.array([[0.0], [0.0], [1.0]], pa.list_(pa.float32(), 1))
    other = pa.array([[0.0] * 1_000_000] * 3)
    table = {"action": pa.array(actions, kind), "next.reward": rewards, "action2": other}
    root = _frames(tmp_path / "kitchen", table, row_group_size=2)
    assert import_files([root], tmp_path / "out").exit_code == 0
    dataset = Dataset(tmp_path / "out")
    trace = dataset.load(dataset.records[1])
    assert trace.action.tolist() == actions
    assert trace.metadata.source_label is True
