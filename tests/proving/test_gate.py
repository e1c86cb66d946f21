"""From observations to outcomes."""

from __future__ import annotations

import json

import pytest

from mango_trace.errors import UsageError
from mango_trace.evaluation.oracle_files import NamedOracle
from mango_trace.oracle import parse_oracle
from mango_trace.proving.gate import Limits, MutantSeen, SourceSeen, weigh
from mango_trace.proving.mutants import Kind
from tests.synthetic import oracle_document

ORACLE = NamedOracle("apple", "apple.json", parse_oracle(json.dumps(oracle_document()), "apple"))


def sources(passed: int, failed: int = 0, other: int = 0) -> list[SourceSeen]:
    return [
        *(SourceSeen(f"p{i}", True, "passed", 9) for i in range(passed)),
        *(SourceSeen(f"f{i}", True, "failed", 3, reason="close never_true") for i in range(failed)),
        *(SourceSeen(f"o{i}", False, "failed", 3) for i in range(other)),
    ]


def mutants(kind: Kind, **outcomes: int) -> list[MutantSeen]:
    return [
        MutantSeen(f"{outcome}{i}", kind, "broken", outcome != "harmless", _verdict(outcome), 5)
        for outcome, count in outcomes.items()
        for i in range(count)
    ]


def _verdict(outcome):
    return "passed" if outcome == "harmless" else outcome


def test_what_passes_successes_and_fails_mutants_is_proven():
    proof = weigh(ORACLE, sources(20, other=7), mutants(Kind.CUT, failed=20, harmless=5), Limits())
    assert (proof.outcome, proof.reasons, proof.findings) == ("proven", (), ())
    assert (proof.n_traces, proof.n_successes, proof.n_passed, proof.score) == (27, 20, 20, 1.0)
    (cut,) = (kind for kind in proof.kinds if kind.kind is Kind.CUT)
    assert (cut.mutants, cut.applicable, cut.caught) == (25, 20, 20)


def test_a_harmless_mutant_does_not_count():
    seen = mutants(Kind.SWAPPED, harmless=50)
    proof = weigh(ORACLE, sources(5), seen, Limits())
    assert (proof.outcome, proof.applicable, proof.score) == ("not_provable", 0, None)


@pytest.mark.parametrize(("failed", "outcome"), [(1, "proven"), (2, "refuted")])
def test_the_share_of_successes_that_pass_has_a_limit(failed, outcome):
    proof = weigh(ORACLE, sources(20 - failed, failed), mutants(Kind.CUT, failed=9), Limits())
    assert proof.outcome == outcome
    assert [finding.check for finding in proof.findings] == ["success"] * failed
    assert str(proof.findings[0]) == "success: trace f0: close never_true: failed at state 3"


def test_every_kind_must_be_caught_even_where_the_others_outnumber_it():
    seen = [*mutants(Kind.SWAPPED, failed=1000), *mutants(Kind.ORDER, passed=1, failed=3)]
    proof = weigh(ORACLE, sources(1), seen, Limits())
    assert proof.score is not None
    assert proof.score > 0.99
    assert (proof.outcome, proof.reasons) == ("refuted", ("catches 3 of 4 mutants of kind order_swapped",))


def test_undetermined_is_not_caught_and_listed():
    proof = weigh(ORACLE, sources(1), mutants(Kind.REVERSED, undetermined=1, failed=1), Limits())
    assert (proof.outcome, proof.score, proof.undetermined) == ("refuted", 0.5, 1)
    assert [(finding.trace_id, finding.outcome) for finding in proof.findings] == [
        ("undetermined0", "undetermined")
    ]


@pytest.mark.parametrize("outcome", ["passed", "undetermined"])
def test_nothing_done_must_fail_whatever_the_scores(outcome):
    seen = [*mutants(Kind.CUT, failed=1000), *mutants(Kind.NO_OP, **{outcome: 1, "failed": 999})]
    proof = weigh(ORACLE, sources(1000), seen, Limits())
    assert (proof.outcome, proof.score, proof.n_idle, proof.n_idle_missed) == ("refuted", 1.0, 1000, 1)
    early = [*sources(99), SourceSeen("early", False, "passed", 2, at_start=True)]
    assert weigh(ORACLE, early, mutants(Kind.CUT, failed=99), Limits()).outcome == "refuted"


def test_an_action_that_always_holds_says_nothing():
    always = [SourceSeen(f"t{i}", True, "passed", 9, always=frozenset({1, i})) for i in (0, 2)]
    proof = weigh(ORACLE, always, mutants(Kind.CUT, failed=9), Limits())
    assert proof.outcome == "refuted"
    assert [finding.what for finding in proof.findings] == [
        "place_in(apple_1, basket_1_contain_region) says nothing"
    ]


def test_with_too_few_traces_nothing_is_shown_unless_something_speaks_against_it():
    caught = mutants(Kind.CUT, failed=9)
    assert weigh(ORACLE, [], [], Limits()).outcome == "not_provable"
    assert weigh(ORACLE, sources(4), caught, Limits(min_successes=5)).outcome == "not_provable"
    assert weigh(ORACLE, sources(5), caught, Limits(min_successes=5)).outcome == "proven"
    assert weigh(ORACLE, sources(3, 1), caught, Limits(min_successes=5)).outcome == "refuted"
    assert weigh(ORACLE, [], mutants(Kind.NO_OP, passed=1), Limits()).outcome == "refuted"


@pytest.mark.parametrize("limits", [{"min_score": 0}, {"min_score": 1.1}, {"min_successes": 0}])
def test_limits_that_make_no_sense_are_refused(limits):
    with pytest.raises(UsageError):
        Limits(**limits)
