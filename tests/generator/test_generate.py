"""``mango-trace generate``, by rules: the whole way from instructions to oracles that judge."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from generator.errors import TokenLimitError
from generator.folder import OracleFolder
from generator.generation import Generation
from generator.models.base import Request, Usage
from generator.models.cassette import Cassette
from generator.prompting import LATEST, ROLES, prompts
from generator.replies import Assessment, OraclesReply, TasksReply
from generator.rules.model import RulesModel
from generator.targets import Scenes, resolve
from generator.team import Member, Team, Transcript
from mango_trace.cli.main import cli
from mango_trace.errors import SceneError, UnknownNameError, UsageError
from mango_trace.oracle import read_oracle, read_oracles, read_tasks
from mango_trace.proving import read_proofs
from mango_trace.shipped import shipped
from mango_trace.store import DatasetWriter
from tests.reference import reference_oracles
from tests.synthetic import TASK, make_dataset, make_package, make_trace

SAMPLE = Path(__file__).parents[2] / "datasets" / "libero-10-sample"
REFERENCE = shipped("oracles") / "libero"


def run(*arguments: object, exit_code: int = 0) -> str:
    done = CliRunner().invoke(cli, ["generate", *map(str, arguments)])
    assert done.exit_code == exit_code, done.output
    return done.output


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("generated") / "oracles"
    run("library", SAMPLE, "--out", out)
    assert "10 of 10 oracles written" in run("oracles", SAMPLE, "--out", out)
    return out


def test_the_oracles_are_those_written_by_hand(written):
    for path in reference_oracles():
        assert read_oracle(written / path.name).digest == read_oracle(path).digest


def test_the_libraries_are_the_part_of_the_shipped_ones_that_is_needed(written):
    tasks, oracles = read_tasks(written / "atomic_tasks.json"), read_oracles(written / "atomic_oracles.json")
    assert set(tasks) < set(read_tasks(REFERENCE / "atomic_tasks.json"))
    assert {one.oracle_id for one in oracles} < {
        one.oracle_id for one in read_oracles(REFERENCE / "atomic_oracles.json")
    }
    assert {one.task_id for one in oracles} == {task.id for task in tasks}


def test_libraries_that_are_there_are_extended_and_kept(written, tmp_path):
    shipped_tasks = (REFERENCE / "atomic_tasks.json").read_text()
    (tmp_path / "atomic_tasks.json").write_text(shipped_tasks)
    run("library", SAMPLE, "--out", tmp_path)
    assert read_tasks(tmp_path / "atomic_tasks.json") == read_tasks(REFERENCE / "atomic_tasks.json")


def test_nothing_but_oracles_and_libraries_lies_in_the_folder(written):
    assert len(list(written.iterdir())) == 13
    lines = (written.with_name("oracles.work") / "transcript.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    assert sum(entry["what"] == "plan.write" for entry in entries) == 10
    assert {entry["role"] for entry in entries} == {"generator", "assessor", "judge"}
    assert all("error" not in entry and entry["usage"]["calls"] == 1 for entry in entries)


@pytest.mark.parametrize("switch", [("--baseline",), ("--ablate", "tasks"), ("--ablate", "reliability")])
def test_variants_of_the_study_write_too(written, tmp_path, switch):
    out = tmp_path / "variant"
    run("library", SAMPLE, "--out", out)
    assert "10 of 10 oracles written" in run("oracles", SAMPLE, "--out", out, *switch)


def test_a_task_that_cannot_be_written_is_a_row_and_the_others_are_written(tmp_path):
    package, out = make_package(), tmp_path / "out"
    root = make_dataset(tmp_path, 1, package=package)
    assert "no libraries there" in run("oracles", root, "--out", out, "--only", "III", exit_code=2)
    run("library", root, "--out", out)
    with DatasetWriter(root) as writer:
        writer.add(make_trace(package, seed=1, task="circus", instruction="juggle the apple"))
    assert "'juggle'" in run("library", root, "--out", out, exit_code=3)
    assert "'juggle'" in run("library", root, "--out", tmp_path / "new", exit_code=3)
    assert content(tmp_path / "new") == {
        name: text for name, text in content(out).items() if "atomic" in name
    }
    shown = run("oracles", root, "--out", out, "--format", "json", exit_code=3)
    rows = json.loads(shown[shown.index("[") : shown.rindex("]") + 1])
    good, bad = sorted(rows, key=lambda row: row["task"] == "circus")
    assert (good["outcome"], bad["outcome"]) == ("accepted", "error")
    assert "not understood at word 1, 'juggle'" in bad["why"]
    assert "1 of 2 oracles written" in shown
    assert (out / f"{good['task']}.json").exists()
    lines = (tmp_path / "out.work" / "transcript.jsonl").read_text().splitlines()
    assert any("NotUnderstoodError" in json.loads(line).get("error", "") for line in lines)


def test_tasks_without_a_scene_are_rows_at_their_places(written, tmp_path):
    def nowhere():
        raise SceneError("there is none")

    targets = resolve([str(SAMPLE)])[:5]
    given = [replace(one, read=nowhere) if place in (1, 4) else one for place, one in enumerate(targets)]
    shutil.copytree(written, tmp_path / "out")
    team = Team({role: Member(RulesModel(Scenes(targets))) for role in ROLES}, Transcript(None))
    results = list(Generation(team, OracleFolder(tmp_path / "out")).write_plans(given))
    assert [one.task for one in results] == [one.name for one in given]
    assert [one.outcome for one in results] == ["accepted", "error", "accepted", "accepted", "error"]
    assert {one.why for one in results if one.outcome == "error"} == {"there is none"}


def test_two_switches_that_exclude_each_other_are_refused(tmp_path):
    done = CliRunner().invoke(
        cli, ["generate", "oracles", str(SAMPLE), "--out", str(tmp_path), "--baseline", "--ablate", "tasks"]
    )
    assert done.exit_code == 2
    assert "give one of them" in done.output


def test_what_was_used_adds_up_by_question(tmp_path):
    with Transcript(tmp_path / "t.jsonl") as transcript:
        team = Team({"generator": Member(RulesModel({}))}, transcript)
        for _ in range(3):
            team.ask("tasks.write", {"instructions": ["open the drawer"]}, TasksReply)
        with pytest.raises(UnknownNameError):
            team.ask("plan.write", {"instruction": "x", "scene": {"task": "nowhere"}}, TasksReply)
    assert {what: usage.calls for what, usage in team.usage().items()} == {"tasks.write": 3}
    assert len((tmp_path / "t.jsonl").read_text().splitlines()) == 4


def test_a_recorded_call_uses_nothing(tmp_path):
    """What a run used is what it asked; a run that is started again finds the answers."""
    used = []
    for _ in range(2):
        model = Cassette(tmp_path / "calls", RulesModel({}))
        with Transcript(tmp_path / "t.jsonl") as transcript:
            team = Team({"generator": Member(model)}, transcript)
            team.ask("tasks.write", {"instructions": ["open the drawer"]}, TasksReply)
        used.append({what: usage.calls for what, usage in team.usage().items()})
    assert used == [{"tasks.write": 1}, {}]
    lines = (tmp_path / "t.jsonl").read_text().splitlines()
    assert [json.loads(line)["replayed"] for line in lines] == [False, True]


@pytest.mark.parametrize(
    ("question", "change", "issue"),
    [
        ("tasks.assess.atomicity", lambda task: task | {"id": "juggle"}, "do not know task 'juggle'"),
        ("tasks.assess.repetition", lambda task: task | {"id": "raise"}, "'raise' says what 'pick_up' says"),
    ],
)
def test_assessors_by_rules_see_what_is_wrong_with_a_library(question, change, issue):
    model = RulesModel({})
    instructions = ["pick up the mug and place it in the basket"]
    (pick_up, place_in) = json.loads(asked(model, "tasks.write", {"instructions": instructions}, TasksReply))[
        "atomic_tasks"
    ]
    good = {"instructions": instructions, "library": [pick_up, place_in]}
    assert json.loads(asked(model, question, good, Assessment))["issues"] == []
    bad = {**good, "library": [pick_up, place_in, change(pick_up)]}
    assert any(issue in one for one in json.loads(asked(model, question, bad, Assessment))["issues"])


def test_the_assessor_of_atomic_oracles_by_rules_sees_what_is_left_out():
    model = RulesModel({})
    (task,) = json.loads(asked(model, "tasks.write", {"instructions": ["open the drawer"]}, TasksReply))[
        "atomic_tasks"
    ]
    oracles = json.loads(asked(model, "oracles.write", {"task": task}, OraclesReply))["atomic_oracles"]
    for given, n_issues in ((oracles, 0), (oracles[1:], 1)):
        found = json.loads(
            asked(model, "oracles.assess.hacker", {"task": task, "oracles": given}, Assessment)
        )
        assert len(found["issues"]) == n_issues


def test_a_name_that_the_scene_lacks_is_seen(written):
    path = next(written.glob("KITCHEN_SCENE4*.json"))
    oracle = json.loads(path.read_text())
    inputs = {"oracle": oracle, "scene": {"task": "", "objects": [], "regions": [], "hands": []}}
    found = json.loads(asked(RulesModel({}), "plan.assess.grounding", inputs, Assessment))
    assert "the scene has no 'akita_black_bowl_1'" in found["issues"]


def test_a_version_of_prompts_that_does_not_exist_is_refused_before_anything_is_asked():
    with pytest.raises(UnknownNameError, match="version of the prompts"):
        Member(RulesModel({}), prompt_version="7")


def test_a_strict_folder_is_of_one_reading_and_bears_traces_out(tmp_path):
    out = tmp_path / "strict"
    shown = run("oracles", SAMPLE, "--out", out, "--reading", "strict")
    assert "10 of 10 oracles written, 8 proven on traces" in shown
    known = {one.oracle_id for one in read_oracles(out / "atomic_oracles.json")}
    assert {"object_is_held_firmly", "support_carries_object"} <= known
    lines = (tmp_path / "strict.work" / "transcript.jsonl").read_text().splitlines()
    assert {json.loads(line)["inputs"].get("reading") for line in lines} == {"strict"}
    for module in ("library", "oracles"):
        assert "of the strict reading, not of the default one" in run(
            module, SAMPLE, "--out", out, exit_code=2
        )


def test_the_default_reading_is_not_mentioned(written):
    lines = (written.with_name("oracles.work") / "transcript.jsonl").read_text().splitlines()
    assert all("reading" not in json.loads(line)["inputs"] for line in lines)


def test_texts_that_know_no_reading_are_refused_before_anything_is_asked():
    members = {role: Member(RulesModel({}), prompt_version="1") for role in ("generator", "judge")}
    with Transcript(None) as transcript:
        Team(members, transcript)
        with pytest.raises(UsageError, match=r"version 1 of the .* knows no reading; version 2 does"):
            Team(members, transcript, {"reading": "strict"})


def test_a_version_of_prompts_adds_to_the_one_before():
    """Version 2 only says what a reading is: all else is asked as before."""
    old, new = prompts("1"), prompts("2")
    assert {name: (one.role, one.question) for name, one in old.items()} == {
        name: (one.role, one.question) for name, one in new.items()
    }
    assert all(new[name].system.startswith(old[name].system) for name in old)
    assert all("`reading`" in one.system for one in new.values())


def asked(model, question, inputs, reply):
    prompt = prompts()[question]
    request = Request(prompt.role, question, LATEST, prompt.system, prompt.question, inputs, reply)
    return model.ask(request).text


def test_each_module_alone_is_the_whole(written, tmp_path):
    out = tmp_path / "oracles"
    assert "no library of atomic tasks there" in run(
        "library", SAMPLE, "--out", out, "--only", "II", exit_code=2
    )
    run("library", SAMPLE, "--out", out, "--only", "I")
    assert not (out / "atomic_oracles.json").exists()
    run("oracles", SAMPLE, "--out", out, "--only", "II")
    assert not list(out.glob("KITCHEN*"))
    run("oracles", SAMPLE, "--out", out, "--only", "III")
    assert content(out) == content(written)


def test_one_command_writes_the_libraries_too(written, tmp_path):
    run("oracles", SAMPLE, "--out", tmp_path / "oracles")
    assert content(tmp_path / "oracles") == content(written)


def test_what_is_covered_is_not_asked_again(written):
    before = transcript(written)
    run("library", SAMPLE, "--out", written)
    assert transcript(written) == before


def test_what_traces_show_is_kept_with_the_oracles(written):
    proofs = {record.oracle: record for record in read_proofs(written)}
    assert len(proofs) == 10
    assert all(proofs[name].digest == read_oracle(written / f"{name}.json").digest for name in proofs)
    assert {record.outcome for record in proofs.values()} == {"proven", "not_provable"}
    assert {record.mutation_score for record in proofs.values()} == {1.0, None}


@pytest.fixture
def forgetful(monkeypatch) -> None:
    """Rules that leave out that the drawer is closed, and assessors that do not mind."""
    honest = RulesModel._plan

    def plan(self, inputs):
        reply = honest(self, inputs)
        return reply.model_copy(update={"plan": reply.plan[:1]})

    monkeypatch.setattr(RulesModel, "_plan", plan)
    monkeypatch.setattr(RulesModel, "_logic", lambda *_: Assessment(issues=[], justification="", score=10))
    monkeypatch.setattr(RulesModel, "_compliance", RulesModel._logic)


@pytest.mark.usefixtures("forgetful")
def test_an_oracle_that_traces_refute_is_not_accepted_and_the_judge_is_told_why(tmp_path):
    """No trace that was cut short may pass for the whole."""
    root, out = make_dataset(tmp_path, 4), tmp_path / "out"
    shown = run("oracles", root, "--out", out, "--format", "json", exit_code=3)
    (row,) = json.loads(shown[shown.index("[") : shown.rindex("]") + 1])
    assert (row["outcome"], row["rounds"]) == ("unproven", 25)
    assert "mutants of kind cut_short" in row["why"]
    assert not list(out.glob(f"{TASK}*"))
    assert read_oracle(out.with_name("out.work") / "unproven" / f"{TASK}.json").plan
    asked = [entry for entry in transcript(out) if entry["what"] == "plan.judge"]
    assert any("cut_short: trace" in one for one in asked[0]["inputs"]["evidence"])


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def transcript(folder: Path) -> list[dict]:
    text = (folder.with_name(f"{folder.name}.work") / "transcript.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_a_line_that_was_cut_off_goes(tmp_path):
    """A run that is killed may leave one at the end of its transcript; others can be read all the same."""
    path = tmp_path / "t.jsonl"
    for before, kept in (
        ("", ""),
        ('{"a": 1}\n', '{"a": 1}\n'),
        ('{"a": 1}\n{"b', '{"a": 1}\n'),
        ('{"b', ""),
    ):
        path.write_text(before)
        with Transcript(path) as transcript:
            transcript.add({"c": 1})
        assert path.read_text() == kept + '{"c": 1}\n'
    path.write_text('{"a": 1}\n' + "x" * 200_000)
    with Transcript(path) as transcript:
        transcript.add({"c": 1})
    assert path.read_text() == '{"a": 1}\n{"c": 1}\n'


@pytest.mark.usefixtures("forgetful")
def test_an_earlier_oracle_that_traces_refute_is_withdrawn(tmp_path):
    """It was accepted when there were no traces; now nothing may judge by it."""
    root, out = make_dataset(tmp_path, 4), tmp_path / "out"
    run("oracles", root, "--out", out, "--ablate", "reliability")
    assert (out / f"{TASK}.json").exists()
    run("oracles", root, "--out", out, exit_code=3)
    assert not (out / f"{TASK}.json").exists()
    assert (tmp_path / "out.work" / "refuted" / f"{TASK}.json").exists()
    assert read_proofs(out) == ()


def test_traces_that_cannot_be_read_are_no_proof(tmp_path):
    root, out = make_dataset(tmp_path, 2), tmp_path / "out"
    for chunk in root.glob("segments/*/states.zarr/*/state/qpos/c/*/*"):
        chunk.write_bytes(b"damaged")
    shown = run("oracles", root, "--out", out, "--format", "json", exit_code=3)
    assert "no trace of the task can be judged" in shown
    assert not (out / f"{TASK}.json").exists()


def test_a_dataset_that_is_not_there_is_said_before_anything_is_asked(tmp_path):
    out = tmp_path / "out"
    run("oracles", SAMPLE, "--out", out, "--on", tmp_path / "nowhere", exit_code=3)
    assert not out.exists()
    assert not (tmp_path / "out.work").exists()


def test_a_task_whose_name_is_that_of_a_library_is_an_error_before_anything_is_asked(tmp_path):
    package, out = make_package(), tmp_path / "out"
    root = make_dataset(tmp_path, 1, package=package)
    with DatasetWriter(root) as writer:
        writer.add(make_trace(package, seed=1, task="atomic_oracles"))
    assert "1 of 2 oracles written" in run("oracles", root, "--out", out, exit_code=3)
    assert read_oracles(out / "atomic_oracles.json")
    assert sum(entry["what"] == "plan.write" for entry in transcript(out)) == 1


def test_calls_that_failed_are_part_of_what_was_used(tmp_path):
    class Costly:
        name = "costly"

        def ask(self, request):
            error = TokenLimitError("costly", 100, 90, 100)
            error.usage = Usage(calls=1, reply_tokens=100, cost_usd=0.5)
            raise error

    with Transcript(tmp_path / "t.jsonl") as transcript:
        team = Team({"generator": Member(Costly())}, transcript)
        with pytest.raises(TokenLimitError):
            team.ask("tasks.write", {}, TasksReply)
    assert team.usage()["tasks.write"].cost_usd == 0.5
    assert json.loads((tmp_path / "t.jsonl").read_text())["usage"]["cost_usd"] == 0.5
