"""Oracles are proven on traces, and weaker ones are refuted by them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mango_trace.proving import Kind, Limits, Proof, prove
from mango_trace.shipped import shipped
from tests.reference import reference_oracles
from tests.synthetic import BDDL, make_dataset, make_package, oracle_document, write_oracles

SAMPLE = Path(__file__).parents[2] / "datasets" / "libero-10-sample"
ALWAYS = {"function": "near", "arguments": ["apple_1", "hand0", 100.0]}
N = 8  # two in the right order, two beside the basket, two with an open drawer, two in the wrong order


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("proving"), N)


def proof_of(root: Path, folder: Path, document: dict[str, Any], limits: Limits | None = None) -> Proof:
    report = prove(root, [write_oracles(folder / "oracles", document)], limits=limits)
    assert report.problems == []
    (proof,) = report.proofs
    assert report.exit_code == (0 if proof.outcome == "proven" else 1)
    return proof


def scores(proof: Proof) -> dict[Kind, tuple[int, int]]:
    return {kind.kind: (kind.caught, kind.applicable) for kind in proof.kinds}


def actions(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [action for step in document["plan"] for action in step["actions"]]


def test_a_sound_oracle_is_proven(root, tmp_path):
    proof = proof_of(root, tmp_path, oracle_document())
    assert (proof.outcome, proof.findings) == ("proven", ())
    assert (proof.n_traces, proof.n_successes, proof.n_passed) == (N, 4, 4)
    assert (proof.n_idle, proof.n_idle_missed, proof.score) == (N, 0, 1.0)
    found = scores(proof)
    assert found[Kind.CUT] == (8, 8)
    assert found[Kind.REVERSED] == (4, 4)
    assert found[Kind.ORDER] == (2, 2), "traces that were in the wrong order from the start do not count"


@pytest.mark.parametrize("index", range(3))
def test_with_an_action_that_always_holds_it_is_refuted(root, tmp_path, index):
    document = oracle_document()
    action = actions(document)[index]
    action["monitoring"] = [{"oracle_id": "any", "handle_as": ALWAYS}]
    proof = proof_of(root, tmp_path, document)
    assert proof.outcome == "refuted"
    assert "has an action that holds at every state of every successful trace" in proof.reasons
    kind = (Kind.LEAP, Kind.REMOVED, Kind.CUT)[index]
    assert any(finding.check == kind for finding in proof.findings), "a mutant shows it, too"


def test_with_a_monitor_that_always_holds_it_is_refuted_where_the_goal_depends_on_it(root, tmp_path):
    document = oracle_document()
    actions(document)[1]["monitoring"][0]["handle_as"] = ALWAYS
    proof = proof_of(root, tmp_path, document)
    assert proof.outcome == "refuted"
    finding = next(one for one in proof.findings if one.check == Kind.REMOVED)
    assert (finding.outcome, "apple_1" in finding.what) == ("passed", True)
    assert finding.state is not None


@pytest.mark.parametrize("index", [1, 2])
def test_without_an_action_that_the_goal_needs_it_is_refuted(root, tmp_path, index):
    document = oracle_document()
    action = actions(document)[index]
    for step in document["plan"]:
        step["actions"] = [one for one in step["actions"] if one is not action]
    document["plan"] = [step for step in document["plan"] if step["actions"]]
    assert proof_of(root, tmp_path, document).outcome == "refuted"


def test_in_the_wrong_order_it_does_not_pass_successes(root, tmp_path):
    document = oracle_document()
    document["plan"][0]["actions"].reverse()
    proof = proof_of(root, tmp_path, document)
    assert (proof.outcome, proof.n_passed) == ("refuted", 0)
    assert proof.applicable == 0, "mutants of what it fails anyway show nothing"
    assert {finding.check for finding in proof.findings} == {"success"}


def test_the_order_of_a_plan_without_order_cannot_be_wrong(root, tmp_path):
    document = {**oracle_document(), "execution_mode": "any_order"}
    proof = proof_of(root, tmp_path, document)
    assert (proof.outcome, scores(proof)[Kind.ORDER]) == ("proven", (0, 0))


def test_mutants_that_leave_the_task_done_are_not_counted(tmp_path):
    goal = BDDL.replace("(In apple_1 basket_1_contain_region)", "(Released brick_1)")
    root = make_dataset(tmp_path, N, package=make_package(bddl=goal))
    proof = proof_of(root, tmp_path, oracle_document())
    (swapped,) = (kind for kind in proof.kinds if kind.kind is Kind.SWAPPED)
    # With brick and apple exchanged the oracle fails, but nobody asked for the apple.
    assert (proof.n_passed, swapped.mutants, swapped.applicable) == (4, 8, 0)
    assert scores(proof)[Kind.CUT] == (4, 4), "the drawer was asked for"


def test_too_few_traces_prove_nothing(root, tmp_path):
    proof = proof_of(root, tmp_path, oracle_document(), Limits(min_successes=5))
    assert (proof.outcome, proof.reasons) == ("not_provable", ("4 successful traces, 5 needed",))
    elsewhere = make_dataset(tmp_path, 4, package=make_package(bddl=None), name="goalless")
    proof = proof_of(elsewhere, tmp_path, oracle_document())
    assert (proof.outcome, proof.n_traces, proof.n_successes) == ("not_provable", 4, 0)


def test_an_oracle_that_does_not_fit_is_a_problem_and_the_others_are_proven(root, tmp_path):
    wrong = oracle_document()
    actions(wrong)[2]["parameters"] = ["cabinet_2"]
    folder = write_oracles(tmp_path / "oracles")
    write_oracles(folder, wrong, name="wrong")
    report = prove(root, [folder, tmp_path / "missing.json"])
    assert report.exit_code == 3
    assert {proof.name: proof.outcome for proof in report.proofs} == {
        "put_the_apple_in_the_basket": "proven",
        "wrong": "not_provable",
    }
    assert any("did you mean 'cabinet_1'" in message for _, message in report.problems)
    assert any("no such file" in message for _, message in report.problems)


def test_what_is_proven_together_is_what_is_proven_alone(root, tmp_path):
    weak = oracle_document()
    actions(weak)[2]["monitoring"] = [{"oracle_id": "any", "handle_as": ALWAYS}]
    alone = [
        proof_of(root, tmp_path / "strong", oracle_document()),
        proof_of(root, tmp_path / "weak", weak),
    ]
    folder = write_oracles(tmp_path / "both", name="a")
    write_oracles(folder, weak, name="b")
    seen = []
    report = prove(root, [folder], progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (N, N)
    for one, other in zip(report.proofs, alone, strict=True):
        assert (one.outcome, one.kinds, one.findings) == (other.outcome, other.kinds, other.findings)


def test_reference_oracles_are_proven_on_the_rollouts_that_come_along():
    report = prove(SAMPLE, [shipped("oracles")])
    assert report.problems == []
    outcomes = [proof.outcome for proof in report.proofs]
    # Of two tasks the only success there has an injected fault, and so does not count.
    assert (outcomes.count("proven"), outcomes.count("not_provable")) == (8, 2)
    assert [finding for proof in report.proofs for finding in proof.findings] == []
    assert all(proof.n_idle == proof.n_traces == 4 for proof in report.proofs)
    swapped = {
        proof.name: (kind.mutants, kind.applicable)
        for proof in report.proofs
        for kind in proof.kinds
        if kind.kind is Kind.SWAPPED
    }
    assert swapped["KITCHEN_SCENE8_put_both_moka_pots_on_the_stove"] == (1, 0), "both pots belong there"
    ordered = [kind.applicable for proof in report.proofs for kind in proof.kinds if kind.kind is Kind.ORDER]
    assert sorted(ordered)[-3:] == [0, 1, 1], "two plans declare an order of two things"


def weakened(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Copies of an oracle that each lack one thing that the benchmark's goal asks for."""
    for index, action in enumerate(actions(document)):
        if action["action_id"] == "pick_up":
            continue
        for step, found in enumerate(document["plan"]):
            if action in found["actions"]:
                other = copy.deepcopy(document)
                other["plan"][step]["actions"].remove(action)
                other["plan"] = [one for one in other["plan"] if one["actions"]]
                if other["plan"]:
                    yield other
        for number, monitor in enumerate(action["monitoring"]):
            if monitor["handle_as"]["function"] in ("in", "inside", "on", "close", "turnon"):
                other = copy.deepcopy(document)
                always = {"function": "near", "arguments": [action["parameters"][0], "robot0_hand", 100.0]}
                actions(other)[index]["monitoring"][number]["handle_as"] = always
                yield other


def test_reference_oracles_that_lack_what_the_goal_asks_for_are_refuted(tmp_path):
    for path in reference_oracles():
        for number, document in enumerate(weakened(json.loads(path.read_text()))):
            write_oracles(tmp_path / str(number), document, name=path.stem)
    proofs = [proof for proof in prove(SAMPLE, [tmp_path]).proofs if proof.n_successes]
    assert len(proofs) == 32
    assert [proof.name for proof in proofs if proof.outcome != "refuted"] == []
    assert all(proof.n_passed == 1 and proof.findings for proof in proofs)
