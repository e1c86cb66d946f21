"""The paper's second question: the table, distances, classes and positions, samples, and who is wrong."""

from __future__ import annotations

import itertools

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mango_trace.errors import UnknownNameError
from mango_trace.queries import run_query
from mango_trace.store.sampling import stratum_of
from mango_trace.verdicts import derived
from tests.store.test_samples import run

OTHER = "b" * 64
PICK, PLACE = ("pick_up", ["bowl"]), ("place_in", ["bowl", "drawer"])


def records(path, name: str, **parameters):
    return run_query(path, name, parameters).records()


def total(path, name: str, column: str = "task", **parameters):
    (row,) = [row for row in records(path, name, **parameters) if row[column] == "TOTAL"]
    return row


def pair(book, trace_id: str, ours: str, theirs: str, *, first=None, label=None, task="task_a", **values):
    """A trace with both verdicts, its plan of two actions and a label, if one is given."""
    oracle = {"task_a": "a" * 64, "task_b": OTHER}[task]
    book.trace(trace_id, task=task, **values)
    failed = {} if first is None else {"first_failed": first, "failed_set": [first]}
    book.verdict(trace_id, ours, oracle=oracle, **failed)
    book.end(trace_id, theirs)
    for i in range(2):
        book.action(trace_id, i, "failed" if i == first else "completed", oracle=oracle)
    if label is not None:
        action, more = label
        book.label(trace_id, *action, **more)


@pytest.fixture
def table(book):
    """Numbers that can be counted by hand; see the first test."""
    book.oracle(OTHER, "task_b")
    pair(book, "tp1", "failed", "failed", first=1, label=(PLACE, {"verified": True}))
    pair(book, "tp2", "failed", "failed", first=1, label=(PICK, {"who": "ada"}))
    pair(book, "tp3", "failed", "failed", first=1, label=(PLACE, {"verified": False}))
    pair(book, "tp4", "failed", "failed", first=0)
    pair(book, "tn1", "passed", "passed")
    pair(book, "tn2", "passed", "passed")
    pair(book, "fp1", "failed", "passed", first=0, label=(PICK, {"verified": True}))
    pair(book, "fn1", "passed", "failed", label=(PICK, {"verified": True}))
    pair(book, "un1", "undetermined", "failed", label=(PICK, {}))
    pair(book, "er1", "error", "passed")
    book.trace("new")
    pair(book, "b1", "failed", "failed", first=0, label=(PICK, {}), task="task_b")
    book.sample("paper", tp1="late", tn1="success", b1="early")
    book.sample("other", tp2="early")
    return book.close()


def test_the_layout_of_table_three_by_hand(table) -> None:
    task_a, task_b, everything = records(table, "rq2")
    assert task_a == {
        "suite": "libero_10",
        "task": "task_a",
        "oracle": "a" * 12,
        "n": 8,
        "tp": 4,
        "tn": 2,
        "fp": 1,
        "fn": 1,
        "accuracy": 0.75,
        "low": pytest.approx(0.409282, abs=1e-5),
        "high": pytest.approx(0.928521, abs=1e-5),
        "precision": 0.8,
        "recall": 0.8,
        "f1": 0.8,
        "undetermined": 1,
        "errors": 1,
        "not_evaluated": 1,
        "n_labelled": 5,
        "n_unverified": 1,
        "loc_n": 2,
        "exact": 1,
        "exact_rate": 0.5,
        "exact_low": pytest.approx(0.094531, abs=1e-5),
        "exact_high": pytest.approx(0.905469, abs=1e-5),
    }
    assert [task_b[key] for key in ("task", "n", "tp", "loc_n", "exact")] == ["task_b", 1, 1, 1, 1]
    assert [everything[key] for key in ("task", "n", "tp", "loc_n", "exact")] == ["TOTAL", 9, 5, 3, 2]


def test_the_table_says_what_agreement_and_localisation_say(table) -> None:
    for sample in ("", "paper", "other"):
        rows = records(table, "rq2", sample=sample)
        for name in ("agreement", "localisation"):
            others = {(row["task"], row["oracle"]): row for row in records(table, name, sample=sample)}
            for row in rows:
                other = others.get((row["task"], row["oracle"]), {})
                shared = (row.keys() & other.keys()) - {"low", "high", "rate"}
                if name == "localisation":  # its undetermined, errors and the rest count labelled ones
                    shared &= {"n_labelled", "n_unverified"}
                assert {key: row[key] for key in shared} == {key: other[key] for key in shared}


def test_a_sample_restricts_every_query_that_takes_one(table) -> None:
    counts = ("n", "tp", "tn", "fp", "fn", "n_labelled", "loc_n", "exact")
    assert [total(table, "rq2", sample="paper")[key] for key in counts] == [3, 2, 1, 0, 0, 2, 2, 2]
    assert total(table, "agreement", sample="paper")["n"] == 3
    assert total(table, "localisation", sample="paper")["n_matched"] == 2
    assert total(table, "localisation", sample="other")["n_matched"] == 0
    assert total(table, "localisation_distance", sample="other")["distances"] == ["+1: 1"]
    assert total(table, "localisation_by_class", "failure_class", sample="paper")["n"] == 2
    assert total(table, "localisation_by_position", "position", sample="paper")["n"] == 2
    assert records(table, "disagreements", sample="paper") == []
    assert len(records(table, "disagreements")) == 2
    with pytest.raises(UnknownNameError, match="there are: other, paper"):
        records(table, "rq2", sample="nothing")


def test_with_several_oracles_a_trace_has_no_interval_of_its_own(book) -> None:
    book.oracle(OTHER, "task_a.other")
    pair(book, "t", "failed", "failed", first=0, label=(PICK, {}))
    book.verdict("t", "failed", oracle=OTHER, first_failed=0)
    book.action("t", 0, "failed", oracle=OTHER)
    path = book.close()
    row = total(path, "rq2")
    assert (row["n"], row["exact"], row["low"], row["exact_high"]) == (2, 2, None, None)
    assert total(path, "localisation_by_class", "failure_class")["low"] is None
    assert total(path, "rq2", oracle="task_a")["low"] is not None


def test_a_label_that_the_states_refute_hides_none_that_counts(book) -> None:
    pair(book, "t", "failed", "failed", first=0, label=(PLACE, {"verified": False}))
    book.label("t", *PICK, who="ada", position=1)
    path = book.close()
    row = total(path, "localisation")
    assert (row["n_labelled"], row["n_unverified"], row["n_matched"]) == (1, 0, 1)
    row = total(path, "localisation", who="injected")
    assert (row["n_labelled"], row["n_unverified"], row["n_failed"]) == (0, 1, 0)


# Distances.


def test_distances_in_actions_and_states(book) -> None:
    pair(book, "exact", "failed", "failed", first=1, label=(PLACE, {"state": 60}))
    pair(book, "later", "failed", "failed", first=1, label=(PICK, {"state": 20}))
    pair(book, "earlier", "failed", "failed", first=0, label=(PLACE, {"state": 70}), warmup_steps=5)
    pair(book, "stateless", "failed", "failed", first=0, label=(PICK, {}))
    pair(book, "outside", "failed", "failed", first=0, label=(PICK, {"state": 101}))
    pair(book, "not_in_plan", "failed", "failed", first=0, label=(("wave", []), {}))
    pair(book, "nobody", "failed", "failed", label=(PICK, {"state": 3}))
    pair(book, "missed", "passed", "failed", label=(PICK, {"state": 3}))
    for row in book.rows.by_table["actions"]:
        if row["action"] == 0 and row["outcome"] == "completed":
            row["completed_at"] = 50
    row = total(book.close(), "localisation_distance")
    assert [row[key] for key in ("n", "exact", "rate", "n_earlier", "n_later")] == [5, 3, 0.6, 1, 1]
    assert row["distances"] == ["-1: 1", "0: 3", "+1: 1"]
    assert (row["no_action"], row["not_in_plan"]) == (1, 1)
    # 50 - 60, 50 - 20 and, where nothing was complete, 5 - 70: the first evaluated state.
    assert row["n_states_known"] == 3
    assert [row[f"states_{key}"] for key in ("q1", "median", "q3")] == [-37.5, -10.0, 10.0]


def test_of_two_equal_actions_of_the_plan_the_nearest_is_meant(book) -> None:
    book.trace("t")
    book.verdict("t", "failed", first_failed=3, failed_set=[3])
    for i in range(4):
        book.action("t", i % 2, "failed", action=i)
    book.label("t", *PLACE)
    row = total(book.close(), "localisation_distance")
    assert (row["exact"], row["distances"]) == (1, ["0: 1"])


# Classes and positions.


def test_by_class_and_by_position_count_every_label_once(book) -> None:
    for i, (outcome, state, kind) in enumerate(
        [
            ("failed", 33, "misplaced"),
            ("failed", 34, "misplaced"),
            ("failed", 67, "misplaced"),
            ("failed", 68, None),
            ("passed", 100, "undone"),
            ("undetermined", None, "undone"),
            ("error", 101, "undone"),
            ("failed", -1, None),
        ]
    ):
        first = i % 2 if outcome == "failed" else None
        label = (PICK, {"state": state, "failure_class": kind})
        pair(book, f"t{i}", outcome, "failed", first=first, label=label)
    pair(book, "refuted", "failed", "failed", first=0, label=(PICK, {"state": 3, "verified": False}))
    path = book.close()
    keys = ("n_labelled", "n", "matched", "n_missed", "undetermined", "errors", "not_evaluated")
    by_class = {
        row["failure_class"]: [row[key] for key in keys] for row in records(path, "localisation_by_class")
    }
    assert by_class == {
        "misplaced": [3, 3, 2, 0, 0, 0, 0],
        "undone": [3, 0, 0, 1, 1, 1, 0],
        "unknown": [2, 2, 0, 0, 0, 0, 0],
        "TOTAL": [8, 5, 2, 1, 1, 1, 0],
    }
    # Of 101 states: 33 is early, 34 and 67 are middle, 68 is late.
    by_position = {
        row["position"]: [row[key] for key in keys] for row in records(path, "localisation_by_position")
    }
    assert list(by_position) == ["early", "middle", "late", "unknown", "TOTAL"]
    assert by_position["early"] == [1, 1, 1, 0, 0, 0, 0]
    assert by_position["middle"] == [2, 2, 1, 0, 0, 0, 0]
    assert by_position["late"] == [2, 1, 0, 1, 0, 0, 0]
    assert by_position["unknown"] == [3, 1, 0, 0, 1, 1, 0]
    assert by_position["TOTAL"] == by_class["TOTAL"]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-2, 70), st.integers(1, 60)), min_size=1, max_size=20))
def test_sql_and_the_draw_have_the_same_thirds(pairs) -> None:
    with duckdb.connect() as connection:
        derived.add_macros(connection)
        for state, n_states in pairs:
            (found,) = connection.execute("SELECT position_class(?, ?)", [state, n_states]).fetchall()[0]
            expected = stratum_of(run("x", state, n_states=n_states))
            assert found == (None if expected == "failed" else expected)


# Who is wrong.

FAILURE = (PLACE, {"verified": True})
CAUSES = [
    # ours, benchmark, evidence, label, class
    ("failed", "passed", {"reason": "too_early"}, FAILURE, "ordering"),
    ("failed", "passed", {"reason": "wrong_order"}, None, "ordering"),
    ("failed", "passed", {"reason": "undone"}, FAILURE, "undone after success"),
    ("failed", "passed", {"reason": "undone", "at_end": "failed"}, None, "undone after success"),
    ("failed", "passed", {}, FAILURE, "benchmark too lax"),
    ("failed", "passed", {}, (PLACE, {"who": "ada"}), "benchmark too lax"),
    ("failed", "passed", {"release": True}, None, "benchmark too lax"),
    ("failed", "passed", {}, (PICK, {"verified": True}), "benchmark too lax"),
    ("failed", "passed", {}, (("place_in", ["bowl", "shelf"]), {}), "benchmark too lax"),
    ("failed", "passed", {"at_end": "failed"}, None, "benchmark too lax"),
    ("failed", "passed", {"at_end": "failed"}, ((None, []), {"who": "ada"}), "oracle error"),
    ("failed", "passed", {}, ((None, []), {"who": "ada"}), "oracle error"),
    ("failed", "passed", {}, ((None, []), {"who": "injected"}), "unexplained"),
    ("failed", "passed", {}, (PLACE, {"verified": False}), "unexplained"),
    ("failed", "passed", {}, None, "unexplained"),
    ("failed", "passed", {"policy": "scripted"}, None, "unexplained"),
    ("failed", "passed", {"reason": "invariant"}, FAILURE, "benchmark too lax"),
    ("passed", "failed", {}, FAILURE, "oracle error"),
    ("passed", "failed", {}, ((None, []), {"who": "ada"}), "benchmark too strict"),
    ("passed", "failed", {}, (PICK, {"verified": False}), "unexplained"),
    ("passed", "failed", {}, None, "unexplained"),
]


def test_who_is_wrong_is_told_by_evidence_only(book) -> None:
    book.monitor("a" * 64, 1, 0, "in(bowl, drawer)")
    book.monitor("a" * 64, 1, 1, "released(bowl)")
    for i, (ours, theirs, evidence, label, _) in enumerate(CAUSES):
        trace, reason = f"t{i:02}", evidence.get("reason", "never_true")
        book.trace(trace, policy=evidence.get("policy", "pi"))
        blamed = ours == "failed" and reason != "invariant"
        first = {"first_failed": 1, "failed_set": [1]} if blamed else {}
        book.verdict(trace, ours, reason=reason if ours == "failed" else None, **first)
        book.end(trace, theirs, evidence.get("at_end"))
        for index in range(2):
            book.action(trace, index, "completed" if ours == "passed" or not index else "failed")
        if evidence.get("release"):
            book.intervals(trace, "in(bowl, drawer)", (0, 100, "true"))
            book.intervals(trace, "released(bowl)", (0, 100, "false"))
        if label is not None:
            book.label(trace, *label[0], **label[1])
    rows = records(book.close(), "disagreements")
    assert [row["cause_class"] for row in rows] == [expected for *_, expected in CAUSES]


def test_records_of_one_check_that_differ_have_no_class_of_cause(book) -> None:
    book.judged("lag", "failed", "failed", live_success=True)
    book.judged("claim", "failed", "failed", source_label=True)
    rows = records(book.close(), "disagreements")
    assert [row["cause_class"] for row in rows] == [None, None]


def test_whose_label_counts_can_be_chosen_and_a_label_adds_no_row(book) -> None:
    pair(book, "t", "failed", "passed", first=1, label=(PLACE, {"who": "ada"}))
    book.label("t", None, [], who="bo", position=1)
    path = book.close()
    found = {
        who: [row["cause_class"] for row in records(path, "disagreements", who=who)]
        for who in ("", "ada", "bo")
    }
    assert found == {"": ["benchmark too lax"], "ada": ["benchmark too lax"], "bo": ["oracle error"]}


def test_the_order_of_rows_in_the_file_does_not_matter(tmp_path) -> None:
    from tests.book import Book

    answers = []
    for order in itertools.islice(itertools.permutations(range(4)), 0, 24, 7):
        book = Book(tmp_path / f"{''.join(map(str, order))}.duckdb")
        for i in order:
            pair(book, f"t{i}", "failed", "failed", first=i % 2, label=(PICK, {"state": 20 * i}))
        path = book.close()
        names = ("rq2", "localisation_distance", "localisation_by_class", "localisation_by_position")
        answers.append([run_query(path, name).rows for name in names])
    assert all(answer == answers[0] for answer in answers)
