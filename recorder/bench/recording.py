"""What recording adds to a control step."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from recorder.adapters.libero import (
    DUMMY_ACTION,
    WARMUP_STEPS,
    LiberoAdapter,
    make_env,
    seeded_reset,
    tasks_of,
)
from recorder.bench.measurements import Measurement
from recorder.recording import Recorder

_GROUP = "recording"
_STEPS = 200
_EPISODES = 3


def recording(folder: Path) -> Iterator[Measurement]:
    """What recording adds to ``env.step``, commit included, the scene's own once-only cost not."""
    task = tasks_of("libero_10")[0]
    root = folder / "overhead"
    shutil.rmtree(root, ignore_errors=True)
    with Recorder(root, policy="bench") as recorder:
        env = recorder.wrap(make_env(task, 10_000), adapter=LiberoAdapter())
        stepping = added = 0.0
        rng = np.random.default_rng(0)
        for episode in range(_EPISODES):
            seeded_reset(env, 0)
            env.set_init_state(task.init_states()[episode])
            for _ in range(WARMUP_STEPS):  # the first step of an episode prepares the scene
                env.step(np.array(DUMMY_ACTION))
            before, started = recorder.overhead_s, time.perf_counter()
            for _ in range(_STEPS):
                env.step(rng.uniform(-1, 1, len(DUMMY_ACTION)))
            env.finish_episode()
            if episode:  # the first one also opens the dataset
                overhead = recorder.overhead_s - before
                stepping += time.perf_counter() - started - overhead
                added += overhead
        env.close()
    shutil.rmtree(root)
    steps = (_EPISODES - 1) * _STEPS
    yield Measurement(
        group=_GROUP, what="env.step without rendering", value=stepping / steps * 1e3, unit="ms/step"
    )
    yield Measurement(
        group=_GROUP, what="recording, commit included", value=added / steps * 1e3, unit="ms/step",
        compared_with="of env.step", ratio=added / stepping, better="smaller",
    )  # fmt: skip
