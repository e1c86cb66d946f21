"""Files that were made to harm: each is a row or a problem that says why, and nothing of it is run."""

from __future__ import annotations

import h5py
import pytest

from mango_trace.store import Dataset
from recorder.importing import import_files
from recorder.importing.errors import EpisodeError
from recorder.importing.scenes import check_harmless
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


@pytest.mark.libero
@pytest.mark.parametrize(
    "hidden", ["; c\r{}", "; c\r\n{}", "; c\n{}", "{} ; c", "; c \x0b\x0c\x85\u2028\r {}"]
)
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
