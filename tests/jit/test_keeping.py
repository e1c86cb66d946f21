"""Where machine code is kept: that of these sources and this processor, and nowhere if none is writable."""

from __future__ import annotations

import pytest

from mango_trace.jit import keeping

NAME = "mango_trace.signals.poses.one"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of one's own; the folder is looked for as a fresh process would."""
    here = tmp_path / "package"
    for name in ("jit", "signals", "oracle"):
        (here / name).mkdir(parents=True)
        (here / name / "one.py").write_text("LIMIT = 1\n")
    monkeypatch.setattr(keeping, "_PACKAGE", here)
    monkeypatch.setattr(keeping, "_folders", keeping._folders.__wrapped__)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return here


def place():
    """Where a loop is kept that is compiled now."""
    keeping.save(NAME, b"code")
    (found,) = [folder for folder in keeping._folders() if (folder / f"{NAME}.loop").exists()]
    (found / f"{NAME}.loop").unlink()
    return found.parent


def folder_name():
    return keeping._folders()[0].name


@pytest.mark.parametrize("changed", ["jit/one.py", "signals/one.py", "oracle/one.py", "signals/two.py"])
def test_other_sources_have_another_folder(package, changed):
    """Also where a function did not change itself, but one that it calls or a constant that it reads."""
    before = folder_name()
    assert folder_name() == before
    (package / changed).write_text("LIMIT = 2\n")
    assert folder_name() != before


@pytest.mark.parametrize("changed", ["processor", "version"])
def test_another_processor_or_compiler_has_another_folder(package, changed, monkeypatch):
    before = folder_name()
    monkeypatch.setattr(keeping, changed, lambda *_: "another")
    assert folder_name() != before


def test_the_users_choice_comes_first_then_the_package_then_the_users_cache(package, tmp_path, monkeypatch):
    assert place() == package / "__pycache__"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert place() == tmp_path / "chosen"
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setattr(keeping, "_PACKAGE", tmp_path / "file")
    (tmp_path / "file").write_text("in the way of a folder")
    assert place() == tmp_path / "cache" / "mango-trace"


def test_what_is_kept_where_nothing_can_be_written_is_found(package, tmp_path, monkeypatch):
    keeping.save(NAME, b"code")
    monkeypatch.setattr(keeping, "_can_be_written", lambda folder: False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert keeping.load(NAME) == b"code"
    assert keeping.is_compiled()
    keeping.save(NAME, b"other code")
    assert keeping.load(NAME) == b"code"


def test_no_place_depends_on_where_a_process_runs(package, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.chdir(tmp_path)
    assert all(folder.is_relative_to(package) for folder in keeping._folders())


def test_other_settings_of_the_compiler_have_another_folder(package, monkeypatch):
    before = keeping._folders()
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert not set(before) & set(keeping._folders())


def test_what_is_kept_is_found_again_and_nothing_else_lies_there(package):
    assert not keeping.is_compiled()
    assert keeping.load(NAME) is None
    for content in (b"code", b"other code"):
        keeping.save(NAME, content)
        assert keeping.load(NAME) == content
    assert keeping.is_compiled()
    assert [path.name for path in keeping._folders()[0].iterdir()] == [f"{NAME}.loop"]


@pytest.mark.parametrize(
    "spoil", [lambda kept: kept[:-1], lambda kept: kept[:5], lambda kept: b"", lambda kept: kept[:-1] + b"!"]
)
def test_what_is_broken_is_not_taken(package, spoil):
    keeping.save(NAME, b"code")
    path = keeping._folders()[0] / f"{NAME}.loop"
    path.write_bytes(spoil(path.read_bytes()))
    assert keeping.load(NAME) is None


def test_where_nothing_can_be_written_nothing_is_kept(package, tmp_path, monkeypatch):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    monkeypatch.setattr(keeping, "_PACKAGE", in_the_way)
    monkeypatch.setenv("XDG_CACHE_HOME", str(in_the_way))
    keeping.save(NAME, b"code")
    assert keeping.load(NAME) is None
    assert not keeping.is_compiled()


def test_loops_of_other_packages_are_not_kept(package):
    """Nothing would tell that their sources changed."""
    keeping.save("elsewhere.loops.one", b"code")
    assert keeping.load("elsewhere.loops.one") is None
    assert not keeping.is_compiled()
