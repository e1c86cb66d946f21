"""A recording that is killed loses the trace in progress and no other, and can be completed (O-59)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mango_trace.store import Dataset, DatasetWriter, compact_dataset, verify_dataset
from recorder import campaign
from recorder.campaign import _record_one
from recorder.specs import EpisodeSpec
from tests.killing import run_script
from tests.synthetic import make_package, make_trace

N, STATES, CHUNK = 25, 90, 256
PACKAGE = make_package()

SCRIPT = """
    import random, sys
    from pathlib import Path
    from mango_trace.store import DatasetWriter, column, dataset, stored, writer
    from tests.killing import duration_s, kill_until_done
    from tests.synthetic import make_package, make_trace

    folder, wanted, n, states, chunk = Path(sys.argv[1]), *map(int, sys.argv[2:])
    for module in (column, writer, dataset, stored):
        module.CHUNK_ROWS = chunk
    package = make_package()
    chance, kills, turn = random.Random(8), 0, 0

    def work():
        root, done = folder / f"killed_{turn}", set()
        if (root / "dataset.json").exists():
            done = {record.metadata.episode for record in dataset.Dataset(root).records}
        with DatasetWriter(root) as recorder:
            recorder.add_scene(package)
            for seed in range(n):
                if seed not in done:
                    recorder.add(make_trace(package, states, seed))

    longest_s = duration_s(work) / 3
    while kills < wanted:
        turn += 1
        kills += kill_until_done(work, chance, longest_s)
    print(turn, kills)
"""


@pytest.mark.parametrize("kills", [20, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_random_instants_every_committed_trace_is_right_and_the_set_completes(
    tmp_path, monkeypatch, kills
):
    with DatasetWriter(tmp_path / "plain") as writer:
        writer.add_scene(PACKAGE)
        ids = {seed: writer.add(make_trace(PACKAGE, STATES, seed)).trace_id for seed in range(N)}
    turns, killed = map(int, run_script(SCRIPT, tmp_path, kills, N, STATES, CHUNK).split())
    assert killed >= kills
    for module in ("column", "writer", "dataset", "stored"):
        monkeypatch.setattr(f"mango_trace.store.{module}.CHUNK_ROWS", CHUNK)
    for turn in range(1, turns + 1):
        root = tmp_path / f"killed_{turn}"
        # A resumed recording starts a segment of its own: damage by a kill would still be there.
        dataset = Dataset(root)
        assert {r.metadata.episode: r.trace_id for r in dataset.records} == ids
        assert dataset.problems == []
        assert [check for check in verify_dataset(dataset) if check.problem] == []
        for record in dataset.records:
            expected = make_trace(PACKAGE, STATES, record.metadata.episode).arrays()
            for name, values in dataset.load(record, verify=False).arrays().items():
                assert np.array_equal(values, expected[name])
    compact_dataset(root)
    assert {r.metadata.episode: r.trace_id for r in Dataset(root).records} == ids
    assert not list((root / "segments").rglob("*.part"))


KILLED_AFTER = """
    import os, signal, sys
    from pathlib import Path
    from mango_trace.store import DatasetWriter
    from tests.killing import fork
    from tests.synthetic import make_package, make_trace

    root, last, states = Path(sys.argv[1]), *map(int, sys.argv[2:])
    package = make_package()

    def work():
        with DatasetWriter(root) as recorder:
            recorder.add_scene(package)
            for seed in range(last):
                recorder.add(make_trace(package, states, seed))
            os.kill(os.getpid(), signal.SIGKILL)

    print(os.WTERMSIG(os.waitpid(fork(work), 0)[1]))
"""


@pytest.mark.parametrize("last", [1, 6])
def test_what_was_committed_before_a_kill_stays_and_the_rest_goes_to_a_new_segment(tmp_path, last):
    root = tmp_path / "killed"
    assert int(run_script(KILLED_AFTER, root, last, STATES)) == signal.SIGKILL
    assert sorted(r.metadata.episode for r in Dataset(root).records) == list(range(last))
    with DatasetWriter(root) as writer:
        writer.add(make_trace(PACKAGE, STATES, last))
    dataset = Dataset(root)
    assert sorted(r.metadata.episode for r in dataset.records) == list(range(last + 1))
    assert len({r.segment for r in dataset.records}) == 2
    assert [check for check in verify_dataset(dataset) if check.problem] == []


def record(root: Path) -> subprocess.Popen[bytes]:
    program = Path(sys.executable).with_name("mango-trace")
    options = ["--task", "3", "--policy", "noop", "--horizon", "12", "--episodes", "6", "--out", str(root)]
    return subprocess.Popen([str(program), "record", "libero_10", *options], stdout=subprocess.DEVNULL)


@pytest.mark.slow
@pytest.mark.libero
def test_the_real_recorder_killed_a_few_times_records_what_an_undisturbed_one_does(tmp_path):
    pytest.importorskip("libero")
    started = time.monotonic()
    assert record(tmp_path / "plain").wait(timeout=600) == 0
    longest_s = time.monotonic() - started
    expected = {r.metadata.episode: r.trace_id for r in Dataset(tmp_path / "plain").records}
    assert sorted(expected) == list(range(6))
    chance, killed, finished, root = random.Random(2), 0, 0, tmp_path / "killed"
    while killed < 4:
        process = record(root)
        try:
            process.wait(timeout=chance.uniform(0.3, 1.0) * longest_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
        if not (root / "dataset.json").exists():
            continue
        dataset = Dataset(root)
        found = {r.metadata.episode: r.trace_id for r in dataset.records}
        assert found.items() <= expected.items()
        assert not [check for check in verify_dataset(dataset) if check.problem]
        if found == expected:
            finished += 1
            root = tmp_path / f"killed_{finished}"
    assert record(root).wait(timeout=600) == 0
    assert {r.metadata.episode: r.trace_id for r in Dataset(root).records} == expected


def killed_once(marker: Path, root: Path, spec: EpisodeSpec, **rest: Any) -> campaign.Outcome:
    """Record an episode, but let it kill the process in the middle the first time."""

    def kill() -> None:
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)

    if spec.episode == 1 and not marker.exists():
        threading.Timer(3.0, kill).start()
    return _record_one(root, spec, **rest)


@pytest.mark.slow
@pytest.mark.libero
def test_a_process_that_is_killed_while_it_records_changes_nothing(tmp_path, monkeypatch):
    pytest.importorskip("libero")
    specs = [
        EpisodeSpec(
            suite="libero_10", task_index=3, policy="noop", seed=0, episode=episode, init_state_id=episode,
            horizon=200, after_success=20,
        )
        for episode in range(4)
    ]  # fmt: skip
    plain = list(campaign.record_all(tmp_path / "plain", specs, workers=1))
    monkeypatch.setattr(campaign, "_record_one", partial(killed_once, tmp_path / "killed"))
    outcomes = list(campaign.record_all(tmp_path / "there", specs, workers=2))
    assert (tmp_path / "killed").exists()
    assert sorted(outcomes, key=str) == sorted(plain, key=str)
    assert all(outcome.error is None for outcome in outcomes)
    there, expected = Dataset(tmp_path / "there"), Dataset(tmp_path / "plain")
    assert {r.trace_id for r in there.records} == {r.trace_id for r in expected.records}
    assert [check for check in verify_dataset(there) if check.problem] == []
