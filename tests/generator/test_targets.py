"""Tasks are found by dataset, suite or name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from generator.targets import Scenes, resolve
from mango_trace.errors import DatasetError, SceneError, UnknownNameError, UsageError
from mango_trace.scene.bddl import parse_bddl
from mango_trace.scene.benchmarks import benchmarks
from mango_trace.store import DatasetWriter
from tests.generator.rules.scenes import BDDL, kitchen
from tests.synthetic import TASK, make_dataset, make_package, make_trace

SAMPLE = Path(__file__).parents[2] / "datasets" / "libero-10-sample"


@dataclass(frozen=True)
class Task:
    suite: str
    name: str
    instruction: str

    def scene(self):
        return kitchen()[0], parse_bddl(BDDL)


class Kitchens:
    """A benchmark of two suites, for these tests."""

    suites = ("kitchens", "more_kitchens")

    def tasks(self, suite):
        names = ("stack", "pour") if suite == "kitchens" else ("sweep",)
        return [Task(suite, name, f"{name} it") for name in names]


def names(*given: str) -> list[str]:
    return [target.name for target in resolve(given, known=[Kitchens()])]


def test_suites_datasets_and_tasks_in_any_mixture_each_once(tmp_path):
    root = make_dataset(tmp_path, 3)
    assert names("sweep", "kitchens", str(root), "stack") == ["sweep", "stack", "pour", TASK]
    (target,) = resolve([str(root)], known=[])
    assert target.dataset == root
    assert target.scene == make_package().scene


def test_a_dataset_gives_traces_to_a_task_that_was_named_before(tmp_path):
    root = make_dataset(tmp_path, 1)
    with DatasetWriter(root) as writer:
        writer.add(make_trace(make_package(), seed=1, task="pour", instruction="pour it"))
    found = {target.name: target.dataset for target in resolve(["kitchens", str(root)], known=[Kitchens()])}
    assert found == {"stack": None, "pour": root, TASK: root}


def test_a_name_that_is_nothing_names_what_is_near(tmp_path):
    with pytest.raises(UnknownNameError, match=r"no dataset, suite or task 'stakc'.*stack"):
        resolve(["stakc"], known=[Kitchens()])
    with pytest.raises(DatasetError, match=str(tmp_path)):
        resolve([str(tmp_path)], known=[Kitchens()])


def test_two_instructions_for_one_name_are_refused(tmp_path):
    root = make_dataset(tmp_path, 1)
    with DatasetWriter(root) as writer:
        writer.add(make_trace(make_package(), seed=1, task="stack", instruction="stack the apples"))
    with pytest.raises(UsageError, match=r"'stack it'.*'stack the apples'"):
        resolve(["kitchens", str(root)], known=[Kitchens()])


def test_scenes_are_read_when_they_are_asked_for_and_without_bddl_there_is_nothing_to_say(tmp_path):
    root = make_dataset(tmp_path, 1, package=make_package(bddl=None))
    targets = resolve(["sweep", str(root)], known=[Kitchens()])
    scenes = Scenes(targets)
    assert list(scenes) == ["sweep", TASK]
    assert scenes["sweep"][0] == kitchen()[0]
    with pytest.raises(SceneError, match="has no BDDL"):
        scenes[TASK]


@pytest.mark.libero
def test_liberos_own_scene_is_the_recorded_one():
    """What a suite's task gives without a trace is what its traces have."""
    recorded = {target.name: target for target in resolve([str(SAMPLE)])}
    assert set(benchmarks()) == {"libero"}
    live = {target.name: target for target in resolve(["libero_10"])}
    assert list(recorded) == [name for name in live if name in recorded] == list(live)
    name = next(iter(live))
    assert live[name].scene == recorded[name].scene
    assert live[name].problem == recorded[name].problem
    assert live[name].instruction == recorded[name].instruction
