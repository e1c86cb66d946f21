"""What other programs get: tables, robomimic's HDF5, LeRobotDataset v3.0."""

from __future__ import annotations

import csv
import json

import duckdb
import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.errors import BadInputError, UnknownNameError, UsageError
from mango_trace.evaluation import evaluate
from mango_trace.exporting import TABLES, export_lerobot, export_robomimic, export_tables
from mango_trace.shipped import shipped
from mango_trace.store import Dataset, DatasetWriter
from tests.synthetic import INSTRUCTION, make_dataset, make_package, make_trace, write_oracles

N, STEPS = 6, 39


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    root = make_dataset(folder, N)
    oracles = write_oracles(folder / "oracles")
    evaluate([root], [oracles], folder / "v.duckdb")
    return root, folder / "v.duckdb"


def _rows(database, text):
    with duckdb.connect(str(database), read_only=True) as con:
        return con.execute(text).fetchall()


def test_parquet_holds_every_row(judged, tmp_path):
    _, database = judged
    written = export_tables(database, tmp_path, TABLES, "parquet")
    for name in TABLES:
        expected = _rows(database, f"SELECT * FROM {name} ORDER BY ALL")
        found = pq.ParquetFile(tmp_path / f"{name}.parquet").read()
        assert written[tmp_path / f"{name}.parquet"] == len(expected) == found.num_rows
    intervals = pq.ParquetFile(tmp_path / "intervals.parquet").read().to_pylist()
    assert [tuple(row.values()) for row in intervals] == _rows(database, "FROM intervals ORDER BY ALL")


def test_csv_can_be_read_back(judged, tmp_path):
    _, database = judged
    export_tables(database, tmp_path, ["actions", "intervals"], "csv")
    with (tmp_path / "actions.csv").open() as file:
        rows = list(csv.DictReader(file))
    expected = _rows(database, "SELECT trace_id, parameters, completed_at FROM actions ORDER BY ALL")
    assert len(rows) == len(expected) == 3 * N
    found = {
        (row["trace_id"], tuple(json.loads(row["parameters"])), row["completed_at"] or None) for row in rows
    }
    assert found == {(trace, tuple(names), None if at is None else str(at)) for trace, names, at in expected}


def test_an_unknown_table_is_named(judged, tmp_path):
    with pytest.raises(UnknownNameError, match="did you mean 'verdicts'"):
        export_tables(judged[1], tmp_path, ["verdict"], "csv")


def test_robomimic_has_states_actions_and_verdicts_as_filter_keys(judged, tmp_path):
    root, database = judged
    exported = export_robomimic(root, tmp_path, database)
    assert (exported.written, exported.errors) == (N, {})
    dataset = Dataset(root)
    outcomes = dict(_rows(database, "SELECT trace_id, outcome FROM verdicts"))
    with h5py.File(exported.files[0]) as file:
        assert len(file["data"]) == N
        assert file["data"].attrs["total"] == N * STEPS
        kept = {name: {demo.decode() for demo in values[()]} for name, values in file["mask"].items()}
        for demo in file["data"].values():
            trace = dataset.load(dataset.find(demo.attrs["trace_id"]))
            flat = np.concatenate([trace.states[name] for name in ("time", "qpos", "qvel")], axis=1)
            assert np.array_equal(np.concatenate([demo["states"], demo["terminal_state"][()][None]]), flat)
            assert np.array_equal(demo["actions"], trace.action)
            outcome = outcomes[demo.attrs["trace_id"]]
            assert demo.attrs["verdict_oracle"] == outcome
            assert demo.name.rpartition("/")[2] in kept[f"oracle_{outcome}"]
    assert {"oracle_passed", "oracle_failed", "goal_passed"} <= kept.keys()
    assert not kept["oracle_passed"] & kept["oracle_failed"]


def test_the_exported_model_has_things_where_the_reset_put_them(judged, tmp_path):
    import mujoco

    root, database = judged
    exported = export_robomimic(root, tmp_path, database)
    dataset = Dataset(root)
    with h5py.File(exported.files[0]) as file:
        demo = file["data/demo_0"]
        wanted = dataset.find(demo.attrs["trace_id"]).metadata.overrides["body_pos"]["cabinet_1"]
        model = mujoco.MjModel.from_xml_string(demo.attrs["model_file"])
    assert model.body("cabinet_1").pos.tolist() == wanted


@pytest.mark.parametrize("export", [export_robomimic, export_lerobot])
def test_only_traces_with_an_outcome(judged, tmp_path, export):
    root, database = judged
    (expected,) = _rows(database, "SELECT count(*) FROM verdicts WHERE outcome = 'passed'")[0]
    exported = export(root, tmp_path / "out", database, only="passed", by="oracle")
    assert (exported.written, exported.left_out) == (expected, N - expected)
    with pytest.raises(UsageError, match="--db"):
        export(root, tmp_path / "other", only="passed")


def test_lerobot_frames_episodes_and_description_fit_together(judged, tmp_path):
    root, database = judged
    exported = export_lerobot(root, tmp_path / "lr", database)
    assert exported.written == N
    info = json.loads((tmp_path / "lr" / "meta" / "info.json").read_text())
    frames = pq.ParquetFile(tmp_path / "lr" / "data" / "chunk-000" / "file-000.parquet").read()
    episodes = pq.ParquetFile(tmp_path / "lr" / "meta" / "episodes" / "chunk-000" / "file-000.parquet").read()
    tasks = pq.ParquetFile(tmp_path / "lr" / "meta" / "tasks.parquet").read().to_pydict()
    assert (info["codebase_version"], info["fps"], info["total_episodes"]) == ("v3.0", 20, N)
    assert info["total_frames"] == frames.num_rows == N * STEPS
    assert set(info["features"]) == set(frames.column_names)
    assert tasks == {"task_index": [0], "__index_level_0__": [INSTRUCTION]}
    assert frames["index"].to_pylist() == list(range(N * STEPS))
    dataset, outcomes = Dataset(root), dict(_rows(database, "SELECT trace_id, outcome FROM verdicts"))
    done = _rows(database, "SELECT trace_id, completed_at FROM actions WHERE completed_at IS NOT NULL")
    for row in episodes.to_pylist():
        start, stop = row["dataset_from_index"], row["dataset_to_index"]
        assert stop - start == row["length"] == STEPS
        own = frames.slice(start, STEPS).to_pydict()
        trace = dataset.load(dataset.find(row["trace_id"]))
        np.testing.assert_array_equal(own["action"], trace.action.astype(np.float32))
        outcome = outcomes[row["trace_id"]]
        assert row["verdict_oracle"] == outcome
        assert set(own["verdict.oracle"]) == {1 if outcome == "passed" else 0}
        at = [state for trace_id, state in done if trace_id == row["trace_id"]]
        assert own["verdict.completed"] == [sum(done <= t for done in at) for t in range(STEPS)]
        assert row["stats/action/mean"] == pytest.approx(trace.action.astype(np.float32).mean(0, dtype=float))
    names = info["features"]["observation.state"]["names"]
    assert names == ["robot0_x", "robot0_y", "robot0_z", "hand0_left_joint", "hand0_right_joint"]


def test_lerobot_refuses_what_one_dataset_cannot_hold(tmp_path):
    package = make_package()
    with DatasetWriter(tmp_path / "two") as writer:
        writer.add_scene(package)
        writer.add(make_trace(package, 10, 0))
        other = make_trace(package, 10, 1)
        object.__setattr__(other, "action", np.zeros((9, 3)))
        writer.add(other)
    exported = export_lerobot(tmp_path / "two", tmp_path / "lr")
    assert exported.written == 1
    assert list(exported.errors.values()) == ["its action is not that of the first trace"]
    with pytest.raises(UsageError, match="not empty"):
        export_lerobot(tmp_path / "two", tmp_path / "lr")
    with DatasetWriter(tmp_path / "none"):
        pass
    with pytest.raises(BadInputError, match="no trace to export"):
        export_lerobot(tmp_path / "none", tmp_path / "nothing")


def test_the_command_says_what_it_wrote(judged, tmp_path):
    root, database = judged
    arguments = ["export", "lerobot", str(root), "--db", str(database), "--out", str(tmp_path / "lr")]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert f"{N} traces written" in result.output
    result = CliRunner().invoke(
        cli, ["export", "tables", "--db", str(database), "--out", str(tmp_path / "t")]
    )
    assert result.exit_code == 0, result.output
    assert "verdicts.parquet: 6 rows" in result.output


@pytest.mark.libero
def test_exported_rollouts_come_back_the_same(tmp_path):
    """Export, import: equal states, equal goal at every state, the terminal one too."""
    from recorder.importing import import_files
    from recorder.importing.run import Choice

    sample = Dataset(shipped("datasets") / "libero-10-sample")
    with DatasetWriter(tmp_path / "some") as writer:
        for record in sample.records:
            if record.metadata.task_index == 3:
                writer.add_scene(sample.scene(record.scene))
                writer.add(sample.load_as_stored(record))
    exported = export_robomimic(tmp_path / "some", tmp_path / "hdf5")
    assert exported.written == 4
    choice = Choice(assets=(tmp_path / "hdf5" / "assets",))
    report = import_files(exported.files, tmp_path / "back", choice)
    assert report.exit_code == 0, report
    evaluate([tmp_path / "some", tmp_path / "back"], [], tmp_path / "v.duckdb")
    back = Dataset(tmp_path / "back")
    with h5py.File(exported.files[0]) as file:
        for record in back.records:
            native = file[f"data/demo_{record.metadata.episode}"].attrs["trace_id"]
            trace, other = sample.load(sample.find(native)), back.load(record)
            for name in ("time", "qpos", "qvel"):
                assert np.array_equal(trace.states[name], other.states[name])
            texts = [
                _rows(
                    tmp_path / "v.duckdb",
                    "SELECT monitor, first_state, last_state, truth FROM intervals"
                    f" WHERE trace_id = '{trace_id}' ORDER BY ALL",
                )
                for trace_id in (native, record.trace_id)
            ]
            assert texts[0] == texts[1]
            assert len(texts[0]) >= 2
