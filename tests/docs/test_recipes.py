"""The recipes of docs/recipes.md are run as they stand there, around LIBERO itself.

What is not LIBERO is made here in the shape that its project has: the same calls in the same order.
"""

from __future__ import annotations

import collections
import contextlib
import io
import logging
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from mango_trace.store import Dataset, verify_dataset
from tests.conftest import SUITE, TASK
from tests.recorder.foreign_envs import LiberoLikeLerobot, Sighted, Suite

pytestmark = pytest.mark.libero

ROOT = Path(__file__).parents[2]
PUSH = np.array([0.2, 0.0, -0.1, 0.0, 0.0, 0.0, -1.0])


def recipe(title):
    text = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {title}.*?(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    (block,) = re.findall(r"```python\n(.*?)```", section[0], flags=re.DOTALL)
    return compile(block, f"docs/recipes.md, {title}", "exec")


def run(title, names):
    with contextlib.redirect_stdout(io.StringIO()):
        exec(recipe(title), names)
    dataset = Dataset("runs")
    assert dataset.problems == []
    assert all(check.problem is None for check in verify_dataset(dataset))
    return sorted(dataset.records, key=lambda record: record.metadata.episode)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


class DyingClient:
    """Answers like openpi's client; its server dies at the third request."""

    def __init__(self, *_):
        self.asked = 0

    def infer(self, element):
        assert element["observation/image"].shape == (8, 8, 3)
        self.asked += 1
        if self.asked == 3:
            raise ConnectionError("the server is gone")
        return {"actions": np.tile(PUSH, (10, 1))}


def test_openpis_loop_hides_a_dead_server_and_the_recorder_finds_it():  # O-81
    args = SimpleNamespace(
        task_suite_name=SUITE,
        num_tasks=1,
        num_trials_per_task=3,
        num_steps_wait=4,
        max_steps=8,
        replan_steps=5,
        host="127.0.0.1",
        port=8000,
        seed=7,
    )
    names = {
        "args": args,
        "benchmark": SimpleNamespace(get_benchmark_dict=lambda: {SUITE: Suite}),
        "WebsocketClientPolicy": DyingClient,
        "_get_libero_env": lambda task, resolution, seed: (Sighted(), task.instruction),
        "LIBERO_ENV_RESOLUTION": 256,
        "LIBERO_DUMMY_ACTION": [0.0] * 6 + [-1.0],
        "collections": collections,
        "logging": logging,
    }
    records = run("openpi", names)
    assert facts(records) == [(0, 4, 12, "truncated"), (1, 0, 4, "error"), (2, 4, 12, "truncated")]
    assert records[1].metadata.error == "ConnectionError: the server is gone"
    assert {(r.metadata.policy, r.metadata.seed) for r in records} == {("pi05_libero", 7)}


def test_openvlas_loop():
    def get_action(cfg, model, obs, task_description, processor):
        if obs["robot0_eef_pos"][0] > model.furthest:
            raise RuntimeError("CUDA out of memory")
        return PUSH

    names = {
        "get_action": get_action,
        "task_suite": Suite(),
        "num_tasks_in_suite": 1,
        "get_libero_env": lambda task, family, resolution: (Sighted(), task.instruction),
        "get_libero_dummy_action": lambda family: [0, 0, 0, 0, 0, 0, -1],
        "cfg": SimpleNamespace(model_family="openvla", num_trials_per_task=2, num_steps_wait=3),
        "model": SimpleNamespace(furthest=np.inf),
        "processor": None,
        "max_steps": 5,
    }
    records = run("OpenVLA", names)
    assert facts(records) == [(0, 3, 8, "truncated"), (1, 3, 8, "truncated")]
    names["model"].furthest = -np.inf
    assert [r.metadata.error for r in run("OpenVLA", names)].count("RuntimeError: CUDA out of memory") == 2


def test_liberos_own_evaluation_in_worker_processes():
    from recorder.adapters.libero import _benchmark

    names = {
        "OffScreenRenderEnv": Sighted,
        "env_args": {},
        "env_num": 2,
        "cfg": SimpleNamespace(seed=1, eval=SimpleNamespace(max_steps=6)),
        "init_states": _benchmark(SUITE).get_task_init_states(TASK),
        "algo": SimpleNamespace(
            reset=lambda: None, policy=SimpleNamespace(get_action=lambda obs: np.tile(PUSH, (len(obs), 1)))
        ),
        "np": np,
    }
    records = run("LIBERO's own evaluation", names)
    assert facts(records) == [(0, 5, 11, "truncated"), (1, 5, 11, "truncated")]
    assert [r.metadata.episode for r in records] == [0, 1]
    assert len({r.segment for r in records}) == 2


def test_lerobots_vector_environments():
    def create_libero_envs(task, n_envs, env_cls):
        return {task: {0: env_cls([lambda i=i: LiberoLikeLerobot(i, n_envs) for i in range(n_envs)])}}

    names = {
        "create_libero_envs": create_libero_envs,
        "n_envs": 2,
        "max_steps": 4,
        "np": np,
        "policy": SimpleNamespace(
            reset=lambda: None, select_action=lambda seen: np.tile(PUSH.astype(np.float32), (len(seen), 1))
        ),
    }
    records = run("LeRobot", names)
    assert facts(records) == [(0, 3, 7, "truncated"), (1, 3, 7, "truncated")]
    assert [r.metadata.episode for r in records] == [0, 1]
    assert len({r.segment for r in records}) == 2


def test_robosuites_own_loop():
    from recorder.adapters.libero import _benchmark, make_env, tasks_of

    names = {
        "make_robosuite_env": lambda: make_env(tasks_of(SUITE)[TASK], 1000).env,
        "init_states": _benchmark(SUITE).get_task_init_states(TASK),
        "num_episodes": 2,
        "horizon": 4,
        "rng": np.random.default_rng(0),
    }
    records = run("robosuite", names)
    assert facts(records) == [(0, 0, 4, "truncated"), (1, 0, 4, "truncated")]
    assert {r.metadata.task_index for r in records} == {TASK}


def facts(records):
    return [(r.metadata.init_state_id, r.metadata.warmup_steps, r.n_steps, r.metadata.ended) for r in records]
