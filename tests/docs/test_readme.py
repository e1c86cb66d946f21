"""What the documents say to type is run as it stands there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.store import Dataset
from tests.conftest import SUITE, TASK

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def _blocks(document, language):
    return re.findall(rf"```{language}\n(.*?)```", document.read_text(), flags=re.DOTALL)


def _commands(document):
    for block in _blocks(document, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                yield line[2:]


@pytest.mark.libero
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_runs(document, drawer_runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(drawer_runs, "rollouts")
    shutil.copytree(ROOT / "oracles", "oracles")
    trace = Dataset("rollouts").records[0].trace_id
    targets = re.findall(r"^([a-z0-9-]+):.*##", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    for command in _commands(document):
        words = shlex.split(command.replace("3f2a", trace[:12]))
        if words[0] == "make":
            assert words[1] in targets, command
            continue
        assert words[0] == "mango-trace", command
        result = CliRunner().invoke(cli, words[1:])
        assert result.exit_code == 0, (command, result.output)
        assert result.output.strip(), command


@pytest.mark.libero
def test_the_loop_in_the_readme_records(tmp_path, monkeypatch):
    from recorder.adapters.libero import DUMMY_ACTION, _benchmark, make_env, tasks_of

    monkeypatch.chdir(tmp_path)
    (block,) = _blocks(ROOT / "README.md", "python")

    class Suite:
        """The drawer task as the only one of its suite."""

        def get_task(self, index):
            return tasks_of(SUITE)[TASK]

        def get_task_init_states(self, index):
            return _benchmark(SUITE).get_task_init_states(TASK)

    names = {
        "num_tasks": 1,
        "num_trials_per_task": 2,
        "num_steps_wait": 4,
        "max_steps": 6,
        "task_suite": Suite(),
        "dummy_action": list(DUMMY_ACTION),
        "get_libero_env": lambda task: (make_env(task, 1000), task.instruction),
        "policy": lambda obs, instruction: np.full(7, 0.1),
    }
    exec(compile(block, "README.md", "exec"), names)
    records = Dataset("my_runs").records
    assert [(r.metadata.init_state_id, r.metadata.warmup_steps, r.n_steps) for r in records] == [
        (0, 4, 10),
        (1, 4, 10),
    ]


def test_the_demo_begins_where_nothing_was_made_yet(tmp_path):
    """Its commands up to the recording, in a folder with the rollouts that come along and nothing else."""
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert recipe is not None
    (tmp_path / "datasets").symlink_to(ROOT / "datasets")
    lines = recipe[1].replace("\\\n", "").splitlines()
    before = lines[: next(i for i, line in enumerate(lines) if " record " in line)]
    assert len(before) == 3
    for line in before:
        command = line.strip().replace("$(BIN)", str(Path(sys.executable).parent))
        command = command.replace("$(SAMPLE)", "datasets/libero-10-sample")
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stderr)
    assert "TOTAL" in done.stdout


def test_links_lead_somewhere():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), (document.name, target)


@pytest.mark.libero
def test_the_example_runs(tmp_path):
    script = [sys.executable, str(ROOT / "examples" / "own_loop.py"), str(tmp_path / "out"), "--steps", "3"]
    environment = {**os.environ, "MUJOCO_GL": "disable", "PYTHONPATH": str(ROOT)}
    subprocess.run(script, check=True, env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL)
    records = Dataset(tmp_path / "out").records
    assert [(r.metadata.init_state_id, r.metadata.warmup_steps, r.n_steps) for r in records] == [
        (0, 10, 13),
        (1, 10, 13),
    ]
