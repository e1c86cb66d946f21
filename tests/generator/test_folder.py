"""What a run keeps, and that it finds its way back."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.folder import OracleFolder, file_name
from generator.rules import write_libraries
from generator.rules.libraries import write_oracles, write_tasks
from mango_trace.errors import BadInputError, SpecificationError

OPEN, CLOSE = "open the drawer", "close the drawer"


def test_a_library_covers_what_it_was_written_for(tmp_path):
    folder = OracleFolder(tmp_path / "oracles")
    assert folder.not_covered([OPEN, CLOSE, OPEN]) == [OPEN, CLOSE]
    folder.keep_tasks(write_tasks([OPEN]), [OPEN])
    assert folder.not_covered([OPEN, CLOSE]) == [CLOSE]
    folder.keep_tasks(write_tasks([OPEN, CLOSE]), [CLOSE])
    assert folder.not_covered([OPEN, CLOSE]) == []


def test_a_library_that_somebody_changed_covers_nothing(tmp_path):
    folder = OracleFolder(tmp_path / "oracles")
    folder.keep_tasks(write_tasks([OPEN, CLOSE]), [OPEN, CLOSE])
    path = folder.path / "atomic_tasks.json"
    other = OracleFolder(tmp_path / "other")
    other.keep_tasks(write_tasks([OPEN]), [OPEN])
    path.write_bytes((other.path / "atomic_tasks.json").read_bytes())
    assert folder.not_covered([OPEN]) == [OPEN]


def test_killed_before_the_library_was_written_the_old_one_is_extended_again(tmp_path, monkeypatch):
    folder = OracleFolder(tmp_path / "oracles")
    folder.keep_tasks(write_tasks([OPEN]), [OPEN])
    before = (folder.path / "atomic_tasks.json").read_bytes()
    folder.keep_tasks(write_tasks([OPEN, CLOSE]), [CLOSE])
    (folder.path / "atomic_tasks.json").write_bytes(before)  # as if it had been killed between the two files
    assert folder.not_covered([CLOSE]) == [CLOSE]
    assert folder.tasks() == write_tasks([OPEN])


def test_written_then_read_is_the_same(tmp_path):
    folder = OracleFolder(tmp_path / "oracles")
    assert (folder.tasks(), folder.oracles()) == ((), ())
    libraries = write_libraries([OPEN])
    tasks = write_tasks([OPEN])
    folder.keep_tasks(tasks, [OPEN])
    folder.keep_oracles(write_oracles(tasks))
    assert folder.tasks() == tasks
    assert folder.oracles() == libraries.oracles


@pytest.mark.parametrize(
    "name",
    ["../evil", "a/b", "", ".hidden", "a\0b", "x" * 201, "a\nb", "proofs", "atomic_tasks", "Atomic_Oracles"],
)
def test_no_name_of_a_task_leads_out_of_the_folder(name):
    with pytest.raises(BadInputError, match="no oracle's file can have this name"):
        file_name(name)


def test_a_damaged_record_is_named(tmp_path):
    folder = OracleFolder(tmp_path / "oracles")
    folder.work.mkdir()
    (folder.work / "covered.json").write_text("{")
    with pytest.raises(SpecificationError, match=r"covered\.json"):
        folder.not_covered([OPEN])


def test_beside_the_current_folder_there_is_a_place_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert OracleFolder(Path()).work == tmp_path.with_name(f"{tmp_path.name}.work")


def test_what_is_refused_lies_where_nothing_judges_by_it(tmp_path):
    folder, tasks = OracleFolder(tmp_path / "oracles"), write_tasks([OPEN])
    kept = [folder.keep_refused(tasks), folder.keep_refused(write_oracles(tasks))]
    assert [path.name for path in kept] == ["atomic_tasks.json", "atomic_oracles.json"]
    assert {path.parent for path in kept} == {folder.work / "unproven"}
    assert not folder.path.exists()
