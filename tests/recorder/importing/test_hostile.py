"""Files that were made to harm: each is a row or a problem that says why, and nothing of it is run."""

from __future__ import annotations

import h5py

from mango_trace.store import Dataset
from recorder.importing import import_files
from tests.recorder.importing.lift_files import write_lift

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
