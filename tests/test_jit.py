"""Where machine code is kept: never that of other sources, and nowhere if nothing can be written."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config

from mango_trace import jit


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of one's own; the folder is looked for as a fresh process would."""
    here = tmp_path / "package"
    for name in ("signals", "oracle"):
        (here / name).mkdir(parents=True)
        (here / name / "one.py").write_text("LIMIT = 1\n")
    monkeypatch.setattr(jit, "_HERE", here)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return here


def folder():
    return jit._folder.__wrapped__()


@pytest.mark.parametrize("changed", ["signals/one.py", "oracle/one.py", "signals/two.py"])
def test_other_sources_have_another_folder(package, changed):
    """Also where a function did not change itself, but one that it calls or a constant that it reads."""
    before = folder()
    assert folder() == before
    (package / changed).write_text("LIMIT = 2\n")
    assert folder() != before


def test_the_users_choice_comes_first_then_the_package_then_the_users_cache(package, tmp_path, monkeypatch):
    assert folder().parent == package / "__pycache__"
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "chosen"))
    assert folder().parent == tmp_path / "chosen"
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(jit, "_HERE", tmp_path / "file")
    (tmp_path / "file").write_text("in the way of a folder")
    assert folder().parent == tmp_path / "cache" / "mango-trace"


def test_where_nothing_can_be_written_functions_are_compiled_all_the_same(tmp_path, monkeypatch):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    monkeypatch.setattr(jit, "_HERE", in_the_way)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(in_the_way))
    assert folder() is None
    monkeypatch.setattr(jit, "_folder", lambda: None)
    assert not jit.is_compiled()

    @jit.jit
    def total(values):
        return values.sum()

    assert total(np.arange(4)) == 6


def test_what_is_kept_is_seen_and_numbas_own_setting_stays(tmp_path, monkeypatch):
    before = config.CACHE_DIR
    monkeypatch.setattr(jit, "_folder", lambda: tmp_path)
    assert not jit.is_compiled()

    @jit.jit
    def double(value):
        return 2 * value

    assert double(21) == 42
    assert jit.is_compiled()
    assert before == config.CACHE_DIR
