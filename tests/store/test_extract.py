"""A copied trace is the trace that was copied."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.errors import DatasetError
from mango_trace.store import Dataset, compact_dataset, extract_traces, verify_dataset
from mango_trace.store.labels import TraceLabel, add_labels, read_labels
from tests.synthetic import make_dataset


def test_what_is_copied_is_the_same_with_its_scene_and_labels(tmp_path):
    source = Dataset(make_dataset(tmp_path, 6))
    chosen = source.records[1:4]
    target = tmp_path / "few"
    copied = {record.trace_id for record in extract_traces(source, chosen, target)}
    few = Dataset(target)
    assert copied == {record.trace_id for record in few.records} == {record.trace_id for record in chosen}
    assert [check for check in verify_dataset(few) if check.problem] == []
    assert few.info.licence == source.info.licence
    for record in few.records:
        old = source.find(record.trace_id)
        assert (record.metadata, record.recorded_at) == (old.metadata, old.recorded_at)
        assert few.scene(record.scene) == source.scene(old.scene)
        for name, values in source.load(old).arrays().items():
            assert np.array_equal(few.load(record).arrays()[name], values, equal_nan=True)


def test_copying_again_changes_nothing_and_more_adds(tmp_path):
    source = Dataset(make_dataset(tmp_path, 4))
    target = tmp_path / "few"
    assert len(list(extract_traces(source, source.records[:2], target))) == 2
    files = {path: path.stat().st_mtime_ns for path in target.rglob("*") if path.is_file()}
    assert list(extract_traces(source, source.records[:2], target)) == []
    assert {path: path.stat().st_mtime_ns for path in target.rglob("*") if path.is_file()} == files
    assert len(list(extract_traces(source, source.records, target))) == 2
    assert len(Dataset(target).records) == 4


def test_labels_of_people_stay_theirs_when_traces_are_copied_or_compacted(tmp_path):
    root = make_dataset(tmp_path, 2)
    first = Dataset(root).records[0]
    own = first.metadata.labels
    label = TraceLabel(trace_id=first.trace_id, who="ada", action_id="pick_up", parameters=("apple_1",))
    add_labels(root, [label])
    target = tmp_path / "few"
    for _ in range(2):  # also where the trace is there already
        list(extract_traces(Dataset(root), [Dataset(root).find(first.trace_id)], target))
    compact_dataset(root)
    for place in (root, target):
        assert read_labels(place) == {first.trace_id: (label.label,)}
        assert Dataset(place).find(first.trace_id).metadata.labels == (*own, label.label)
        (place / "labels.jsonl").unlink()
        assert Dataset(place).find(first.trace_id).metadata.labels == own


def test_a_folder_with_other_things_is_refused(tmp_path):
    source = Dataset(make_dataset(tmp_path, 1))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    with pytest.raises(DatasetError, match="not empty"):
        list(extract_traces(source, source.records, tmp_path / "full"))


def test_on_the_command_line(tmp_path):
    root = make_dataset(tmp_path, 3)
    wanted = Dataset(root).records[0].trace_id
    out = str(tmp_path / "few")
    done = CliRunner().invoke(cli, ["extract", str(root), wanted[:8], wanted[:6], "--out", out])
    assert (done.exit_code, done.stdout) == (0, f"{out}: 1 traces copied, 0 were there already\n")
    assert CliRunner().invoke(cli, ["extract", str(root), "--out", out]).exit_code == 2
    assert CliRunner().invoke(cli, ["sample", str(root), "--name", "some", "--mark"]).exit_code == 0
    sampled = {record.trace_id for record in Dataset(root).records if "some" in record.samples}
    assert CliRunner().invoke(cli, ["extract", str(root), "--sample", "some", "--out", out]).exit_code == 0
    assert {record.trace_id for record in Dataset(out).records} == sampled | {wanted}
    unknown = CliRunner().invoke(cli, ["extract", str(root), "--sample", "sume", "--out", out])
    assert (unknown.exit_code, "did you mean 'some'" in unknown.stderr) == (2, True)
    lost = CliRunner().invoke(cli, ["extract", str(root), "zzzz", "--out", out])
    assert lost.exit_code == 3
    assert "no trace 'zzzz'" in lost.stderr
