"""Agreement, confusion, localisation and disagreements against counts by hand."""

from __future__ import annotations

import pytest

from mango_trace.queries import run_query

OTHER = "b" * 64


def records(path, name: str, **parameters):
    return run_query(path, name, parameters).records()


def total(path, name: str, **parameters):
    (row,) = [row for row in records(path, name, **parameters) if row["task"] == "TOTAL"]
    return row


def add(book, counts: dict[tuple[str, str], int], **values) -> None:
    for (ours, theirs), n in counts.items():
        for i in range(n):
            book.judged(f"{values.get('task', 'task_a')}-{ours}-{theirs}-{i}", ours, theirs, **values)


def test_positive_class_is_failure(book) -> None:
    book.oracle(OTHER, "task_b")
    add(
        book,
        {
            ("failed", "failed"): 4,
            ("passed", "passed"): 3,
            ("failed", "passed"): 2,
            ("passed", "failed"): 1,
            ("undetermined", "passed"): 1,
            ("failed", "undetermined"): 1,
            ("error", "failed"): 1,
        },
    )
    book.trace("broken", ended="error", ended_error="server died")  # O-81
    book.verdict("broken", "failed")
    book.end("broken", "failed")
    book.trace("unread", status="error", status_error="chunk is gone")
    book.trace("new")
    book.end("new", "passed")
    book.trace("other", task="task_b")
    book.verdict("other", "passed", oracle=OTHER)
    book.end("other", "passed")
    path = book.close()
    task_a, task_b, everything = records(path, "agreement")
    assert task_a == {
        "suite": "libero_10",
        "task": "task_a",
        "oracle": "a" * 12,
        "n": 10,
        "accuracy": 0.7,
        "precision": pytest.approx(4 / 6),
        "precision_n": 6,
        "recall": pytest.approx(4 / 5),
        "recall_n": 5,
        "f1": pytest.approx(8 / 11),
        "f1_n": 11,
        "tp": 4,
        "tn": 3,
        "fp": 2,
        "fn": 1,
        "undetermined": 2,
        "errors": 3,
        "not_evaluated": 1,
    }
    assert (task_b["n"], task_b["tn"], task_b["accuracy"]) == (1, 1, 1.0)
    assert (task_b["precision"], task_b["recall"], task_b["f1"]) == (None, None, None)
    assert (everything["task"], everything["n"], everything["tn"]) == ("TOTAL", 11, 4)
    assert total(path, "agreement", oracle="task_b")["not_evaluated"] == 14
    assert total(path, "agreement", oracle="aaaa,bbbb")["n"] == 11


def test_the_papers_figures(book) -> None:
    add(book, {("failed", "failed"): 474, ("passed", "passed"): 308, ("failed", "passed"): 8})
    row = total(book.close(), "agreement")
    assert row["n"] == 790
    assert row["accuracy"] == pytest.approx(782 / 790)
    assert (row["precision"], row["recall"]) == (pytest.approx(474 / 482), 1.0)


def test_confusion_counts_every_trace_once(book) -> None:
    add(book, {("failed", "failed"): 4, ("failed", "passed"): 2, ("undetermined", "passed"): 1})
    book.trace("new")
    book.verdict("new", "passed")
    rows = {row["ours"]: row for row in records(book.close(), "confusion") if row["task"] == "TOTAL"}
    assert list(rows) == ["failed", "passed", "undetermined", "error", "not_evaluated"]
    assert (rows["failed"]["benchmark_failed"], rows["failed"]["benchmark_passed"]) == (4, 2)
    assert rows["passed"]["benchmark_not_evaluated"] == 1
    assert rows["undetermined"]["benchmark_passed"] == 1
    assert sum(row["traces"] for row in rows.values()) == 8


def failed_at(book, trace_id: str, index: int, **values) -> None:
    book.trace(trace_id)
    book.verdict(trace_id, "failed", first_failed=index, failed_set=[index], **values)
    for i in range(2):
        book.action(trace_id, i, ("completed", "failed", "not_reached")[1 + (i > index) - (i < index)])


def test_localisation_is_an_exact_match(book) -> None:
    failed_at(book, "right", 1)
    book.label("right", "place_in", ["bowl", "drawer"])
    failed_at(book, "other_action", 1)
    book.label("other_action", "pick_up", ["bowl"])
    failed_at(book, "other_arguments", 1)
    book.label("other_arguments", "place_in", ["drawer", "bowl"])
    book.trace("in_set")
    book.verdict("in_set", "failed", first_failed=0, failed_set=[0, 1])
    for i in range(2):
        book.action("in_set", i, "failed")
    book.label("in_set", "place_in", ["bowl", "drawer"])
    book.trace("invariant")
    book.verdict("invariant", "failed", reason="invariant")
    book.label("invariant", "pick_up", ["bowl"])
    for outcome in ("passed", "undetermined", "error"):
        book.trace(outcome)
        book.verdict(outcome, outcome)
        book.label(outcome, "pick_up", ["bowl"])
    failed_at(book, "unlabelled", 1)
    failed_at(book, "no_action", 1)
    book.label("no_action", None, [])
    path = book.close()
    row = total(path, "localisation")
    counts = ("n_labelled", "n_failed", "n_matched", "n_in_failed_set", "n_missed")
    assert [row[key] for key in counts] == [8, 5, 1, 2, 1]
    assert [row[key] for key in ("undetermined", "errors", "not_evaluated")] == [1, 1, 0]
    assert row["rate"] == 0.2
    assert (row["low"], row["high"]) == pytest.approx((0.036224, 0.624461), abs=1e-5)


def test_two_labels_of_one_trace_count_once(book) -> None:
    failed_at(book, "t", 0)
    book.label("t", "place_in", ["bowl", "drawer"], who="ann", position=0)
    book.label("t", "pick_up", ["bowl"], who="bob", position=1)
    path = book.close()
    assert total(path, "localisation")["n_labelled"] == 1
    assert total(path, "localisation")["n_matched"] == 0
    assert total(path, "localisation", who="bob")["n_matched"] == 1


def parted(book, trace_id: str, ours: str, theirs: str, *, end=None, trace=None, **values) -> None:
    book.trace(trace_id, **(trace or {}))
    book.verdict(trace_id, ours, **values)
    book.end(trace_id, theirs, end)


def test_disagreements_have_a_state_predicates_and_a_cause(book) -> None:
    book.monitor("e" * 64, 0, 0, "in(bowl, drawer)")
    book.monitor("e" * 64, 0, 1, "close(drawer)")
    book.monitor("a" * 64, 1, 0, "in(bowl, drawer)")
    book.monitor("a" * 64, 1, 1, "released(bowl)")
    book.monitor("a" * 64, 1, 2, "open(drawer)", negate=True)
    first_failed = {"first_failed": 1, "first_failed_action": "place_in(bowl, drawer)"}

    parted(book, "held", "failed", "passed", reason="never_true", **first_failed)
    book.intervals("held", "in(bowl, drawer)", (0, 39, "false"), (40, 100, "true"))
    book.intervals("held", "released(bowl)", (0, 100, "false"))
    book.intervals("held", "open(drawer)", (0, 39, "true"), (40, 100, "false"))

    parted(book, "early", "failed", "passed", reason="too_early", **first_failed)
    parted(book, "undone", "failed", "passed", end="failed", reason="undone", **first_failed)
    parted(book, "rule", "failed", "passed", reason="never_true", **first_failed)
    book.intervals("rule", "in(bowl, drawer)", (0, 100, "false"))
    book.intervals("rule", "released(bowl)", (0, 100, "true"))
    book.intervals("rule", "open(drawer)", (0, 100, "true"))

    parted(book, "apart", "passed", "failed", passed_at=60)
    book.intervals("apart", "in(bowl, drawer)", (0, 20, "false"), (21, 50, "true"), (51, 100, "false"))
    book.intervals("apart", "close(drawer)", (0, 59, "false"), (60, 100, "true"))
    parted(book, "never", "passed", "failed", passed_at=60)
    book.intervals("never", "in(bowl, drawer)", (0, 100, "false"))
    book.intervals("never", "close(drawer)", (0, 100, "true"))

    parted(book, "same", "passed", "passed")
    parted(book, "unknown", "undetermined", "passed")
    book.judged("lag", "failed", "failed", live_success=True, live_first_success=77)
    book.judged("claim", "failed", "failed", source_label=True)  # O-22
    rows = {(row["kind"], row["trace_id"]): row for row in records(book.close(), "disagreements")}
    ours = {key[1]: row for key, row in rows.items() if key[0] == "oracle vs benchmark"}
    assert {key: row["cause"] for key, row in ours.items()} == {
        "held": "release not asked",
        "early": "ordering",
        "undone": "undone after success",
        "rule": "never completed",
        "apart": "undone after success",
        "never": "goal never held",
    }
    assert (ours["held"]["first_state"], ours["held"]["monitors"]) == (40, ["released(bowl)"])
    assert ours["held"]["action"] == "place_in(bowl, drawer)"
    assert ours["rule"]["monitors"] == ["in(bowl, drawer)", "not open(drawer)"]
    assert (ours["apart"]["first_state"], ours["apart"]["monitors"]) == (60, ["in(bowl, drawer)"])
    live = rows["live vs recomputed", "lag"]
    assert (live["first_state"], live["cause"], live["oracle"]) == (77, "live check differs", None)
    assert rows["source label vs benchmark", "claim"]["source_label"] is True
    assert len(rows) == 8
