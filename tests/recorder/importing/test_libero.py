"""LIBERO's demonstration files: verdicts are those of the rollouts that the file was made of."""

from __future__ import annotations

from collections import defaultdict

import duckdb
import h5py
import numpy as np
import pytest

from mango_trace.evaluation import evaluate
from mango_trace.shipped import shipped
from mango_trace.store import Dataset, DatasetWriter, verify_dataset
from recorder.importing import import_files
from recorder.importing.run import Choice
from tests.recorder.importing.libero_files import DROPPED, write_demonstrations

pytestmark = pytest.mark.libero

SAMPLE = shipped("datasets") / "libero-10-sample"


def _natives(root, task):
    dataset = Dataset(root)
    records = [record for record in dataset.records if record.metadata.task_index == task]
    return dataset, records, [dataset.load_as_stored(record) for record in records]


def _copy(folder, dataset, traces):
    with DatasetWriter(folder / "native") as writer:
        for trace in traces:
            writer.add_scene(dataset.scene(trace.scene))
            writer.add(trace)
    return folder / "native"


def _truths(database):
    """Truth of every predicate call at every state, by trace and call."""
    found = defaultdict(dict)
    with duckdb.connect(str(database), read_only=True) as con:
        rows = con.execute("SELECT trace_id, monitor, first_state, last_state, truth FROM intervals")
        for trace_id, monitor, first, last, truth in rows.fetchall():
            for state in range(first, last + 1):
                found[trace_id, monitor][state] = truth
    return found


def assert_equal_verdicts(folder, dataset, records, traces, workers=1):
    """Every monitor of goal and oracle says the same at every state that file and rollout share."""
    file = write_demonstrations(folder / f"{traces[0].metadata.task}_demo.hdf5", traces)
    report = import_files([file], folder / "imported", workers=workers)
    assert (report.exit_code, report.files[0].imported) == (0, len(traces))
    native = _copy(folder, dataset, traces)
    database = folder / "verdicts.duckdb"
    assert evaluate([native, folder / "imported"], [shipped("oracles")], database).exit_code == 0
    imported = {record.metadata.episode: record for record in Dataset(folder / "imported").records}
    truths, compared = _truths(database), 0
    for number, record in enumerate(records):
        other = imported[number]
        assert other.scene == record.scene  # the installed model, exact, shared with the rollouts
        assert other.n_states == record.n_states - DROPPED
        monitors = [monitor for trace_id, monitor in truths if trace_id == record.trace_id]
        assert len(monitors) > 3
        for monitor in monitors:
            ours, theirs = truths[record.trace_id, monitor], truths[other.trace_id, monitor]
            shared = range(other.n_states - 1)
            assert [theirs[state] for state in shared] == [ours[state + DROPPED] for state in shared], monitor
            assert theirs[other.n_states - 1] == "undetermined"
            compared += len(shared)
    return database, imported, compared


@pytest.fixture(scope="module")
def drawer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawer")
    dataset, records, traces = _natives(SAMPLE, 3)
    database, imported, compared = assert_equal_verdicts(folder, dataset, records, traces)
    assert compared > 2000
    return folder, database, imported, records


def test_the_same_verdicts_at_every_shared_state(drawer):
    _, database, imported, records = drawer
    with duckdb.connect(str(database), read_only=True) as con:
        found = dict(con.execute("SELECT trace_id, first_success FROM end_state").fetchall())
    firsts = [(found[record.trace_id], found[imported[i].trace_id]) for i, record in enumerate(records)]
    assert any(native is not None for native, _ in firsts)
    for native, other in firsts:
        assert other == (None if native is None else native - DROPPED)


def test_what_the_file_says_of_success_is_a_label_only(drawer):
    _, database, _, _ = drawer
    with duckdb.connect(str(database), read_only=True) as con:
        rows = con.execute(
            "SELECT e.outcome, t.source_label, t.live_success FROM traces t JOIN end_state e USING (trace_id)"
            " WHERE t.source_label IS NOT NULL ORDER BY 1"
        ).fetchall()
    assert {row[1:] for row in rows} == {(True, None)}
    assert {row[0] for row in rows} == {"passed", "undetermined"}  # their last state was never stored


def test_the_metadata_say_where_a_trace_comes_from(drawer):
    folder, _, imported, _ = drawer
    metadata = imported[0].metadata
    assert (metadata.benchmark, metadata.suite, metadata.task_index) == ("libero", "libero_10", 3)
    assert metadata.source.startswith("KITCHEN_SCENE4")
    assert metadata.warmup_steps == 10 - DROPPED
    assert metadata.fidelity == "physics"
    assert "observations of a row are those of the state after its action" in metadata.notes
    assert all(check.problem is None for check in verify_dataset(Dataset(folder / "imported")))


def test_importing_again_changes_nothing(drawer):
    folder, _, imported, _ = drawer
    (file,) = folder.glob("*.hdf5")
    report = import_files([file], folder / "imported")
    assert (report.files[0].imported, report.files[0].skipped) == (0, len(imported))
    again = folder / "again"
    import_files([file], again, workers=2)
    assert {r.trace_id for r in Dataset(again).records} == {r.trace_id for r in imported.values()}


def test_a_model_that_is_not_the_installed_one_keeps_its_own_scene(drawer, tmp_path):
    """The file's model is used, and the trace says so."""
    folder, _, _, _ = drawer
    (file,) = folder.glob("*.hdf5")
    other = tmp_path / "other_demo.hdf5"
    other.write_bytes(file.read_bytes())
    with h5py.File(other, "a") as opened:
        for demo in ("demo_1", "demo_2", "demo_3"):
            del opened["data"][demo]
        xml = opened["data/demo_0"].attrs["model_file"]
        changed = xml.replace("<option ", '<option timestep="0.001" ', 1)
        assert changed != xml
        opened["data/demo_0"].attrs["model_file"] = changed
    report = import_files([other], tmp_path / "out")
    assert report.exit_code == 0
    (record,) = Dataset(tmp_path / "out").records
    assert any("not that of the installed LIBERO: opt_timestep" in note for note in record.metadata.notes)
    assert Dataset(tmp_path / "out").scene(record.scene).compile().opt.timestep == 0.001
    database = tmp_path / "v.duckdb"
    assert evaluate([tmp_path / "out"], [], database).exit_code == 0


@pytest.mark.parametrize("rotation", ["__import__('os').abort()", "np.pi", "0.0 (exit)"])
def test_a_description_that_libero_would_execute_is_refused(drawer, tmp_path, rotation):
    folder, _, _, _ = drawer
    (file,) = folder.glob("*.hdf5")
    evil = tmp_path / "evil_demo.hdf5"
    evil.write_bytes(file.read_bytes())
    with h5py.File(evil, "a") as opened:
        bddl = opened["data"].attrs["bddl_file_content"]
        opened["data"].attrs["bddl_file_content"] = bddl.replace("(0.0 0.0)", f"({rotation} 0.0)", 1)
    report = import_files([evil], tmp_path / "out", Choice(numbers=frozenset({0})))
    assert report.exit_code == 3
    assert "LIBERO would run it as Python" in report.files[0].errors["demo_0"]


@pytest.mark.slow
def test_a_hundred_episodes(tmp_path):
    """A hundred rollouts of one task, half of them with a fault, by two workers."""
    from recorder.campaign import record_all
    from recorder.specs import EpisodeSpec

    specs = [
        EpisodeSpec("libero_10", 3, "scripted", 0, episode, episode % 50, 520, 20, fault)
        for episode in range(50)
        for fault in (None, "closes_before_placing@1")
    ]
    outcomes = list(record_all(tmp_path / "recorded", specs, workers=2))
    assert {outcome.error for outcome in outcomes} == {None}
    dataset, records, traces = _natives(tmp_path / "recorded", 3)
    _, _, compared = assert_equal_verdicts(tmp_path, dataset, records, traces, workers=2)
    assert len(records) == 100
    assert compared > 100_000


def test_times_are_those_of_the_rollout(drawer):
    folder, _, imported, records = drawer
    native = Dataset(SAMPLE).load(Dataset(SAMPLE).find(records[0].trace_id))
    other = Dataset(folder / "imported").load(imported[0])
    for name in ("time", "qpos", "qvel"):
        assert np.array_equal(other.states[name][:-1], native.states[name][DROPPED:-1])
        assert np.isnan(other.states[name][-1]).all()
    assert np.array_equal(other.action, native.action[DROPPED:])
