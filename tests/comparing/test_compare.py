"""Two policies compared: what is paired, what is refused, what does not matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mango_trace.comparing import Question, Terms, compare_policies
from mango_trace.comparing.result import Row
from mango_trace.errors import UnknownNameError, UsageError
from mango_trace.queries import run_query

AB = Question("a", "b")
UNPAIRED = Terms(unpaired=True)


def run(book, policy: str, outcomes: str, *, task: str = "task_a", first: int = 0, **values) -> None:
    """Episodes of a policy, one a letter: passed, failed, undetermined, error."""
    words = {"p": "passed", "f": "failed", "u": "undetermined", "e": "error"}
    for i, letter in enumerate(outcomes, first):
        start = {"episode": i, "init_state_id": i, "initial_state": f"s{i}", "task": task} | values
        if letter == "e":
            start |= {"ended": "error", "ended_error": "server died"}
        name = f"{policy}-{task}-{values.get('seed', 0)}-{i}"
        book.judged(name, words[letter], words[letter], policy=policy, **start)


def kinds(comparison) -> set[str]:
    return {obstacle.kind for obstacle in comparison.obstacles}


def test_pairs_are_compared_by_mcnemar(book) -> None:
    run(book, "a", "p" * 8 + "f" * 12)
    run(book, "b", "p" * 7 + "f" + "p" * 11 + "f")
    total = compare_policies(book.close(), AB).total
    assert (total.verdict, total.method, total.n_pairs) == ("B better", "paired", 20)
    assert (total.only_a, total.only_b) == (1, 11)
    assert total.p == pytest.approx(2 * 13 / 2**12)
    assert total.difference == pytest.approx(-0.5)
    assert (total.a.n, total.a.passed, total.b.passed) == (20, 8, 18)
    assert total.interval is not None
    assert total.interval[0] < -0.5 < total.interval[1] < 0


@pytest.mark.parametrize(  # O-83
    ("a", "b", "verdict", "bounds"),
    [
        ("p" * 56 + "f" * 14, "p" * 48 + "f" * 32, "A better", (0.0524, 0.3339)),
        ("p" * 9 + "f", "p" * 3 + "f" * 7, "A better", (0.1705, 0.8090)),
    ],
)
def test_unpaired_rates_are_compared_by_newcombe(book, a, b, verdict, bounds) -> None:
    run(book, "a", a)
    run(book, "b", b, first=1000)
    path = book.close()
    total = compare_policies(path, AB, UNPAIRED).total
    assert (total.verdict, total.method, total.n_pairs) == (verdict, "unpaired", None)
    assert total.interval == pytest.approx(bounds, abs=1e-4)
    rows = run_query(path, "policies", {"a": "a", "b": "b"}).records()
    (row,) = [one for one in rows if one["task"] == "TOTAL" and one["criterion"] == "fine_grained"]
    assert (row["verdict"], row["difference_low"]) == (verdict, pytest.approx(bounds[0], abs=1e-4))


def test_equal_policies_are_not_separated(book) -> None:
    run(book, "a", "ppffp")
    run(book, "b", "ppffp")
    path = book.close()
    for terms in (Terms(), UNPAIRED):
        total = compare_policies(path, AB, terms).total
        assert (total.verdict, total.difference, total.p) == ("not separated", 0.0, 1.0)
    assert compare_policies(path, AB).total.detectable is None  # five pairs show nothing


def fill(book, order: Callable[[list], list] = list) -> None:
    calls = [
        lambda: run(book, "a", "ppppppppfp"),
        lambda: run(book, "b", "fffffpffff"),
        lambda: run(book, "a", "pfpf", task="task_b"),
        lambda: run(book, "b", "fppf", task="task_b"),
    ]
    for call in order(calls):
        call()


def mirrored(row: Row) -> Row:
    flipped = {"A better": "B better", "B better": "A better"}
    return replace(
        row,
        verdict=flipped.get(row.verdict, row.verdict),
        a=row.b,
        b=row.a,
        difference=None if row.difference is None else -row.difference,
        interval=None if row.interval is None else (-row.interval[1], -row.interval[0]),
        only_a=row.only_b,
        only_b=row.only_a,
    )


def numbers(row: Row) -> list[float]:
    return [*(row.interval or ()), row.difference or 0, row.p or 0, row.p_holm or 0, row.detectable or 0]


@pytest.mark.parametrize("terms", [Terms(), UNPAIRED])
def test_swapping_mirrors_the_result(book, terms: Terms) -> None:
    fill(book)
    path = book.close()
    one, other = compare_policies(path, AB, terms), compare_policies(path, Question("b", "a"), terms)
    for row, swapped in zip((one.total, *one.tasks), (other.total, *other.tasks), strict=True):
        expected = mirrored(swapped)
        assert numbers(row) == pytest.approx(numbers(expected), abs=1e-9)
        assert (row.task, row.verdict, row.a, row.b, row.only_a) == (
            expected.task,
            expected.verdict,
            expected.a,
            expected.b,
            expected.only_a,
        )
    assert one.total.verdict == "A better"


def test_the_order_of_rows_does_not_matter(tmp_path) -> None:
    from tests.book import Book

    found = []
    for name, order in (("x", list), ("y", lambda calls: calls[::-1])):
        book = Book(tmp_path / f"{name}.duckdb")
        fill(book, order)
        found.append(compare_policies(book.close(), AB))
    assert found[0] == found[1]


@pytest.mark.parametrize("letter", "eu")
@pytest.mark.parametrize("terms", [Terms(), UNPAIRED])
def test_a_rollout_that_is_not_judged_changes_coverage_alone(tmp_path, letter: str, terms: Terms) -> None:
    from tests.book import Book

    found = []
    for extra in (False, True):
        book = Book(tmp_path / f"{extra}.duckdb")
        fill(book)
        if extra:  # from a start that has a pair already, and before it
            start = {"init_state_id": 0, "initial_state": "s0", "horizon": 7, "mujoco_recorded": "3.9.0"}
            run(book, "a", letter, first=-1, **start)
        found.append(compare_policies(book.close(), AB, terms))
    plain, more = found
    assert (more.total, more.tasks, more.first_failed) == (plain.total, plain.tasks, plain.first_failed)
    assert more.obstacles == plain.obstacles == ()
    before, after = plain.coverage[0], more.coverage[0]
    assert (after.rollouts, after.judged, after.compared) == (
        before.rollouts + 1,
        before.judged,
        before.compared,
    )
    assert (after.errors, after.undetermined) == ((1, 0) if letter == "e" else (0, 1))


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (
            {"initial_state": "other"},
            "initial_state",
            "initial state differs in 1 of 4 pairs, first in init state 3",
        ),
        ({"horizon": 300}, "horizon", "A 100, B 300"),
        ({"mujoco_recorded": "3.9.0"}, "physics", "A 3.3.7, B 3.9.0"),  # O-54
        ({"mujoco_recorded": None}, "physics", "B unknown"),
        ({"scene": "other"}, "scene", "A s, B other"),
    ],
)
def test_pairs_that_are_not_alike_are_refused(book, values, kind: str, message: str) -> None:
    run(book, "a", "pppp")
    run(book, "b", "fff")
    run(book, "b", "f", first=3, **values)
    path = book.close()
    found = compare_policies(path, AB)
    assert found.total.verdict == "not comparable"
    assert [row.verdict for row in found.tasks] == ["not comparable"]
    assert kinds(found) == {kind}
    assert message in str(found.obstacles[0])
    assert "libero_10 task_a" in str(found.obstacles[0])
    assert (found.total.difference, found.total.p, found.total.interval) == (None, None, None)
    unpaired = compare_policies(path, AB, UNPAIRED)
    assert kinds(unpaired) == ({kind} - {"initial_state"})
    if kind != "initial_state":
        assert compare_policies(path, AB, Terms(allowed=(kind,))).total.verdict == "not separated"


def test_steps_beyond_the_others_limit_are_another_horizon(book) -> None:
    ended = {"ended": "terminated", "n_steps": 90, "n_states": 91}
    run(book, "a", "pp", horizon=90, **ended)
    run(book, "b", "ff", horizon=80)
    path = book.close()
    assert "A 90, B 80" in str(compare_policies(path, AB).obstacles[0])


def test_a_success_before_the_limit_says_nothing_of_it(book) -> None:
    run(book, "a", "pp", horizon=70, ended="terminated", n_steps=70, n_states=71)
    run(book, "b", "ff", horizon=80)
    assert compare_policies(book.close(), AB).obstacles == ()


def test_a_task_that_one_lacks_is_in_the_way_of_pairs(book) -> None:
    run(book, "a", "pp")
    run(book, "b", "ff")
    run(book, "a", "pp", task="task_b")
    run(book, "b", "ee", task="task_b")
    path = book.close()
    found = compare_policies(path, AB)
    assert str(found.obstacles[0]) == "libero_10 task_b: policy B has 2 rollouts, none of them judged"
    assert found.total.verdict == "not comparable"
    assert compare_policies(path, replace(AB, tasks=("task_a",))).obstacles == ()
    unpaired = compare_policies(path, AB, UNPAIRED)
    assert (unpaired.obstacles, unpaired.total.a.n) == ((), 2)
    assert any("left out: libero_10 task_b" in note for note in unpaired.notes)


def test_nothing_that_pairs_says_what_differs(book) -> None:
    run(book, "a", "pp")
    run(book, "b", "ff", seed=7)
    path = book.close()
    (obstacle,) = compare_policies(path, AB).obstacles
    assert "seed of A 0, of B 7" in str(obstacle)
    total = compare_policies(path, AB, Terms(any_seed=True)).total
    assert (total.n_pairs, total.only_a) == (2, 2)


def test_other_initial_states_do_not_pair(book) -> None:
    run(book, "a", "pp")
    run(book, "b", "ff", first=10)
    (obstacle,) = compare_policies(book.close(), AB).obstacles
    assert "initial states of A 0, 1, of B 10, 11" in str(obstacle)


def test_without_ids_episodes_pair_by_their_index(book) -> None:
    run(book, "a", "pp", init_state_id=None)
    run(book, "b", "ff", init_state_id=None, first=1)
    found = compare_policies(book.close(), AB)
    assert (found.total.n_pairs, found.total.only_a) == (1, 1)
    assert "A: 1 judged rollouts have no partner and are not compared" in found.notes


def test_verdicts_of_another_evaluator_are_named(book) -> None:
    run(book, "a", "pp")
    for i in range(2):
        name = book.trace(f"b{i}", policy="b", episode=i, init_state_id=i, initial_state=f"s{i}")
        book.verdict(name, "failed", evaluator="1/old")
    found = compare_policies(book.close(), AB)
    assert "evaluator" in kinds(found)
    assert "2 rollouts of B were judged by 1/old, not by 1/test" in str(found.obstacles[0])


def test_several_oracles_must_be_chosen_from(book) -> None:
    book.oracle("b" * 64, "generated")
    run(book, "a", "pp")
    run(book, "b", "pp")
    for name in ("a-task_a-0-0", "b-task_a-0-1"):
        book.verdict(name, "failed", oracle="b" * 64)
    path = book.close()
    assert kinds(compare_policies(path, AB)) == {"oracles"}
    assert compare_policies(path, replace(AB, oracle="task_a")).obstacles == ()
    assert compare_policies(path, replace(AB, meaning="benchmark_success_once")).total.a.n == 2


def test_the_meaning_of_success_is_chosen(book) -> None:  # O-86
    for policy in "ab":
        name = book.trace(f"{policy}0", policy=policy)
        book.verdict(name, "passed", at_end="failed", hold=5 if policy == "a" else 10)
        book.end(name, "passed", "failed")
    path = book.close()
    passed = {
        meaning: compare_policies(path, replace(AB, meaning=meaning)).total.a.passed
        for meaning in ("verdict", "success_once", "success_at_end", "benchmark_success_once")
    }
    assert passed == {"verdict": 1, "success_once": 1, "success_at_end": 0, "benchmark_success_once": 1}
    held = compare_policies(path, replace(AB, meaning="success_held_k"))
    assert "5, 10" in str(held.obstacles[0])
    with pytest.raises(UnknownNameError, match="success_at_end"):
        compare_policies(path, replace(AB, meaning="success"))


def test_what_failed_first_is_counted(book) -> None:
    book.oracle("b" * 64, "task_b")
    for policy, actions in (
        ("a", ["pick_up(bowl)"] * 3),
        ("b", ["pick_up(bowl)", "place_in(bowl, box)", None]),
    ):
        for i, action in enumerate(actions):
            start = {"episode": i, "init_state_id": i, "initial_state": f"s{i}"}
            name = book.trace(f"{policy}{i}", policy=policy, **start)
            book.verdict(name, "failed", first_failed_action=action)
    found = compare_policies(book.close(), AB)
    rows = {(row.task, row.action): (row.share_a, row.share_b) for row in found.first_failed}
    task = ("libero_10", "task_a")
    third = pytest.approx(1 / 3)
    assert rows == {
        (None, "pick_up"): (1.0, third),
        (None, "place_in"): (0.0, third),
        (None, "no single action"): (0.0, third),
        (task, "pick_up(bowl)"): (1.0, third),
        (task, "place_in(bowl, box)"): (0.0, third),
        (task, "no single action"): (0.0, third),
    }


def test_tasks_are_judged_by_holm(book) -> None:
    for index, name in enumerate(("t0", "t1", "t2")):
        n = 6 + index
        run(book, "a", "p" * n, task=name)
        run(book, "b", "f" * n, task=name)
    found = compare_policies(book.close(), AB)
    by_task = {row.task[1]: row for row in found.tasks if row.task}
    assert [by_task[name].p for name in ("t0", "t1", "t2")] == pytest.approx([1 / 32, 1 / 64, 1 / 128])
    assert [by_task[name].p_holm for name in ("t0", "t1", "t2")] == pytest.approx([1 / 32, 1 / 32, 3 / 128])
    assert {row.verdict for row in found.tasks} == {"A better"}
    assert found.total.p_holm is None
    assert found.mean_of_tasks == (1.0, 0.0)


def test_one_small_p_among_many_tasks_is_not_enough(book) -> None:
    for name in ("t0", "t1"):
        run(book, "a", "pppppp" if name == "t0" else "pfpfpf", task=name)
        run(book, "b", "ffffff" if name == "t0" else "pfpfpf", task=name)
    found = compare_policies(book.close(), AB)
    first, second = found.tasks
    assert (first.p, first.p_holm, first.verdict) == (1 / 32, 1 / 16, "not separated")
    assert (second.p, second.verdict) == (1.0, "not separated")


def test_another_mix_of_tasks_is_not_pooled(book) -> None:  # O-87
    run(book, "a", "p" * 10)
    run(book, "a", "p" * 9 + "f" * 81, task="task_b")
    run(book, "b", "p" * 90, first=1000)
    run(book, "b", "p" + "f" * 9, task="task_b", first=1000)
    assert kinds(compare_policies(book.close(), AB, UNPAIRED)) == {"mix"}


def test_micro_and_macro_mean_differ(book) -> None:  # O-87
    for policy in "ab":
        run(book, policy, "p" * 10)
        run(book, policy, "p" * 10 + "f" * 80, task="task_b")
    found = compare_policies(book.close(), AB)
    assert found.total.a.rate == pytest.approx(0.2)
    assert found.mean_of_tasks == pytest.approx((0.5556, 0.5556), abs=1e-4)


def test_starts_that_repeat_are_noted(book) -> None:  # O-19
    for policy in "ab":
        run(book, policy, "p" * 50, init_state_id=0, initial_state="s0")
    found = compare_policies(book.close(), AB)
    assert found.total.n_pairs == 50
    assert "A: 50 rollouts, 1 distinct initial state: the effective n is smaller" in found.notes


def test_nothing_that_ran_has_no_rate(book) -> None:  # O-84
    run(book, "a", "eee")
    run(book, "b", "eee")
    found = compare_policies(book.close(), AB)
    assert (found.total.a.rate, found.total.a.interval, found.total.difference) == (None, None, None)
    assert found.total.verdict == "not comparable"
    assert [one.errors for one in found.coverage[:2]] == [3, 3]


def test_names_of_policies(book) -> None:
    run(book, "a", "p")
    run(book, "b", "p")
    book.judged("b2", "passed", "passed", policy="b", policy_version="2", initial_state="s0")
    book.judged("x", "failed", "failed", policy="x", fault="drops@1")
    path = book.close()
    with pytest.raises(UsageError, match="say which: b@1, b@2"):
        compare_policies(path, AB)
    assert compare_policies(path, Question("b@1", "b@2")).total.n_pairs == 1
    with pytest.raises(UsageError, match="same policy, a@1"):
        compare_policies(path, Question("a", "a@1"))
    with pytest.raises(UnknownNameError, match="a@1"):
        compare_policies(path, Question("a", "nobody"))
    with pytest.raises(UsageError, match="--faults"):
        compare_policies(path, Question("a", "x"))
    with pytest.raises(UsageError, match="there are: task_a"):
        compare_policies(path, Question("a", "b@1", tasks=("task_z",)))


def test_faults_pair_with_the_same_fault(book) -> None:
    for policy in "ab":
        run(book, policy, "pp")
        book.judged(f"{policy}x", "failed", "failed", policy=policy, initial_state="s0", fault="drops@1")
    path = book.close()
    assert compare_policies(path, AB).total.n_pairs == 2
    assert compare_policies(path, replace(AB, faults=True)).total.n_pairs == 3
