"""LeRobot's pretrained policies, from a folder that ``save_pretrained`` wrote: ``lerobot:FOLDER``.

Observations and actions go through the same steps as in LeRobot's evaluation: its view of LIBERO, the
environment's processors, the policy's own. LeRobot is no dependency of this project and is imported here
only.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mango_trace.errors import UsageError
from recorder.policies.base import EpisodeContext

_CONFIG = "config.json"


def check_installed() -> None:
    """Say what to install where LeRobot is not.

    Raises:
        UsageError: It is not installed.
    """
    if importlib.util.find_spec("lerobot") is None:
        raise UsageError(
            "LeRobot is not installed; pip install 'mango-trace[lerobot,libero]' brings it, into an "
            "environment of its own rather than this one: it pins numpy and torch"
        )


def digest(folder: Path) -> str:
    """Digest of a policy's files, its weights among them.

    Raises:
        UsageError: The folder is none of a policy.
    """
    if not (folder / _CONFIG).is_file():
        raise UsageError(
            f"no policy in {str(folder)!r}: it has no {_CONFIG}; lerobot:FOLDER takes a folder as "
            "LeRobot's save_pretrained writes it"
        )
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        whole.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return whole.hexdigest()[:12]


class LerobotModel:
    """A policy of LeRobot's, loaded when its first episode begins.

    Args:
        folder: Its folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._episode: EpisodeContext | None = None
        self._loaded: Any = None

    def reset(self, episode: EpisodeContext) -> None:
        """Load the policy, unless that is done, clear what it remembers and seed what it draws.

        Raises:
            UsageError: The folder does not load.
        """
        if self._loaded is None:
            self._loaded = _load(self._folder, episode.suite)
        torch, policy = self._loaded[:2]
        for seed in (random.seed, np.random.seed, torch.manual_seed):
            seed(episode.seed)
        policy.reset()
        self._episode = episode

    def infer(self, observation: Mapping[str, Any]) -> Any:
        """Return the next action, ``(1, action_dim)``; chunks are the policy's own affair."""
        torch, policy, prepare, before_policy, after_policy, after_env, preprocess = self._loaded
        assert self._episode is not None
        batch = preprocess(_as_lerobot(observation, self._episode.env))
        batch["task"] = [self._episode.instruction]
        with torch.inference_mode():
            action = after_policy(policy.select_action(before_policy(prepare(batch))))
        return after_env({"action": action})["action"].to("cpu").numpy()

    def close(self) -> None:
        """Forget the policy."""
        self._loaded = None


def _load(folder: Path, suite: str) -> tuple[Any, ...]:
    import torch
    from lerobot.configs.policies import PreTrainedConfig
    from lerobot.envs.configs import LiberoEnv
    from lerobot.envs.factory import make_env_pre_post_processors
    from lerobot.envs.utils import preprocess_observation
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors

    try:
        config = PreTrainedConfig.from_pretrained(str(folder), local_files_only=True)
        config.pretrained_path = str(folder)
        policy = get_policy_class(config.type).from_pretrained(
            str(folder), config=config, local_files_only=True
        )
        before_policy, after_policy = make_pre_post_processors(
            policy_cfg=config,
            pretrained_path=str(folder),
            preprocessor_overrides={"device_processor": {"device": str(policy.config.device)}},
        )
        before_env, after_env = make_env_pre_post_processors(LiberoEnv(task=suite), config)
    except Exception as error:  # configurations of every kind of policy
        raise UsageError(f"lerobot:{folder} does not load: {type(error).__name__}: {error}") from error
    policy.eval()
    return torch, policy, before_env, before_policy, after_policy, after_env, preprocess_observation


def _as_lerobot(observation: Mapping[str, Any], env: Any) -> dict[str, Any]:
    """LIBERO's observation as LeRobot's LIBERO environment gives it, in a batch of one."""

    def one(key: str) -> Any:
        return np.array(observation[key])[None]

    return {
        "pixels": {"image": one("agentview_image"), "image2": one("robot0_eye_in_hand_image")},
        "robot_state": {
            "eef": {
                "pos": one("robot0_eef_pos"),
                "quat": one("robot0_eef_quat"),
                "mat": np.array(env.robots[0].controller.ee_ori_mat)[None],
            },
            "gripper": {"qpos": one("robot0_gripper_qpos"), "qvel": one("robot0_gripper_qvel")},
            "joints": {"pos": one("robot0_joint_pos"), "vel": one("robot0_joint_vel")},
        },
    }
