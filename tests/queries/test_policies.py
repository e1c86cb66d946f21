"""Rates of policies, their spread, and when one may be called better."""

from __future__ import annotations

import pytest

from mango_trace.queries import run_query

ONCE = "benchmark_success_once"


def records(path, name: str, **parameters):
    return run_query(path, name, parameters).records()


def chosen(path, name: str, criterion: str = ONCE, **parameters):
    return [row for row in records(path, name, **parameters) if row["criterion"] == criterion]


def total(path, criterion: str = ONCE, **parameters):
    rows = chosen(path, "policies", criterion, **parameters)
    (row,) = [row for row in rows if row["task"] == "TOTAL"]
    return row


def episodes(book, policy: str, passed: int, n: int, *, task: str = "task_a", first: int = 0, **values):
    """Episodes of which the first ``passed`` pass; initial states count from ``first``."""
    for i in range(n):
        outcome = "passed" if i < passed else "failed"
        start = {"episode": i, "init_state_id": first + i, "initial_state": f"s{first + i}"}
        name = f"{policy}-{task}-{values.get('seed', 0)}-{i}"
        book.judged(name, outcome, outcome, policy=policy, task=task, **start, **values)


def test_unpaired_rates_use_newcombe(book) -> None:  # O-83
    episodes(book, "a", 56, 70)
    episodes(book, "b", 48, 80, first=1000)
    row = total(book.close())
    assert (row["n_pairs"], row["method"], row["verdict"]) == (0, "unpaired", "A better")
    assert row["difference"] == pytest.approx(0.2)
    found = (row["difference_low"], row["difference_high"])
    assert found == pytest.approx((0.0524, 0.3339), abs=1e-4)
    assert row["mcnemar_p"] is None


def test_close_rates_are_not_separated(book) -> None:
    episodes(book, "a", 9, 10)
    episodes(book, "b", 8, 10, first=1000)
    assert total(book.close())["verdict"] == "not separated"


def test_equal_starts_are_paired(book) -> None:
    for i in range(20):
        start = {"episode": i, "init_state_id": i, "initial_state": f"s{i}"}
        book.judged(f"a{i}", *(["failed"] * 2 if i < 12 else ["passed"] * 2), policy="a", **start)
        book.judged(f"b{i}", *(["failed"] * 2 if i in (3, 15) else ["passed"] * 2), policy="b", **start)
    path = book.close()
    row = total(path)
    assert [row[key] for key in ("n_pairs", "only_a", "only_b")] == [20, 1, 11]
    assert row["mcnemar_p"] == pytest.approx(2 * 13 / 2**12)
    assert (row["method"], row["verdict"]) == ("paired", "B better")
    assert (row["difference_low"], row["difference_high"]) == (None, None)
    swapped = total(path, a="b", b="a@1")
    assert (swapped["policy_a"], swapped["verdict"]) == ("b@1", "A better")


def test_equal_ids_of_different_states_are_no_pairs(book) -> None:
    book.judged("a", "passed", "passed", policy="a", initial_state="x")
    book.judged("b", "failed", "failed", policy="b", initial_state="y")
    assert total(book.close())["n_pairs"] == 0


def test_repetitions_pair_one_to_one(book) -> None:
    for i in range(3):
        book.judged(f"a{i}", "passed", "passed", policy="a", episode=i)
        book.judged(f"b{i}", "passed", "passed", policy="b", episode=i)
    assert total(book.close())["n_pairs"] == 3


def test_other_physics_is_not_compared(book) -> None:  # O-54
    episodes(book, "a", 10, 10)
    episodes(book, "b", 0, 10, mujoco_recorded="3.9.0")
    row = total(book.close())
    assert row["verdict"] == "not comparable: physics version differs"
    assert (row["rate_a"], row["rate_b"], row["difference"]) == (1.0, 0.0, None)


def test_unknown_physics_is_not_compared(book) -> None:
    episodes(book, "a", 10, 10)
    episodes(book, "b", 0, 10, mujoco_recorded=None)
    assert total(book.close())["verdict"] == "not comparable: physics version unknown"


def test_errors_are_no_failures_and_nothing_has_no_rate(book) -> None:  # O-84
    episodes(book, "a", 5, 10)
    for i in range(10):
        book.judged(f"b{i}", "error", "error", policy="b", ended="error", ended_error="server died")
    row = total(book.close())
    assert (row["n_b"], row["errors_b"], row["failed_b"], row["rate_b"]) == (0, 10, 0, None)
    assert row["verdict"] == "not comparable: no judged episode of B"


def test_another_mix_of_tasks_is_not_pooled(book) -> None:
    episodes(book, "a", 10, 10)
    episodes(book, "a", 9, 90, task="task_b")
    episodes(book, "b", 90, 90, first=1000)
    episodes(book, "b", 1, 10, task="task_b", first=1000)
    assert total(book.close())["verdict"] == "not comparable: episodes by task differ"


def test_the_total_is_over_shared_tasks(book) -> None:
    episodes(book, "a", 5, 10)
    episodes(book, "b", 5, 10)
    episodes(book, "a", 10, 10, task="task_b")
    path = book.close()
    assert (total(path)["n_a"], total(path)["n_b"]) == (10, 10)
    alone = [row for row in chosen(path, "policies") if row["task"] == "task_b"]
    assert [row["verdict"] for row in alone] == ["not comparable: no judged episode of B"]


def test_several_oracles_must_be_chosen_from(book) -> None:
    book.oracle("b" * 64, "generated")
    episodes(book, "a", 2, 2)
    episodes(book, "b", 2, 2)
    for policy in "ab":
        for i in range(2):
            book.verdict(f"{policy}-task_a-0-{i}", "failed", oracle="b" * 64)
    path = book.close()
    assert "choose with oracle=" in total(path, "fine_grained")["verdict"]
    assert total(path, "fine_grained", oracle="generated")["rate_a"] == 0.0
    both = [row for row in chosen(path, "rates", "fine_grained") if row["task"] == "TOTAL"]
    assert [(row["n"], row["low"]) for row in both] == [(4, None), (4, None)]


def test_injected_faults_are_not_the_policys(book) -> None:
    episodes(book, "a", 3, 3)
    book.judged("x", "failed", "failed", policy="a", fault="drops@1")
    path = book.close()
    assert chosen(path, "rates")[0]["n"] == 3
    assert chosen(path, "rates", faults="true")[0]["n"] == 4


def test_one_policy_has_nobody_to_be_better_than(book) -> None:
    episodes(book, "a", 3, 3)
    row = total_or_task(book.close())
    assert (row["policy_b"], row["n_b"], row["rate_b"]) == (None, 0, None)
    assert row["verdict"] == "not comparable: only one policy"


def total_or_task(path):
    return chosen(path, "policies")[0]


def test_micro_and_macro_mean_are_labelled(book) -> None:  # O-87
    episodes(book, "a", 10, 10)
    episodes(book, "a", 10, 90, task="task_b")
    rows = {row["task"]: row for row in chosen(book.close(), "rates")}
    assert list(rows) == ["task_a", "task_b", "TOTAL", "MEAN OF TASKS"]
    assert rows["TOTAL"]["rate"] == pytest.approx(0.2)
    assert rows["MEAN OF TASKS"]["rate"] == pytest.approx(0.5556, abs=1e-4)
    assert rows["MEAN OF TASKS"]["low"] is None


def test_seeds_are_pooled_with_their_spread(book) -> None:  # O-87
    for seed, passed in enumerate((420, 431, 425)):
        episodes(book, "a", passed, 500, seed=seed)
    *seeds, pooled = chosen(book.close(), "seeds")
    assert [row["rate"] for row in seeds] == [0.84, 0.862, 0.85]
    assert (pooled["row"], pooled["passed"], pooled["n"]) == ("POOLED", 1276, 1500)
    assert pooled["rate"] == pytest.approx(0.8507, abs=1e-4)
    assert (pooled["low"], pooled["high"]) == pytest.approx((0.8317, 0.8678), abs=1e-3)
    assert [pooled[key] for key in ("seeds", "lowest", "highest")] == [3, 0.84, 0.862]
    assert pooled["deviation"] == pytest.approx(0.01102, abs=1e-5)
