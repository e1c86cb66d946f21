"""The policy in docs/policies.md is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.store import Dataset
from tests.conftest import SUITE, TASK

ROOT = Path(__file__).parents[2]


@pytest.mark.libero
def test_the_python_policy_of_the_document_records(rendering, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    Path("policy_of_the_document.py").write_text(block, encoding="utf-8")
    words = ("record", SUITE, "--task", str(TASK), "--horizon", "2", "--out", "runs")
    result = CliRunner().invoke(cli, [*words, "--policy", "policy_of_the_document:Reach"])
    assert result.exit_code == 0, result.output
    (record,) = Dataset("runs").records
    assert (record.n_steps, record.metadata.policy_version) == (12, "1")
