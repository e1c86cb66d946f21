"""Runs: what is there is not done again, and an interrupted run ends as any other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from generator.errors import ModelError
from generator.members import RULES
from generator.models.cassette import Cassette
from generator.study.configurations import MANGO, RQ1, RQ3, Configuration
from generator.study.embedding import open_embedding
from generator.study.records import Part, Run
from generator.study.running import Plan, complete, oracles_in, tasks_in
from generator.study.search import Limits
from generator.study.subsets import Searches, search
from generator.targets import resolve
from mango_trace.errors import SpecificationError, UsageError
from mango_trace.shipped import shipped
from tests.generator.modules.answers import RulesAnswers
from tests.generator.study.by_rules import PROFILE, RulesProvider

SAMPLE = shipped("datasets") / "libero-10-sample"


@pytest.fixture(scope="module")
def targets():
    return resolve([str(SAMPLE)])[:2]


@pytest.fixture
def provider(targets, monkeypatch):
    """What a profile's models are; its calls are recorded as those of any other."""
    running = RulesProvider(targets)

    def open_models(profile, calls, budget=None):
        return {role: Cassette(calls, running) for role in profile.by_role}

    monkeypatch.setattr("generator.members.open_models", open_models)
    return running


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "served.toml"
    path.write_text(PROFILE.format(url="http://127.0.0.1:9"))
    return str(path)


def parts(run: Run) -> dict[str, Part]:
    return {"I": run.tasks, "II": run.oracles, **run.plans}


def without_times(run: Run) -> dict[str, Part]:
    return {name: part.model_copy(update={"seconds": None}) for name, part in parts(run).items() if part}


@pytest.mark.parametrize("configuration", [*RQ1, *RQ3[1:]], ids=lambda one: one.name)
def test_every_configuration_writes(configuration, targets, tmp_path):
    run = complete(Plan(RULES, configuration, targets, tmp_path), 1)
    assert set(run.plans) == {target.name for target in targets}
    assert all(part.accepted and part.document for part in run.plans.values())
    assert (run.oracles is None) == (configuration.name == "without-oracles")
    assert all(part.seconds > 0 for part in parts(run).values() if part)
    assert tasks_in(run)


def test_models_and_rules_take_the_same_way(server, targets, tmp_path):
    server.script = RulesAnswers("openai")
    path = tmp_path / "served.toml"
    path.write_text(PROFILE.format(url=server.url))
    by_model = complete(Plan(str(path), MANGO, targets[:1], tmp_path), 1)
    by_rules = complete(Plan(RULES, MANGO, targets[:1], tmp_path), 1)
    for name, part in parts(by_model).items():
        assert part.document == parts(by_rules)[name].document
        assert part.tokens == 110 * part.calls
        assert part.usd == pytest.approx((100 * 1.0 + 10 * 10.0) / 1e6 * part.calls)
    assert sum(part.calls for part in parts(by_model).values()) == len(server.asked) > 10


def test_a_run_that_is_there_asks_nothing(provider, profile, targets, tmp_path):
    plan = Plan(profile, MANGO, targets, tmp_path)
    first, asked = complete(plan, 1), provider.answered
    steps = []
    assert complete(plan, 1, lambda: steps.append(1)) == first
    assert (provider.answered, len(steps)) == (asked, plan.n_parts)


def test_runs_share_no_answers(provider, profile, targets, tmp_path):
    plan = Plan(profile, MANGO, targets, tmp_path)
    complete(plan, 1)
    asked = provider.answered
    complete(plan, 2)
    assert provider.answered == 2 * asked


@pytest.mark.parametrize("after", [0, 1, 4, 9, 14, 18])
def test_an_interrupted_run_ends_as_any_other(provider, profile, targets, tmp_path, after):
    whole = complete(Plan(profile, MANGO, targets, tmp_path / "whole"), 1)
    needed, provider.answered, provider.fails_after = provider.answered, 0, after
    plan = Plan(profile, MANGO, targets, tmp_path / "interrupted")
    with pytest.raises(ModelError, match="503"):
        complete(plan, 1)
    done = plan.folder(1).read(plan.empty(1))
    provider.fails_after = None
    resumed = complete(plan, 1)
    assert without_times(resumed) == without_times(whole)
    assert provider.answered == needed  # nothing was answered twice
    # What was done before is as it was; of what was going on nobody knows how long it would have taken.
    for name, part in parts(done).items():
        assert part is None or part == parts(resumed)[name]
    unknown = [name for name, part in parts(resumed).items() if part.seconds is None]
    assert len(unknown) <= 1
    assert not set(unknown) & {name for name, part in parts(done).items() if part is not None}


def test_an_answer_that_is_none_is_a_result(provider, profile, targets, tmp_path):
    provider.prose = {"plan.write"}
    run = complete(Plan(profile, MANGO, targets, tmp_path), 1)
    assert all(part.document is None and not part.accepted for part in run.plans.values())
    assert all("JSON alone was asked for" in part.why for part in run.plans.values())
    provider.prose = {"oracles.write"}
    without = complete(Plan(profile, MANGO, targets, tmp_path), 3)
    assert (without.oracles.accepted, without.oracles.document) == (False, None)
    assert "JSON alone was asked for" in without.oracles.why
    provider.prose = {"tasks.write"}
    nothing = complete(Plan(profile, MANGO, targets, tmp_path), 2)
    assert "JSON alone" in nothing.tasks.why
    assert {part.why for part in (nothing.oracles, *nothing.plans.values())} == {
        "there is no library of atomic tasks"
    }
    assert tasks_in(nothing) == oracles_in(nothing) == ()


def test_another_runs_folder_is_not_taken(targets, tmp_path):
    complete(Plan(RULES, MANGO, targets, tmp_path), 1)
    other = Configuration("mango", replace(MANGO.variant, rounds=(1, 1, 1, 1)))
    for plan in (Plan(RULES, other, targets, tmp_path), Plan(RULES, MANGO, targets[:1], tmp_path)):
        with pytest.raises(UsageError, match="choose another --out"):
            complete(plan, 1)


def test_a_run_goes_on_with_another_budget(provider, profile, targets, tmp_path):
    plan, path = Plan(profile, MANGO, targets, tmp_path), Path(profile)
    provider.fails_after = 9
    with pytest.raises(ModelError):
        complete(plan, 1)
    provider.fails_after = None
    path.write_text(
        path.read_text().replace("output_usd = 10.0", "output_usd = 20.0") + "[budget]\ncalls = 99\n"
    )
    complete(plan, 1)
    path.write_text(path.read_text().replace('model = "served"', 'model = "another"'))
    with pytest.raises(UsageError, match="other models"):
        complete(plan, 1)


def test_a_damaged_file_says_what_is_wrong(targets, tmp_path):
    plan = Plan(RULES, MANGO, targets, tmp_path)
    complete(plan, 1)
    path = plan.folder(1).path / "run.json"
    document = json.loads(path.read_text())
    document["tasks"]["calls"] = -1
    path.write_text(json.dumps(document))
    with pytest.raises(SpecificationError, match=r"tasks\.calls: must be at least 0"):
        complete(plan, 1)


def searches(config, out, instructions, **limits):
    return Searches(config, instructions, "wordllama", 0, Limits(**limits), out)


@pytest.fixture(scope="module")
def embed():
    return open_embedding("wordllama")


@pytest.fixture(scope="module")
def instructions():
    return tuple(dict.fromkeys(target.instruction for target in resolve([str(SAMPLE)])))


def test_a_search_finds_instructions_with_the_whole_library(embed, instructions, tmp_path):
    plan = searches(RULES, tmp_path, instructions)
    found = [search(plan, number, embed) for number in range(1, 4)]
    for one in found:
        assert one.feasible
        assert set(one.subset) < set(instructions)
        assert one.similarity >= 0.95
        assert one.missing == ()
        assert one.scores()["trr"] == pytest.approx(1 - len(one.subset) / 10)
    assert len({one.subset for one in found}) > 1  # each repetition has its own chance
    again = searches(RULES, tmp_path / "again", instructions)
    assert search(again, 1, embed).subset == found[0].subset


def test_a_search_that_is_there_is_taken_and_another_is_refused(embed, instructions, tmp_path):
    plan = searches(RULES, tmp_path, instructions)
    first = search(plan, 1, embed)
    assert search(plan, 1, lambda _: pytest.fail("embedded again")) == first
    with pytest.raises(UsageError, match="choose another --out"):
        search(searches(RULES, tmp_path, instructions, threshold=0.5), 1, embed)


@pytest.mark.parametrize("after", [3, 17, 40])
def test_an_interrupted_search_takes_the_same_way(provider, profile, embed, instructions, tmp_path, after):
    whole = search(searches(profile, tmp_path / "whole", instructions, patience=5), 1, embed)
    needed, provider.answered, provider.fails_after = provider.answered, 0, after
    plan = searches(profile, tmp_path / "interrupted", instructions, patience=5)
    with pytest.raises(ModelError):
        search(plan, 1, embed)
    provider.fails_after = None
    resumed = search(plan, 1, embed)
    assert provider.answered == needed
    same = {"seconds": None}
    assert resumed.seconds is None
    assert whole.model_copy(update=same) == resumed
