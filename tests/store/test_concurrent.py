"""Several writers at once: the dataset is their union (O-57)."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from mango_trace.errors import DatasetError
from mango_trace.store import Dataset, DatasetWriter, compact_dataset, verify_dataset
from tests.synthetic import make_package, make_trace

PER_WRITER = 10


def _write(root: str, worker: int) -> list[str]:
    package = make_package()
    with DatasetWriter(Path(root)) as writer:
        writer.add_scene(package)
        return [
            writer.add(make_trace(package, 30, PER_WRITER * worker + index)).trace_id
            for index in range(PER_WRITER)
        ]


def test_two_writers_at_once_lose_nothing(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as pool:
        written = list(pool.map(_write, [str(tmp_path)] * 3, range(3)))
    dataset = Dataset(tmp_path)
    assert {r.trace_id for r in dataset.records} == {trace for ids in written for trace in ids}
    assert len(dataset.records) == 3 * PER_WRITER
    assert [check for check in verify_dataset(dataset) if check.problem] == []
    assert {r.metadata.episode for r in dataset.records} == set(range(3 * PER_WRITER))
    assert len({r.segment for r in dataset.records}) == 3


def test_two_writers_in_one_process_do_not_disturb_each_other(tmp_path):
    package = make_package()
    with DatasetWriter(tmp_path) as one, DatasetWriter(tmp_path) as two:
        for seed in range(6):
            writer = (one, two)[seed % 2]
            writer.add_scene(package)
            writer.add(make_trace(package, 20, seed))
    dataset = Dataset(tmp_path)
    assert sorted(r.metadata.episode for r in dataset.records) == list(range(6))
    assert not any(check.problem for check in verify_dataset(dataset))


def test_a_trace_that_two_writers_recorded_is_listed_once(tmp_path):
    package = make_package()
    for _ in range(2):
        with DatasetWriter(tmp_path) as writer:
            writer.add_scene(package)
            writer.add(make_trace(package, 20, 0))
    assert len(Dataset(tmp_path).records) == 1
    assert len(list((tmp_path / "segments").iterdir())) == 2


def test_compact_refuses_while_a_writer_is_open_even_before_its_first_trace(tmp_path):
    package = make_package()
    with DatasetWriter(tmp_path) as writer:
        writer.add_scene(package)
        with pytest.raises(DatasetError, match="a recorder is still writing to it"):
            compact_dataset(tmp_path)
        writer.add(make_trace(package, 20, 0))  # its scene was not swept away
        with pytest.raises(DatasetError, match="a recorder is still writing to it"):
            compact_dataset(tmp_path)
    assert compact_dataset(tmp_path) == (1, 1)


def test_a_closed_writer_can_go_on(tmp_path):
    package = make_package()
    writer = DatasetWriter(tmp_path)
    writer.add_scene(package)
    writer.add(make_trace(package, 20, 0))
    writer.close()
    assert compact_dataset(tmp_path) == (1, 1)
    writer.add(make_trace(package, 20, 1))
    with pytest.raises(DatasetError, match="still writing"):
        compact_dataset(tmp_path)
    writer.close()
    assert len(Dataset(tmp_path).records) == 2
