"""Environments of other projects, in the shape that their loops call, around LIBERO itself."""

from __future__ import annotations

import gymnasium
import numpy as np

from tests.conftest import SUITE, TASK


class Suite:
    """The drawer task as the only one of its suite."""

    def __init__(self):
        from recorder.adapters.libero import _benchmark, tasks_of

        self._task, self._benchmark = tasks_of(SUITE)[TASK], _benchmark(SUITE)

    def get_task(self, _):
        return self._task

    def get_task_init_states(self, _):
        return self._benchmark.get_task_init_states(TASK)


class Sighted:
    """LIBERO's environment with black pictures: cameras are no part of what is tested here."""

    def __init__(self, **_):
        from recorder.adapters.libero import make_env, tasks_of

        self.libero = make_env(tasks_of(SUITE)[TASK], 1000)

    def __getattr__(self, name):
        return getattr(self.libero, name)

    def set_init_state(self, state):
        return self._seen(self.libero.set_init_state(state))

    def step(self, action):
        observation, *rest = self.libero.step(action)
        return self._seen(observation), *rest

    @staticmethod
    def _seen(observation):
        return {**observation, "agentview_image": np.zeros((8, 8, 3), np.uint8)}


class LiberoLikeLerobot(gymnasium.Env):
    """LeRobot's ``LiberoEnv`` in its calls: LIBERO's own is made in the first reset, and reset twice then."""

    metadata = {"render_modes": []}  # noqa: RUF012
    render_mode = None

    def __init__(self, index, n_envs):
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float64)
        self.action_space = gymnasium.spaces.Box(-1, 1, (7,), np.float32)
        self._suite, self._env = Suite(), None
        self.init_state_id, self._stride = index, n_envs

    def _ensure_env(self):
        if self._env is None:
            env = Sighted()
            env.reset()
            self._env = env

    def reset(self, seed=None, options=None):
        self._ensure_env()
        super().reset(seed=seed)
        self._env.seed(seed)
        self._env.reset()
        states = self._suite.get_task_init_states(0)
        self._env.set_init_state(states[self.init_state_id % len(states)])
        self.init_state_id += self._stride
        for _ in range(3):
            raw, _, _, _ = self._env.step([0, 0, 0, 0, 0, 0, -1])
        return raw["robot0_eef_pos"], {"is_success": False}

    def step(self, action):
        self._ensure_env()
        raw, reward, done, info = self._env.step(action)
        return raw["robot0_eef_pos"], reward, done or self._env.check_success(), False, info

    def close(self):
        if self._env is not None:
            self._env.close()
            self._env = None
