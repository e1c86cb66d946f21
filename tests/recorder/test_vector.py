"""Environments that work side by side are recorded by the processes that they run in."""

from __future__ import annotations

import contextlib
import os
import signal
from functools import partial

import duckdb
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from mango_trace.evaluation import evaluate
from mango_trace.store import Dataset, verify_dataset
from recorder import Recorder
from tests.recorder.foreign_envs import LiberoLikeLerobot, Sighted, Suite

pytestmark = pytest.mark.libero

PUSH = np.array([0.2, 0.0, -0.1, 0.0, 0.0, 0.0, -1.0], np.float32)


def told(root):
    dataset = Dataset(root)
    assert dataset.problems == []
    assert all(check.problem is None for check in verify_dataset(dataset))
    return sorted(
        (r.metadata.episode, r.metadata.init_state_id, r.n_steps, r.metadata.ended) for r in dataset.records
    )


def test_a_worker_that_is_killed_loses_its_episode_in_progress_and_nothing_else(tmp_path):
    from libero.libero.envs import SubprocVectorEnv

    states = Suite().get_task_init_states(0)
    with Recorder(tmp_path / "runs") as recorder:
        envs = SubprocVectorEnv(recorder.vector([Sighted] * 2))
        for episode in range(2):
            envs.reset()
            envs.set_init_state(states[2 * episode : 2 * episode + 2])
            for _ in range(3):
                envs.step(np.tile(PUSH, (2, 1)))
        os.kill(envs.workers[0].process.pid, signal.SIGKILL)
        envs.workers[0].process.join()
        envs.step(PUSH[None], id=[1])
        envs.reset(id=[1])
        envs.set_init_state(states[5:6], id=[1])
        envs.step(PUSH[None], id=[1])
        envs.workers[1].close()
    assert told(tmp_path / "runs") == [
        (0, 0, 3, "truncated"),
        (1, 1, 3, "truncated"),
        (3, 3, 4, "truncated"),
        (5, 5, 1, "truncated"),
    ]


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_loop_that_breaks_leaves_errors_in_every_worker(tmp_path, context):
    """The workers are closed after the ``with`` block and hear of its error all the same."""
    recorder = Recorder(tmp_path / "runs", policy="p", policy_version="2", seed=3)
    factories = [partial(LiberoLikeLerobot, index, 2) for index in range(2)]
    envs = AsyncVectorEnv(recorder.vector(factories), context=context)

    def loop():
        with recorder:
            for _ in range(2):
                envs.reset()
                envs.step(np.tile(PUSH, (2, 1)))
            raise RuntimeError("CUDA out of memory")

    with pytest.raises(RuntimeError, match="CUDA"):
        loop()
    envs.close()
    assert told(tmp_path / "runs") == [
        (0, 0, 4, "truncated"),
        (1, 1, 4, "truncated"),
        (2, 2, 4, "error"),
        (3, 3, 4, "error"),
    ]
    rows = [record.metadata for record in Dataset(tmp_path / "runs").records]
    assert {(row.policy, row.policy_version, row.seed) for row in rows} == {("p", "2", 3)}
    assert {row.error for row in rows} == {None, "the loop ended in an error"}


def test_one_process_may_step_several(tmp_path):
    with Recorder(tmp_path / "runs") as recorder:
        envs = SyncVectorEnv(recorder.vector([partial(LiberoLikeLerobot, index, 2) for index in range(2)]))
        for _ in range(2):
            envs.reset()
            envs.step(np.tile(PUSH, (2, 1)))
        envs.close()
    assert [(episode, init) for episode, init, _, _ in told(tmp_path / "runs")] == [(i, i) for i in range(4)]
    assert len({record.segment for record in Dataset(tmp_path / "runs").records}) == 1


def test_an_error_that_the_loop_catches_counts_unless_the_loop_goes_on(tmp_path):
    class Policy:
        name = "mine"

        def act(self, fine):
            if not fine:
                raise TimeoutError("no reply")
            return PUSH

    with Recorder(tmp_path / "runs") as recorder:
        policy = recorder.watch(Policy())
        assert policy.name == "mine"
        env = recorder.wrap(Sighted())
        for answers in ([1, 1], [1, 0], [0, 1, 1], [1, 1]):
            env.reset()
            for fine in answers:
                try:
                    env.step(policy.act(fine))
                except TimeoutError:
                    continue
        env.close()
    rows = sorted(
        (r.metadata.episode, r.n_steps, r.metadata.error) for r in Dataset(tmp_path / "runs").records
    )
    assert rows == [(0, 2, None), (1, 1, "TimeoutError: no reply"), (2, 2, None), (3, 2, None)]


def test_an_episode_whose_first_action_never_came_is_an_error_with_a_number_of_its_own(tmp_path):
    """No warm-up: the second episode has no step, and the third one is not taken for it."""
    states = Suite().get_task_init_states(0)

    def refuse(_):
        raise TimeoutError("no reply")

    with Recorder(tmp_path / "runs") as recorder:
        refuse = recorder.watch(refuse)
        env = recorder.wrap(Sighted())
        for episode in range(4):
            env.reset()
            env.set_init_state(states[episode])
            if episode % 2:
                with pytest.raises(TimeoutError):
                    refuse(episode)
            else:
                env.step(PUSH)
        env.close()
        with pytest.raises(TimeoutError):
            refuse("after the end")  # of no episode
    assert told(tmp_path / "runs") == [
        (0, 0, 1, "truncated"),
        (1, 1, 0, "error"),
        (2, 2, 1, "truncated"),
        (3, 3, 0, "error"),
    ]
    rows = sorted(Dataset(tmp_path / "runs").records, key=lambda row: row.metadata.episode)
    assert [row.metadata.error for row in rows] == [None, "TimeoutError: no reply"] * 2
    (qpos,) = Dataset(tmp_path / "runs").load(rows[1]).states["qpos"]
    assert np.array_equal(qpos, states[1][1 : 1 + len(qpos)])  # where it would have started
    evaluate([tmp_path / "runs"], [], tmp_path / "v.duckdb")
    with contextlib.closing(duckdb.connect(str(tmp_path / "v.duckdb"))) as con:
        counts = dict(con.sql("SELECT outcome, count(*) FROM end_state GROUP BY 1").fetchall())
    assert counts == {"failed": 2, "error": 2}


def test_an_error_that_leaves_the_block_before_the_first_step_is_that_of_the_episode(tmp_path):
    def loop():
        with Recorder(tmp_path / "runs") as recorder:
            env = recorder.wrap(Sighted())
            env.reset()
            env.step(PUSH)
            env.reset()
            raise RuntimeError("CUDA out of memory")

    with pytest.raises(RuntimeError, match="CUDA"):
        loop()
    assert [row[2:] for row in told(tmp_path / "runs")] == [(1, "truncated"), (0, "error")]


def test_a_first_step_that_fails_is_an_error_of_its_episode_and_a_reset_alone_is_none(tmp_path):
    class Broken(Sighted):
        def step(self, action):
            raise ValueError("singular")

    with Recorder(tmp_path / "runs") as recorder:
        env = recorder.wrap(Broken())
        env.reset()
        with pytest.raises(ValueError, match="singular"):
            env.step(PUSH)
        env.reset()  # nothing is asked of this one
        env.close()
    (row,) = Dataset(tmp_path / "runs").records
    assert (row.n_steps, row.metadata.error) == (0, "ValueError: singular")


def test_what_holds_no_simulator_is_not_recorded(tmp_path):
    from mango_trace.errors import UsageError

    class Empty:
        env = None

    with Recorder(tmp_path / "runs") as recorder:
        for env in (Empty(), 3, object()):
            with pytest.raises(UsageError, match="cannot record"):
                recorder.wrap(env)
