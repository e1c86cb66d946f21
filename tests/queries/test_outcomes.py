"""Meanings of success, funnel, progress, starts, rules and what is left out."""

from __future__ import annotations

import pytest

from mango_trace.queries import run_query
from mango_trace.verdicts import VerdictDatabase


def records(path, name: str, **parameters):
    return run_query(path, name, parameters).records()


def by(rows, key: str):
    return {row[key]: row for row in rows}


def test_success_once_and_at_end_are_told_apart(book) -> None:  # O-21, O-86
    book.trace("t")
    book.verdict("t", "passed", once="passed", at_end="failed", held_k="passed")
    book.end("t", "passed", "failed")
    path = book.close()
    rows = by([row for row in records(path, "termination") if row["task"] == "TOTAL"], "meaning")
    assert {name: (row["passed"], row["n"]) for name, row in rows.items()} == {
        "verdict": (1, 1),
        "success_once": (1, 1),
        "success_at_end": (0, 1),
        "success_held_k": (1, 1),
        "sequential": (1, 1),
        "any_order": (1, 1),
        "benchmark_success_once": (1, 1),
        "benchmark_success_at_end": (0, 1),
    }
    assert rows["success_held_k"]["hold"] == 10
    assert rows["benchmark_success_at_end"]["differs"] == 1
    (trace,) = records(path, "traces")
    assert (trace["benchmark_success_once"], trace["benchmark_success_at_end"]) == ("passed", "failed")
    assert (trace["first_success"], trace["n_states"]) == (40, 101)


def test_a_broken_recording_has_no_meaning_of_success(book) -> None:
    book.trace("t", ended="error", ended_error="server died")
    book.verdict("t", "failed")
    book.end("t", "failed")
    for row in records(book.close(), "termination"):
        assert (row["n"], row["failed"], row["errors"], row["rate"]) == (0, 0, 1, None)


def test_progress_is_no_success(book) -> None:  # O-85
    book.trace("t")
    book.verdict("t", "failed", n_actions=4, completed=2)
    book.end("t", "failed")
    row = records(book.close(), "progress")[-1]
    assert (row["task"], row["n"], row["passed"], row["passed_rate"]) == ("TOTAL", 1, 0, 0.0)
    assert row["mean_progress"] == 0.5


def test_funnel_counts_turns_and_completions(book) -> None:
    outcomes = [
        ("completed", "completed"),
        ("completed", "failed"),
        ("completed", "undetermined"),
        ("failed", "not_reached"),
    ]
    for i, pair in enumerate(outcomes):
        book.trace(f"t{i}")
        book.verdict(f"t{i}", "failed")
        for index, outcome in enumerate(pair):
            book.action(f"t{i}", index, outcome, completed_at=10 * (i + 1))
    book.action("t3", 1, "not_reached", ordering_violation=True)
    book.rows.by_table["actions"].pop(-2)
    book.trace("broken", ended="error")
    book.verdict("broken", "error")
    book.trace("new")
    pick, place = records(book.close(), "funnel")
    assert (pick["action"], place["action"]) == ("pick_up(bowl)", "place_in(bowl, drawer)")
    assert [pick[key] for key in ("n", "reached", "completed", "failed")] == [4, 4, 3, 1]
    assert [place[key] for key in ("n", "reached", "completed", "failed")] == [3, 2, 1, 1]
    assert [place[key] for key in ("undetermined", "errors", "not_evaluated")] == [1, 1, 1]
    assert (pick["completed_share"], place["reached_share"]) == (0.75, pytest.approx(2 / 3))
    assert (pick["median_state"], place["too_early"]) == (20.0, 1)


def test_starts_tell_one_state_from_many(book) -> None:  # O-16, O-18, O-19, O-20
    for i in range(5):
        book.judged(f"same{i}", "failed", "failed", init_state_id=i, episode=i, n_steps=505)
    for i in range(3):
        values = {"init_state_id": i, "initial_state": f"s{i}", "longest_demonstration": 505}
        book.judged(f"b{i}", "failed", "failed", task="task_b", n_steps=300, horizon=300, **values)
    # A policy that gives up early was not cut off by a short limit.
    values = {"initial_state": "s9", "longest_demonstration": 505}
    book.judged("gave_up", "failed", "failed", task="task_b", n_steps=120, horizon=520, **values)
    book.judged(
        "won",
        "passed",
        "passed",
        task="task_b",
        initial_state="s4",
        longest_demonstration=505,
        n_steps=120,
        ended="terminated",
    )
    book.judged(
        "rim",
        "failed",
        "failed",
        task="task_b",
        initial_state="s5",
        ended="terminated",
        premise_violations=["on(bowl, ramekin)"],
    )
    path = book.close()
    same, other = records(path, "starts")
    assert [same[key] for key in ("episodes", "distinct_initial_states")] == [5, 1]
    assert (same["distinct_init_ids"], same["duplicates"]) == (5, 4)
    assert same["warnings"] == "5 episodes, 1 distinct initial state: the effective n is smaller"
    assert (other["duplicates"], other["truncated_short"], other["shortest_cut"]) == (0, 3, 300)
    assert (other["premise_violations"], other["premises"]) == (1, ["on(bowl, ramekin)"])
    assert "init premise violated in 1" in other["warnings"]
    cut = by(records(path, "traces"), "trace_id")["b0"]
    assert (cut["truncated"], cut["cap"], cut["longest_demonstration"]) == (True, 300, 505)
    assert cut["truncated_short"] is True


def test_rules_lists_where_two_rules_differ(book) -> None:
    book.judged("t", "passed", "passed", warmup_steps=5)
    book.intervals("t", "in(a, r)", (0, 9, "false"), (10, 100, "true"))
    book.intervals(
        "t",
        "inside(a, r)",
        (0, 3, "true"),
        (4, 19, "false"),
        (20, 90, "true"),
        (91, 99, "undetermined"),
        (100, 100, "false"),
    )
    book.intervals("t", "inside(b, r)", (0, 100, "true"))
    book.intervals("t", "on(a, r)", (0, 100, "true"))
    book.intervals("t", "resting_on(a, r)", (0, 100, "true"))
    path = book.close()
    (row,) = records(path, "rules")
    assert (row["benchmark_rule"], row["geometric_rule"], row["arguments"]) == ("in", "inside", "(a, r)")
    assert [row[key] for key in ("n", "both", "only_benchmark", "only_geometric")] == [87, 71, 11, 0]
    assert (row["first_difference"], row["differ_at_end"]) == (10, True)
    assert len(records(path, "rules", all="true")) == 2


def test_errors_give_a_reason_for_everything_left_out(book) -> None:
    book.trace("unread", status="error", status_error="chunk c/3 is gone")
    book.trace("broken", ended="error", ended_error="server died")
    book.verdict("broken", "error", error="recording ended in an error: server died")
    book.trace("nan", problems=["states 3-5: NaN in qpos"])
    book.verdict("nan", "undetermined")
    book.end("nan", "undetermined")
    book.judged("fine", "passed", "passed")
    rows = records(book.close(), "errors")
    found = {(row["subject"], row["trace_id"]): (row["outcome"], row["reason"]) for row in rows}
    assert found["trace", "unread"] == ("error", "chunk c/3 is gone")
    assert found["trace", "broken"] == ("error", "recording ended in an error: server died")
    assert found["fine_grained", "nan"] == ("undetermined", "states 3-5: NaN in qpos")
    assert found["end_state", "nan"] == ("undetermined", "states 3-5: NaN in qpos")
    assert not [key for key in found if key[1] == "fine"]


def test_problems_are_those_of_the_latest_run(book) -> None:
    book.problems = [("bad.json", "no region 'basket'")]
    path = book.close()
    assert [row["message"] for row in records(path, "problems")] == ["no region 'basket'"]
    with VerdictDatabase(path) as database:
        database.finish_run(database.start_run("1/test", "3.3.7", "report"), 0, 0)
    assert records(path, "problems") == []
    assert len(records(path, "problems", run="1")) == 1


def test_only_the_latest_evaluator_counts(book) -> None:
    book.judged("t", "failed", "failed")
    book.verdict("t", "passed", evaluator="2/test")
    book.end("t", "passed", evaluator="2/test")
    path = book.close()
    with VerdictDatabase(path) as database:
        database.start_run("2/test", "3.4.0", "report")
        database.start_run("3/test", "3.5.0", "report")  # interrupted before it left anything
    assert records(path, "agreement")[-1]["tn"] == 1
    assert records(path, "agreement", evaluator="1/test")[-1]["tp"] == 1


def test_order_mode_chooses_the_verdicts(book) -> None:
    book.judged("t", "passed", "passed")
    book.verdict("t", "failed", order_mode="strict")
    path = book.close()
    assert records(path, "agreement")[-1]["tn"] == 1
    assert records(path, "agreement", order_mode="strict")[-1]["fp"] == 1


def test_oracles_lists_digests(book) -> None:
    book.monitor("a" * 64, 0, 0, "in(a, r)")
    book.judged("t", "passed", "passed")
    fine, goal = records(book.close(), "oracles")
    assert (fine["oracle"], fine["monitors"], fine["n_verdicts"]) == ("a" * 64, ["in(a, r)"], 1)
    assert (goal["kind"], goal["n_verdicts"]) == ("end_state", 1)


def test_two_oracles_of_a_task_are_held_against_each_other(book) -> None:
    book.oracle("b" * 64, "task_a_strict")
    outcomes = [("passed", "passed"), ("passed", "failed"), ("passed", "failed"), ("failed", "failed")]
    outcomes += [("failed", "undetermined"), ("passed", "error")]
    for index, (ours, strict) in enumerate(outcomes):
        trace = book.trace(f"t{index}")
        book.verdict(trace, ours)
        book.verdict(trace, strict, oracle="b" * 64)
    [pair] = records(book.close(), "oracle_pairs")
    assert (pair["oracle"], pair["other"]) == ("a" * 12, "b" * 12)
    counts = ("n", "both_passed", "only_oracle", "only_other", "both_failed", "undecided")
    assert [pair[name] for name in counts] == [4, 1, 2, 0, 1, 2]
