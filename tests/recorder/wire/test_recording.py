"""Recording a served policy in LIBERO, with images, while its server is slow and dies."""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
import subprocess
import sys
import threading

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.evaluation import evaluate
from mango_trace.store import Dataset, verify_dataset
from recorder.campaign import Outcome, _Patience
from tests.conftest import SUITE, TASK
from tests.recorder.wire.policy_server import Crash, encode, policy_server, still

pytestmark = pytest.mark.libero

DIGEST = hashlib.sha256(encode({"policy": "test fixture"})).hexdigest()[:12]


def run(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


def record(server, out, *more):
    return run("record", SUITE, "--task", TASK, "--policy", server.url, "--out", out, *more)


def outcomes(database):
    with contextlib.closing(duckdb.connect(str(database))) as con:
        return dict(con.sql("SELECT outcome, count(*) FROM end_state GROUP BY 1").fetchall())


def test_a_server_that_dies_makes_an_error_which_is_no_failed_policy(rendering, tmp_path):  # O-81
    """Two episodes of two requests; the server is killed in the first one and is back for the second."""
    deaths = iter([2])

    def answer(n, _):
        if n == 2 and next(deaths, None):
            raise Crash
        return still()

    out, more = tmp_path / "runs", ("--episodes", 2, "--horizon", 4, "--replan-steps", 2)
    with policy_server(answer) as server:
        first = record(server, out, *more)
        assert first.exit_code == 3, first.output
        assert "1 episodes recorded" in first.output
        assert "1 errors" in first.output
        assert "PolicyLostError" in first.output
        assert server.connections == 3  # to ask what it is, to begin, and after its death
        records = Dataset(out).records
        assert [(r.metadata.episode, r.metadata.ended) for r in records] == [(0, "error"), (1, "truncated")]
        assert records[0].n_steps == 12  # of the warm-up and of one chunk
        evaluate([out], [], tmp_path / "v.duckdb")
        assert outcomes(tmp_path / "v.duckdb") == {"failed": 1, "error": 1}
        rates = run("query", "rates", "--db", tmp_path / "v.duckdb", "--format", "json")
        assert rates.exit_code == 0, rates.output
        (total,) = (
            row
            for row in json.loads(rates.stdout)
            if row["task"] == "TOTAL" and row["criterion"] == "benchmark_success_once"
        )
        assert (total["n"], total["failed"], total["errors"], total["rate"]) == (1, 1, 1, 0.0)

        again = record(server, out, *more)
        assert again.exit_code == 0, again.output
        assert "1 episodes recorded" in again.output
        assert "1 were there already" in again.output
    assert {r.metadata.policy_version for r in Dataset(out).records} == {f"served-{DIGEST}+replan2"}
    assert all(check.problem is None for check in verify_dataset(Dataset(out)))


def test_what_the_server_sees_is_what_openpis_loop_shows_and_cameras_change_no_state(rendering, tmp_path):
    """The loop of openpi's LIBERO example, every image of it drawn, against the recorder's requests."""
    from robosuite.utils.transform_utils import quat2axisangle

    from recorder.adapters.libero import DUMMY_ACTION, _rendering_env, seeded_reset, tasks_of
    from recorder.specs import EpisodeSpec

    chance = np.random.default_rng(3)
    chunks = [chance.uniform(-1, 1, (4, 7)) for _ in range(2)]
    with policy_server(lambda n, _: {"actions": chunks[n - 1]}) as server:
        result = record(server, tmp_path / "seen", "--horizon", 8, "--replan-steps", 4)
        assert result.exit_code == 0, result.output
        seen = server.requests
    assert len(seen) == 2

    task = tasks_of(SUITE)[TASK]
    env = _rendering_env(task, 1000, 256)
    try:
        seeded_reset(env, EpisodeSpec(SUITE, TASK, "arm", 0, 0, 0, 8, 20).reset_seed)
        shown = env.set_init_state(task.init_states()[0])
        for _ in range(10):
            shown, _, _, _ = env.step(list(DUMMY_ACTION))
        for sent, chunk in zip(seen, chunks, strict=True):
            from PIL import Image

            for name, key in (("image", "agentview"), ("wrist_image", "robot0_eye_in_hand")):
                turned = Image.fromarray(np.ascontiguousarray(shown[f"{key}_image"][::-1, ::-1]))
                assert np.asarray(turned).std() > 10  # something is to be seen
                drawn = np.asarray(turned.resize((224, 224), Image.BILINEAR))
                assert np.array_equal(sent[f"observation/{name}"], drawn)
            turn = quat2axisangle(shown["robot0_eef_quat"].copy())
            hand = (shown["robot0_eef_pos"], turn, shown["robot0_gripper_qpos"])
            assert np.array_equal(sent["observation/state"], np.concatenate(hand))
            assert sent["prompt"] == task.instruction
            for action in chunk:
                shown, _, _, _ = env.step(action.tolist())
    finally:
        env.close()

    blind = run(
        *("record", SUITE, "--task", TASK, "--policy", "replay"),
        *("--source", tmp_path / "seen", "--out", tmp_path / "blind"),
    )
    assert blind.exit_code == 0, blind.output
    one, other = (Dataset(tmp_path / name) for name in ("seen", "blind"))
    first, second = (dataset.load(dataset.records[0]) for dataset in (one, other))
    assert first.scene == second.scene
    for name, values in first.arrays().items():
        assert np.array_equal(values, second.arrays()[name]), name


def test_a_server_that_is_not_there_stops_the_recording(tmp_path):
    with policy_server() as server:
        pass
    result = record(server, tmp_path / "runs", "--connect-timeout", 0.3)
    assert result.exit_code == 3
    assert "no policy server at" in result.output
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("words", [(), ("--policy-version", "mine")])
def test_another_model_in_the_middle_of_a_recording_stops_it(rendering, tmp_path, words):
    """The server comes back with another checkpoint after its first episode."""

    def answer(n, _):
        if n == 2:
            server.metadata = {"policy": "another checkpoint"}
            raise Crash
        return still()

    with policy_server(answer) as server:
        out = tmp_path / "runs"
        result = record(server, out, "--episodes", 3, "--horizon", 4, "--replan-steps", 2, *words)
    assert result.exit_code == 3, result.output
    assert "serves another policy than before" in result.output
    assert "stopped there, 1 episodes before the end" in result.output
    (row,) = Dataset(out).records
    assert (row.metadata.episode, row.metadata.ended) == (0, "error")
    version = "mine" if words else f"served-{DIGEST}"
    assert row.metadata.policy_version == f"{version}+replan2"


def test_a_server_that_rejects_every_request_stops_the_recording(rendering, tmp_path, monkeypatch):
    """The second episode goes well, so that the count begins again; then none does."""
    monkeypatch.setattr("recorder.campaign.MOST_ERRORS", 2)
    replies = iter([{}, still(), {}, {}])
    out, words = tmp_path / "runs", ("--episodes", 7, "--horizon", 1)
    with policy_server(lambda *_: next(replies)) as server:
        result = record(server, out, *words)
    assert result.exit_code == 3, result.output
    assert "stopped there, 3 episodes before the end: 2 errors of the policy in a row" in result.output
    rows = sorted((r.metadata.episode, r.metadata.ended) for r in Dataset(out).records)
    assert rows == [(n, "truncated" if n == 1 else "error") for n in range(4)]


@pytest.mark.parametrize(("most", "stops_at"), [(3, 6), (None, None)])
def test_only_errors_in_a_row_end_the_patience(most, stops_at):
    judged = _Patience(most)
    outcomes = [judged(Outcome(None, None, error)) for error in ("a", "b", None, "c", "d", "e", "f")]
    first = next((n for n, outcome in enumerate(outcomes, start=1) if outcome.hopeless), None)
    assert first == stops_at


@pytest.mark.slow
def test_twenty_episodes_with_a_server_that_is_slow_and_killed(rendering, tmp_path):  # O-80, O-81
    """Six requests an episode. The first reply takes 45 s, every tenth a second.

    The server is killed in its sixth episode and, back after three seconds, in the eighth that it then
    sees.
    """
    with policy_server() as free:
        port = free.url.rpartition(":")[2]
    out, closing, deaths = tmp_path / "runs", threading.Event(), []

    def start(*words):
        command = [sys.executable, "-m", "tests.recorder.wire.policy_server", port, *map(str, words)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert "ready" in process.stdout.readline()
        return process

    server = [start(45, 1, 5 * 6 + 3)]

    def bring_back():
        for words in ((2, 1, 7 * 6 + 4), (2, 1, 0)):
            while server[0].poll() is None:
                if closing.wait(0.2):
                    return
            deaths.append(server[0].returncode)
            server[0].communicate()
            closing.wait(3)
            server[0] = start(*words)

    keeper = threading.Thread(target=bring_back)
    keeper.start()
    url, words = f"ws://127.0.0.1:{port}", ("--episodes", 20, "--horizon", 30, "--policy-name", "fixture")
    command = ("record", SUITE, "--task", TASK, "--policy", url, "--out", out, *words)
    try:
        first = run(*command)
        assert first.exit_code == 3, first.output
        assert "18 episodes recorded" in first.output
        assert deaths == [-signal.SIGKILL] * 2
        errors = [r for r in Dataset(out).records if r.metadata.ended == "error"]
        assert [r.metadata.episode for r in errors] == [5, 13]
        assert [r.n_steps for r in errors] == [10 + 2 * 5, 10 + 3 * 5]
        assert all("PolicyLostError" in r.metadata.error for r in errors)
        evaluate([out], [], tmp_path / "v.duckdb")
        assert outcomes(tmp_path / "v.duckdb") == {"failed": 18, "error": 2}
        again = run(*command)
        assert again.exit_code == 0, again.output
        assert "2 episodes recorded" in again.output
        assert "18 were there already" in again.output
    finally:
        closing.set()
        keeper.join()
        server[0].kill()
        server[0].communicate()
    whole = [r for r in Dataset(out).records if r.metadata.ended != "error"]
    assert sorted(r.metadata.episode for r in whole) == list(range(20))
    assert sorted(r.metadata.init_state_id for r in whole) == list(range(20))
    assert {r.n_steps for r in whole} == {40}
    assert all(check.problem is None for check in verify_dataset(Dataset(out)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--policy", "scripted", "--policy-name", "x"), "takes no name"),
        (("--policy", "noop", "--image-size", "64"), "takes no name"),
        (("--policy", "ws://h:1", "--policy-name", "scripted"), "recorder's own"),
        (("--policy", "ws://h:port"), "no address"),
        (("--policy", "http://h:1"), "ws://host:port"),
        (("--policy", "ws://h:1", "--replan-steps", "0"), "--replan-steps"),
        (("--policy", "ws://h:1", "--reply-timeout", "0"), "--reply-timeout"),
        (("--policy", "ws://h:1", "--fault", "all"), "--fault needs"),
        (("--policy", "ws://h:1", "--episodes", "0"), "--episodes"),  # O-84
        (("--policy", "ws://h:1", "--horizon", "0"), "--horizon"),
    ],
)
def test_a_wrong_call_is_said_to_be_one(tmp_path, words, message):
    result = run("record", SUITE, "--policy-version", "1", *words, "--out", tmp_path / "runs")
    assert result.exit_code == 2, result.output
    assert message in result.output
