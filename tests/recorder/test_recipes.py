"""Recipes say which rollouts a dataset has, always the same ones."""

from __future__ import annotations

from collections import Counter

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from mango_trace.cli.main import cli
from mango_trace.errors import UnknownNameError
from mango_trace.shipped import shipped
from mango_trace.store import Dataset
from recorder.policies.scripted import FAULT_KINDS, applicable_faults
from recorder.recipes import Recipe, read_card, read_recipe, recipe_names
from tests.synthetic import make_dataset


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_has_a_card_and_gives_each_rollout_once(name):
    recipe = read_recipe(name)
    specs = recipe.specs()
    assert len(specs) == len({spec.slot for spec in specs}) == recipe.n_rollouts
    assert specs == read_recipe(name).specs()
    assert name in read_card(name)
    assert {path.suffix for path in shipped("datasets").glob(f"{name}.*")} == {".toml", ".md"}


def test_the_scripted_one_has_a_thousand_rollouts_with_every_fault_equally_often_but_for_a_few():
    recipe = read_recipe("libero-10-scripted")
    specs = recipe.specs()
    assert Counter(spec.task_index for spec in specs) == dict.fromkeys(range(10), 100)
    for task in range(10):
        faults = Counter(spec.fault for spec in specs if spec.task_index == task)
        assert faults.pop(None) == 40
        assert set(faults) == set(map(str, applicable_faults("libero_10", task)))
        few = {fault: n for fault, n in faults.items() if fault.split("@")[0] in recipe.at_most}
        assert all(n <= recipe.at_most[fault.split("@")[0]] for fault, n in few.items())
        many = [n for fault, n in faults.items() if fault not in few]
        assert max(many) - min(many) <= 1
        for fault in (None, *faults):
            starts = [s.init_state_id for s in specs if s.task_index == task and s.fault == fault]
            assert starts == list(range(len(starts)))


def test_the_card_says_what_the_recipe_records():
    specs = read_recipe("libero-10-scripted").specs()
    counts = Counter(spec.fault.partition("@")[0] for spec in specs if spec.fault)
    card = read_card("libero-10-scripted")
    for name, kind in FAULT_KINDS.items():
        assert f"| {name} | {kind.summary} | {kind.failure_class} | {counts[name]} |" in card


def test_a_typo_in_a_name_or_a_recipe_is_named():
    with pytest.raises(UnknownNameError, match="did you mean 'libero-10-scripted'"):
        read_recipe("libero_10_scripted")
    with pytest.raises(ValidationError, match="sucesses"):
        Recipe.model_validate({**read_recipe("libero-10-scripted").model_dump(), "sucesses": 3})
    with pytest.raises(ValidationError, match="no kind of fault: undose"):
        Recipe.model_validate({**read_recipe("libero-10-scripted").model_dump(), "at_most": {"undose": 1}})


def test_list_and_info_on_the_command_line():
    listed = CliRunner().invoke(cli, ["datasets", "list", "--format", "csv"])
    assert "libero-10-scripted,1000,10,libero_10,scripted,MIT" in listed.stdout
    assert CliRunner().invoke(cli, ["datasets", "info", "libero-10-scripted"]).stdout == read_card(
        "libero-10-scripted"
    )


def test_a_build_marks_its_sample_and_again_changes_nothing(tmp_path, monkeypatch):
    """With placed rollouts instead of recorded ones; the sample is that of the whole dataset."""

    def place(target, specs, workers):
        if not Dataset(target).records:
            make_dataset(target.parent, 12, name=target.name)
        return 0

    monkeypatch.setattr("recorder.cli.record_specs", place)
    target = tmp_path / "d"
    files = []
    for _ in range(2):
        done = CliRunner().invoke(cli, ["datasets", "build", "libero-10-scripted", "--out", str(target)])
        assert (done.exit_code, "4 rollouts are in its sample 'paper'" in done.stdout) == (0, True)
        files.append({path: path.stat().st_mtime_ns for path in target.rglob("*") if path.is_file()})
    assert files[0] == files[1]
    assert list(Dataset(target).samples or {}) == ["paper"]


@pytest.mark.libero
@pytest.mark.slow
def test_a_second_build_changes_nothing_and_one_elsewhere_gives_the_same_states(tmp_path):
    arguments = ["datasets", "build", "libero-10-scripted", "--out", str(tmp_path / "d"), "--share", "0.01"]
    first = CliRunner().invoke(cli, arguments)
    assert first.exit_code == 0, first.output
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "d").rglob("*") if path.is_file()}
    again = CliRunner().invoke(cli, arguments)
    assert "0 episodes recorded, 0 of them successful, 20 were there already, 0 errors" in again.stdout
    elsewhere = [*arguments[:4], str(tmp_path / "e"), *arguments[5:], "--workers", "1"]
    assert CliRunner().invoke(cli, elsewhere).exit_code == 0
    ids = [[record.trace_id for record in Dataset(tmp_path / name).records] for name in ("d", "e")]
    assert ids[0] == ids[1]  # an id is a digest of every state
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "d").rglob("*") if p.is_file()} == files
