"""The wheel alone: the bare core installs and judges without any extra."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A clean environment with nothing but the built wheel and what it needs."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)],
        check=True,
    )
    venv.create(folder / "venv", with_pip=True)
    binaries = folder / "venv" / "bin"
    (wheel,) = folder.glob("*.whl")
    subprocess.run([binaries / "python", "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    return binaries


def _run(command, cwd):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_no_simulator_package_comes_with_the_core(bare, tmp_path):
    for package in ("libero", "robosuite", "torch", "google.genai", "ray"):
        result = _run([bare / "python", "-c", f"import {package}"], tmp_path)
        assert "ModuleNotFoundError" in result.stderr, package


def test_real_traces_are_judged_and_asked(bare, tmp_path, drawer_runs):
    result = _run([bare / "mango-trace", "evaluate", str(drawer_runs), "--db", "v.duckdb"], tmp_path)
    assert result.returncode == 0, result.stderr
    result = _run(
        [bare / "mango-trace", "query", "localisation", "--db", "v.duckdb", "--format", "json"], tmp_path
    )
    assert result.returncode == 0, result.stderr
    total = json.loads(result.stdout)[-1]
    assert total["n_matched"] == 1
    for command in (["ls", str(drawer_runs)], ["verify", str(drawer_runs)], ["predicates"]):
        assert _run([bare / "mango-trace", *command], tmp_path).returncode == 0


def test_recording_says_what_is_missing(bare, tmp_path):
    result = _run([bare / "mango-trace", "record", "libero_10", "--task", "3", "--out", "r"], tmp_path)
    assert result.returncode == 2
    assert "pip install 'mango-trace[libero]'" in result.stderr
    assert "Traceback" not in result.stderr
