"""LIBERO's evaluation loop with a recorder in it; replace ``policy`` by yours.

``MUJOCO_GL=egl python examples/own_loop.py my_runs --episodes 2`` runs it. Where nothing can be rendered,
``MUJOCO_GL=disable`` does, as long as the policy looks at no images.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from libero.libero import benchmark, get_libero_path
from libero.libero.envs.env_wrapper import ControlEnv

from recorder import Recorder

STEPS_TO_SETTLE = 10
STAY = [0.0] * 6 + [-1.0]  # these steps are found by the recorder and are not judged


def policy(observation: dict[str, Any], instruction: str, rng: np.random.Generator) -> np.ndarray:
    """Return an action, ``(7,)``: six OSC_POSE deltas and the gripper."""
    return rng.uniform(-1, 1, 7)


def main(out: str, tasks: int, episodes: int, steps: int) -> None:
    """Record some episodes of the first tasks of LIBERO_10."""
    suite = benchmark.get_benchmark("libero_10")()
    rng = np.random.default_rng(0)
    with Recorder(out, policy="my-policy") as recorder:
        for index in range(tasks):
            task = suite.get_task(index)
            bddl = Path(get_libero_path("bddl_files")) / task.problem_folder / task.bddl_file
            env = ControlEnv(
                bddl_file_name=str(bddl),
                has_renderer=False,
                has_offscreen_renderer=False,  # True, with use_camera_obs=True, for a policy with eyes
                use_camera_obs=False,
            )
            env = recorder.wrap(env)
            states = suite.get_task_init_states(index)
            for episode in range(episodes):
                env.reset()
                observation = env.set_init_state(states[episode])
                for step in range(STEPS_TO_SETTLE + steps):
                    action = STAY if step < STEPS_TO_SETTLE else policy(observation, task.language, rng)
                    observation, _, done, _ = env.step(action)
                    if done:
                        break
            env.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("out", help="dataset to record to")
    parser.add_argument("--tasks", type=int, default=1)
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60)
    main(**vars(parser.parse_args()))
