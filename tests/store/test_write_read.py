"""What is written is read back, bit for bit, whatever the numbers and the chunk borders."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import time
from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mango_trace.errors import DatasetError, TraceError
from mango_trace.store import Dataset, DatasetWriter, Trace
from mango_trace.store import writer as writer_module
from mango_trace.store.layout import CHUNK_ROWS, DatasetInfo
from tests.synthetic import make_dataset, make_package, make_trace

PACKAGE = make_package()
ODD = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 5e-324, -5e-324, np.finfo(float).max, 1.0, 0.1])
PAYLOAD = np.array([0x7FF0000000000001, 0xFFF8DEADBEEF0001], dtype=np.uint64).view(np.float64)  # two NaNs


def plain_trace(n_states: int, widths: dict[str, int], seed: int, *, zeros: bool = False) -> Trace:
    """A trace of any shape, with odd numbers among the others."""
    random = np.random.default_rng(seed)

    def numbers(rows: int, width: int) -> np.ndarray:
        if zeros:
            return np.zeros((rows, width))
        values = random.normal(size=(rows, width))
        odd = random.random((rows, width)) < 0.3
        values[odd] = random.choice(np.concatenate([ODD, PAYLOAD]), size=int(odd.sum()))
        return values

    base = make_trace(PACKAGE, max(n_states, 1), seed)
    return dataclasses.replace(
        base,
        states={name: numbers(n_states, width) for name, width in widths.items()},
        action=numbers(n_states - 1, widths.get("qpos", 1)),
        reward=numbers(n_states - 1, 1)[:, 0],
        success=random.choice(np.array([0, 1, 255], dtype=np.uint8), size=n_states - 1),
    )


def assert_same(read: Trace, written: Trace) -> None:
    assert read.scene == written.scene
    assert read.metadata == written.metadata
    mine, theirs = read.arrays(), written.arrays()
    assert mine.keys() == theirs.keys()
    for name, values in mine.items():
        assert values.dtype == theirs[name].dtype
        assert values.shape == theirs[name].shape, name
        assert values.tobytes() == np.ascontiguousarray(theirs[name]).tobytes(), name


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lengths=st.lists(
        st.one_of(st.integers(1, 50), st.integers(CHUNK_ROWS - 2, CHUNK_ROWS + 2)), min_size=1, max_size=4
    ),
    width=st.integers(1, 9),
    seed=st.integers(0, 2**31),
)
def test_write_then_read_is_identity(tmp_path_factory, lengths, width, seed):
    root = tmp_path_factory.mktemp("any")
    traces = [
        plain_trace(n, {"time": 1, "qpos": width, "act": 2}, seed + index) for index, n in enumerate(lengths)
    ]
    with DatasetWriter(root) as writer:
        writer.add_scene(PACKAGE)
        records = [writer.add(trace) for trace in traces]
    dataset = Dataset(root)
    assert {r.trace_id for r in dataset.records} == {r.trace_id for r in records}
    for record, trace in zip(records, traces, strict=True):
        assert_same(dataset.load(dataset.find(record.trace_id)), trace)


def test_many_traces_over_chunk_borders_are_read_back_one_by_one_and_by_zarr_itself(tmp_path):
    traces = [make_trace(PACKAGE, n, seed) for seed, n in enumerate([1500, 1500, 1500, 700, 3000, 9000, 1])]
    with DatasetWriter(tmp_path) as writer:
        writer.add_scene(PACKAGE)
        records = [writer.add(trace) for trace in traces]
    for record, trace in zip(records, traces, strict=True):
        assert_same(Dataset(tmp_path).load(record), trace)
    folder = tmp_path / "segments" / records[0].segment / "states.zarr"
    stored = zarr.open_group(str(folder), mode="r")[records[0].group]["state/qpos"]
    whole = np.concatenate([trace.states["qpos"] for trace in traces])
    assert np.array_equal(np.asarray(stored[: len(whole)]), whole)
    assert stored.shape[0] % CHUNK_ROWS == 0


def test_seven_then_five_rows_are_twelve(tmp_path, monkeypatch):
    """O-63, with a chunk of ten rows."""
    for module in ("column", "writer", "dataset", "stored"):
        monkeypatch.setattr(f"mango_trace.store.{module}.CHUNK_ROWS", 10)
    traces = [plain_trace(n, {"time": 1, "qpos": 3}, n) for n in (7, 5, 33, 1, 10)]
    with DatasetWriter(tmp_path) as writer:
        writer.add_scene(PACKAGE)
        records = [writer.add(trace) for trace in traces]
        for record, trace in zip(records, traces, strict=True):
            assert_same(Dataset(tmp_path).load(record), trace)  # while the writer is still open
    for record, trace in zip(records, traces, strict=True):
        assert_same(Dataset(tmp_path).load(record), trace)


def test_zeros_take_no_files_and_are_complete(tmp_path):
    """O-61: missing and zero are the same on disk; the checksum tells."""
    zeros = plain_trace(30, {"time": 1, "qpos": 4, "ctrl": 3}, 0, zeros=True)
    with DatasetWriter(tmp_path) as writer:
        writer.add_scene(PACKAGE)
        record = writer.add(zeros)
        assert_same(Dataset(tmp_path).load(record), zeros)
        later = writer.add(plain_trace(30, {"time": 1, "qpos": 4, "ctrl": 3}, 1))
    dataset = Dataset(tmp_path)
    assert_same(dataset.load(record), zeros)
    assert not dataset.load(record).states["ctrl"].any()
    assert (dataset.load(later).states["ctrl"] != 0).any()


def test_negative_zero_is_not_taken_for_zero(tmp_path):
    trace = plain_trace(5, {"time": 1, "qpos": 4}, 0, zeros=True)
    trace = dataclasses.replace(trace, states={**trace.states, "qpos": np.full((5, 4), -0.0)})
    with DatasetWriter(tmp_path) as writer:
        writer.add_scene(PACKAGE)
        record = writer.add(trace)
    assert np.signbit(Dataset(tmp_path).load(record).states["qpos"]).all()


def test_a_failed_add_leaves_no_trace_and_the_next_one_is_right(tmp_path, monkeypatch):
    long, short = make_trace(PACKAGE, 6000, 1), make_trace(PACKAGE, 20, 2)
    zeros = dataclasses.replace(short, states={n: np.zeros_like(v) for n, v in short.states.items()})
    with DatasetWriter(tmp_path) as writer:
        writer.add_scene(PACKAGE)
        first = writer.add(make_trace(PACKAGE, 4000, 0))
        with monkeypatch.context() as patch:
            patch.setattr(writer_module, "write_index", lambda *_: (_ for _ in ()).throw(OSError("full")))
            with pytest.raises(OSError, match="full"):
                writer.add(long)
        assert [r.trace_id for r in Dataset(tmp_path).records] == [first.trace_id]
        records = [writer.add(zeros), writer.add(long)]
    for record, trace in zip(records, (zeros, long), strict=True):
        assert_same(Dataset(tmp_path).load(record), trace)
    assert Dataset(tmp_path).load(first).n_states == 4000


def test_groups_of_different_widths_and_scenes_do_not_mix(tmp_path):
    """More groups than stay in memory, visited in turns."""
    with DatasetWriter(tmp_path) as writer:
        writer.add_scene(PACKAGE)
        traces = [
            plain_trace(20, {"time": 1, "qpos": width}, 10 * turn + width)
            for turn in range(3)
            for width in range(1, 8)
        ]
        records = [writer.add(trace) for trace in traces]
    assert len({record.segment for record in records}) == 1
    assert len({record.group for record in records}) == 7
    for record, trace in zip(records, traces, strict=True):
        assert_same(Dataset(tmp_path).load(record), trace)


def test_a_new_reader_sees_what_was_added_since(tmp_path):
    """O-60"""
    with DatasetWriter(tmp_path) as writer:
        writer.add_scene(PACKAGE)
        for seed in range(3):
            writer.add(make_trace(PACKAGE, 10, seed))
        assert len(Dataset(tmp_path).records) == 3
        fourth = writer.add(make_trace(PACKAGE, 10, 3))
        dataset = Dataset(tmp_path)
        assert len(dataset.records) == 4
        assert_same(dataset.load(fourth), make_trace(PACKAGE, 10, 3))


def test_arrays_are_handed_out_read_only(tmp_path):
    dataset = Dataset(make_dataset(tmp_path, 1))
    trace = dataset.load(dataset.records[0])
    with pytest.raises(ValueError, match="read-only"):
        trace.states["qpos"][0, 0] = 1.0


def test_an_identity_depends_on_numbers_and_origin_but_not_on_time_or_labels(tmp_path):
    base = make_trace(PACKAGE, 10, 1)
    ids = []
    for index, trace in enumerate(
        (
            base,
            dataclasses.replace(base, metadata=base.metadata.model_copy(update={"labels": ()})),
            dataclasses.replace(base, metadata=base.metadata.model_copy(update={"episode": 9})),
            dataclasses.replace(base, reward=base.reward + 1),
        )
    ):
        with DatasetWriter(tmp_path / str(index)) as writer:
            writer.add_scene(PACKAGE)
            ids.append(writer.add(trace, recorded_at=index).trace_id)
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scene": "0" * 64}, "its scene 000000000000 is not in the dataset"),
        ({"action": np.zeros((3, 7))}, "step/action has shape (3, 7), expected 9 rows"),
        ({"action": np.zeros((9, 7), np.float32)}, "step/action has type float32, expected float64"),
        ({"success": np.zeros(9)}, "step/success has type float64, expected uint8"),
        ({"states": {"qpos": np.zeros((10, 27))}}, "state/time is missing"),
    ],
)
def test_a_trace_that_does_not_fit_together_is_refused(tmp_path, change, message):
    with DatasetWriter(tmp_path) as writer:
        writer.add_scene(PACKAGE)
        with pytest.raises(TraceError) as caught:
            writer.add(dataclasses.replace(make_trace(PACKAGE, 10), **change))
    assert message in str(caught.value)
    assert Dataset(tmp_path).records == ()


@pytest.mark.parametrize("name", ["../qpos", "a/b", "", ".", "qpos ", "q\0"])
def test_a_component_whose_name_is_a_path_is_refused(tmp_path, name):
    trace = make_trace(PACKAGE, 10)
    with DatasetWriter(tmp_path) as writer:
        writer.add_scene(PACKAGE)
        with pytest.raises(TraceError, match="is no name of an array"):
            writer.add(dataclasses.replace(trace, states={**trace.states, name: np.zeros((10, 1))}))


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DatasetError, match="not empty and holds no dataset"):
        DatasetWriter(tmp_path, DatasetInfo(name="x"))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_recorded_order_of_the_listing_is_stable(tmp_path):
    one, two = make_dataset(tmp_path, 6, name="a"), tmp_path / "b"
    with DatasetWriter(two) as writer:
        writer.add_scene(PACKAGE)
        for seed in (5, 2, 0, 4, 1, 3):
            writer.add(make_trace(PACKAGE, 40, seed))
    listed = [[r.trace_id for r in Dataset(root).records] for root in (one, two)]
    assert listed[0] == listed[1]


def test_files_grow_with_chunks_and_not_with_traces(tmp_path):
    """O-62, at a tenth: 50 traces of 400 states are 5 chunks of each array that is not all zero.

    The components are LIBERO's, applied forces being zeros. What is counted here is carried on to the
    500 traces of the report and to the 10,000 traces that a dataset should hold in 10,000 files.
    """
    base = make_trace(PACKAGE, 400, 0)
    states = {**base.states, "ctrl": np.ones((400, 9))}
    states |= {"qfrc_applied": np.zeros((400, 24)), "xfrc_applied": np.zeros((400, 60))}
    with DatasetWriter(tmp_path) as writer:
        writer.add_scene(PACKAGE)
        for episode in range(50):
            metadata = base.metadata.model_copy(update={"episode": episode})
            writer.add(dataclasses.replace(base, states=states, metadata=metadata))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    chunks = [path for path in files if path.parent.parent.name == "c"]
    written = 8  # time, qpos, qvel, ctrl, qacc_warmstart, action, reward, success
    assert len(chunks) == written * 5
    fixed = len(files) - len(chunks)  # metadata of the arrays, index, scene
    assert fixed < 30
    assert written * math.ceil(500 * 400 / CHUNK_ROWS) + fixed < 500
    segments = math.ceil(10_000 / writer_module._SEGMENT_TRACES)  # each starts its own chunks
    in_segment = math.ceil(writer_module._SEGMENT_TRACES * 400 / CHUNK_ROWS)
    assert segments * (written * in_segment + fixed) < 10_000


def test_adding_a_trace_costs_milliseconds(tmp_path):
    """A LIBERO-size trace; the bound is generous, since machines are shared."""
    random = np.random.default_rng(0)
    widths = {"time": 1, "qpos": 65, "qvel": 57, "qacc_warmstart": 57, "ctrl": 9}
    states = {name: random.normal(size=(400, width)).cumsum(axis=0) for name, width in widths.items()}
    states |= {"qfrc_applied": np.zeros((400, 57)), "xfrc_applied": np.zeros((400, 174))}
    base = dataclasses.replace(make_trace(PACKAGE, 400, 0), states=states)
    took = []
    with DatasetWriter(tmp_path) as writer:
        writer.add_scene(PACKAGE)
        for episode in range(9):
            trace = dataclasses.replace(base, metadata=base.metadata.model_copy(update={"episode": episode}))
            started = time.process_time()
            writer.add(trace)
            took.append(time.process_time() - started)
    assert np.median(took) < 0.1


def test_a_checksum_is_that_of_the_bytes():
    values = np.array([[1.0, -0.0], [np.nan, 5e-324]])
    expected = hashlib.sha256(values.astype("<f8").tobytes()).hexdigest()
    assert writer_module.checksum(values) == expected
    assert writer_module.checksum(np.asfortranarray(values)) == expected
    assert writer_module.checksum(values.astype(">f8")) == expected


def test_dataset_json_says_what_it_was_told(tmp_path):
    info = DatasetInfo(name="n", licence="MIT", made_by="me")
    DatasetWriter(tmp_path / "d", info).close()
    assert Dataset(tmp_path / "d").info == info
    DatasetWriter(tmp_path / "d", DatasetInfo(name="other")).close()
    assert Dataset(Path(tmp_path / "d")).info == info
