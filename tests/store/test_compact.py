"""Compacting changes where traces lie and nothing else, also when it is killed half way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mango_trace.errors import DatasetError
from mango_trace.store import Dataset, DatasetWriter, compact_dataset, size_on_disk, verify, verify_dataset
from tests.synthetic import make_package, make_trace

PACKAGE = make_package()
OTHER = make_package(task="another_task")


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture(scope="module")
def _prepared(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("scattered") / "dataset"
    for package, seeds in ((PACKAGE, (0, 1)), (OTHER, (2, 3)), (PACKAGE, (4, 0)), (OTHER, (5,))):
        with DatasetWriter(root) as writer:
            writer.add_scene(package)
            for seed in seeds:
                writer.add(make_trace(package, 30 + seed, seed), recorded_at=1_000_000 + seed)
    with DatasetWriter(root) as writer:
        writer.add_scene(make_package(task="unused"))
    return root


@pytest.fixture
def scattered(_prepared, tmp_path) -> Path:
    """Six traces of two scenes in four segments, one trace twice, and a scene that nobody uses."""
    return Path(shutil.copytree(_prepared, tmp_path / "dataset"))


def content(root: Path) -> dict[str, tuple[object, ...]]:
    dataset = Dataset(root)
    assert dataset.records
    assert dataset.problems == []
    return {
        record.trace_id: (
            record.scene,
            record.metadata,
            record.recorded_at,
            dict(record.checksums),
            record.live_success,
            record.first_success_step,
            {name: values.tobytes() for name, values in dataset.load(record).arrays().items()},
        )
        for record in dataset.records
    }


def test_compact_is_the_identity_on_traces(scattered):
    before = content(scattered)
    assert compact_dataset(scattered) == (6, 4)
    assert content(scattered) == before
    assert len(list((scattered / "segments").iterdir())) == 1
    assert {path.name for path in (scattered / "scenes").iterdir()} == {PACKAGE.digest, OTHER.digest}


def test_compacting_twice_changes_nothing_more(scattered):
    compact_dataset(scattered)
    before, size = content(scattered), size_on_disk(scattered)
    assert compact_dataset(scattered) == (6, 1)
    assert content(scattered) == before
    assert size_on_disk(scattered) == pytest.approx(size, rel=0.01)


def test_compacting_makes_small_segments_smaller(tmp_path):
    for seed in range(4):
        with DatasetWriter(tmp_path) as writer:
            writer.add_scene(PACKAGE)
            writer.add(make_trace(PACKAGE, 200, seed))
    before = size_on_disk(tmp_path / "segments")
    compact_dataset(tmp_path)
    assert size_on_disk(tmp_path / "segments") < before


STEPS = {
    "copying": (DatasetWriter, "add"),
    "reading back": (verify, "verify_dataset"),
    "dropping": (shutil, "rmtree"),
    "sweeping": (verify, "drop_unused_packages"),
}


@pytest.mark.parametrize("calls", [0, 1])
@pytest.mark.parametrize("step", STEPS)
def test_killed_half_way_every_trace_is_listed_once_and_sound(scattered, monkeypatch, step, calls):
    before = content(scattered)
    owner, name = STEPS[step]
    real, count = getattr(owner, name), 0

    def dying(*args, **kwargs):
        nonlocal count
        count += 1
        if count > calls:
            raise Killed
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, dying)
        if step in ("copying", "reading back"):
            # A killed process does not clean up behind itself.
            patch.setattr(verify, "_drop_segments", lambda _: None)
        try:
            compact_dataset(scattered)
        except Killed:
            pass
        else:
            assert count <= calls
    assert content(scattered) == before
    assert not any(check.problem for check in verify_dataset(Dataset(scattered)))
    compact_dataset(scattered)
    assert content(scattered) == before
    assert len([path for path in (scattered / "segments").iterdir() if any(path.iterdir())]) == 1


def test_a_half_removed_segment_holds_no_traces(scattered, monkeypatch):
    """Killed within the removal of one segment, when its arrays are gone."""
    before = content(scattered)

    def partly(path, *args, **kwargs):
        for file in sorted(Path(path).rglob("*")):
            if file.is_file() and file.name != "episodes.parquet":
                file.unlink()
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(verify.shutil, "rmtree", partly)
        with pytest.raises(Killed):
            compact_dataset(scattered)
    assert content(scattered) == before


def test_a_broken_trace_stops_compacting_and_nothing_is_changed(scattered):
    chunk = max((scattered / "segments").rglob("c/0/0"), key=lambda path: path.stat().st_size)
    chunk.write_bytes(chunk.read_bytes()[:-20])
    files = {path: path.stat().st_mtime_ns for path in scattered.rglob("*") if path.is_file()}
    with pytest.raises(DatasetError):
        compact_dataset(scattered)
    assert {p: p.stat().st_mtime_ns for p in scattered.rglob("*") if p.is_file()} == files


def test_an_unreadable_segment_stops_compacting_and_nothing_is_changed(scattered):
    index = next((scattered / "segments").rglob("episodes.parquet"))
    index.write_bytes(index.read_bytes()[:100])
    files = sorted(path for path in scattered.rglob("*") if path.is_file())
    with pytest.raises(DatasetError, match="not compacted, some of it cannot be read"):
        compact_dataset(scattered)
    assert sorted(path for path in scattered.rglob("*") if path.is_file()) == files


def test_what_is_no_dataset_is_refused_and_left_as_it_was(tmp_path):
    with pytest.raises(DatasetError, match="not a dataset"):
        compact_dataset(tmp_path)
    assert list(tmp_path.iterdir()) == []
