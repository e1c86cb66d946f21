"""Laws of the temporal semantics, against references that are written another way."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mango_trace.oracle import CompiledAction, CompiledMonitor, CompiledOracle, Group
from mango_trace.oracle import decide as decide_module
from mango_trace.oracle.model import FineGrainedOracle, Mode
from mango_trace.oracle.semantics import Judgement, judge, termination
from mango_trace.predicates.signature import Predicate
from mango_trace.truth import FALSE, TRUE, UNDETERMINED, Truth

Bits = Mapping[str, Sequence[int]]
DOCUMENT = FineGrainedOracle.model_construct()


def monitor(text: str) -> CompiledMonitor:
    """``"a"`` or ``"not a"``."""
    name = text.removeprefix("not ")
    predicate = Predicate(name, (), "", "test", evaluate=lambda: None)
    return CompiledMonitor(predicate, (), text.startswith("not "))


def build(
    root: Group,
    actions: Sequence[tuple[Sequence[str], int, bool]],
    never: Sequence[str] = (),
) -> CompiledOracle:
    """Build an oracle from monitors written as text, hold and at_end of each action."""
    texts = list(dict.fromkeys([t for texts, _, _ in actions for t in texts] + list(never)))
    compiled = tuple(
        CompiledAction(i, 1, f"do_{i}", ("x",), tuple(map(texts.index, ts)), hold, at_end)
        for i, (ts, hold, at_end) in enumerate(actions)
    )
    return CompiledOracle(
        "test",
        "0" * 64,
        DOCUMENT,
        tuple(map(monitor, texts)),
        compiled,
        root,
        tuple(map(texts.index, never)),
    )


def chain(*texts: str, mode: str = "sequential") -> CompiledOracle:
    """One group of actions with one monitor each."""
    group = Group("sequential" if mode == "sequential" else "any_order", tuple(range(len(texts))))
    return build(Group("sequential", (group,)), [((t,), 1, False) for t in texts])


def feed(oracle: CompiledOracle, calls: Bits) -> list[Truth]:
    """Truth of each monitor from 0/1/2 of each call."""
    arrays = {name: np.array(values, np.uint8) for name, values in calls.items()}
    return [m.apply(arrays[m.predicate.name]) for m in oracle.monitors]


def run(oracle: CompiledOracle, order: str = "report", start: int = 0, **calls: str) -> Judgement:
    """Judge calls that are written as text: ``.`` false, ``?`` undetermined, ``#`` true."""
    bits = {name: [".?#".index(letter) for letter in text] for name, text in calls.items()}
    return judge(
        oracle,
        feed(oracle, bits),
        start=start,
        order="strict" if order == "strict" else "report",
    )


# ---------------------------------------------------------------- references


class Automaton:
    """Two-valued reference: looks at one state after the other."""

    def __init__(self, oracle: CompiledOracle, bits: Bits) -> None:
        self.oracle, self.bits = oracle, bits
        self.length = len(next(iter(bits.values())))
        count = len(oracle.actions)
        self.done: list[int | None] = [None] * count
        self.streak = [0] * count
        self.turn: list[int | None] = [None] * count
        self.pointer: dict[int, int] = {}
        self.time = 0
        self.completed: int | None = None
        for t in range(self.length):
            self.time = t
            if self.completed is None and self.tick(oracle.root):
                self.completed = t

    def literal(self, index: int, t: int) -> bool:
        m = self.oracle.monitors[index]
        return (self.bits[m.predicate.name][t] == 2) != m.negate

    def holds(self, i: int, t: int) -> bool:
        return all(self.literal(m, t) for m in self.oracle.actions[i].monitors)

    def tick(self, node: Group | int) -> bool:
        """One state; whether the node is complete at it."""
        if isinstance(node, int):
            if self.done[node] is not None:
                return True
            if self.turn[node] is None:
                self.turn[node] = self.time
            self.streak[node] = self.streak[node] + 1 if self.holds(node, self.time) else 0
            if self.streak[node] < self.oracle.actions[node].hold:
                return False
            self.done[node] = self.time
            return True
        if node.mode == "any_order":
            return all([self.tick(child) for child in node.children])  # noqa: C419  every child ticks
        at = self.pointer.get(id(node), 0)
        if at < len(node.children) and self.tick(node.children[at]):
            at += 1
            self.pointer[id(node)] = at
        return at == len(node.children)

    def counts(self, i: int) -> bool:
        ends = not self.oracle.actions[i].at_end or self.holds(i, self.length - 1)
        return self.done[i] is not None and ends

    def violation(self, i: int) -> bool:
        before = self.predecessor(self.oracle.root, i)
        if before is None:
            return False
        times = [self.done[j] for j in before]
        c = self.length + 1 if None in times else max(t for t in times if t is not None)
        done = self.done[i]
        if done is not None:
            edge = done
            while edge > 0 and self.holds(i, edge - 1):
                edge -= 1
            return 0 < edge < c
        return any(self.holds(i, t) and not self.holds(i, t - 1) for t in range(1, min(c, self.length)))

    def predecessor(self, node: Group | int, i: int, before: list[int] | None = None) -> list[int] | None:
        if isinstance(node, int):
            return before
        for child in node.children:
            if i in leaves(child):
                return self.predecessor(child, i, before)
            if node.mode == "sequential":
                before = leaves(child)
        raise AssertionError

    def passes(self, order: str) -> bool:
        actions = range(len(self.oracle.actions))
        if any(self.literal(m, t) for m in self.oracle.never for t in range(self.length)):
            return False
        if order == "strict" and any(map(self.violation, actions)):
            return False
        return self.completed is not None and all(map(self.counts, actions))


def leaves(node: Group | int) -> list[int]:
    return [node] if isinstance(node, int) else [i for c in node.children for i in leaves(c)]


def declared(oracle: CompiledOracle, bits: Bits) -> bool:
    """Whether *any* choice of completion times fits, earliest or not (report order)."""
    automaton = Automaton(oracle, bits)
    times = range(automaton.length)

    def fits(node: Group | int, after: int, chosen: Sequence[int]) -> bool:
        if isinstance(node, int):
            first = chosen[node] - oracle.actions[node].hold + 1
            return first > after and all(automaton.holds(node, t) for t in range(first, chosen[node] + 1))
        for child in node.children:
            if not fits(child, after, chosen):
                return False
            if node.mode == "sequential":
                after = max(chosen[i] for i in leaves(child))
        return True

    ends = all(automaton.holds(a.index, automaton.length - 1) for a in oracle.actions if a.at_end)
    clean = not any(automaton.literal(m, t) for m in oracle.never for t in times)
    choices = itertools.product(times, repeat=len(oracle.actions))
    return ends and clean and any(fits(oracle.root, -1, chosen) for chosen in choices)


def assignments(bits: Bits) -> Iterator[dict[str, list[int]]]:
    unknown = [(name, t) for name, row in bits.items() for t, v in enumerate(row) if v == 1]
    for values in itertools.product((0, 2), repeat=len(unknown)):
        full = {name: list(row) for name, row in bits.items()}
        for (name, t), value in zip(unknown, values, strict=True):
            full[name][t] = value
        yield full


def agreed(answers: set[bool]) -> str:
    return "undetermined" if len(answers) == 2 else "passed" if answers.pop() else "failed"


# ---------------------------------------------------------------- strategies

NAMES = ("a", "b", "c")
SEQUENTIAL: Mode = "sequential"
ANY_ORDER: Mode = "any_order"
MODES = st.sampled_from((SEQUENTIAL, ANY_ORDER))


@st.composite
def oracles(draw: st.DrawFn, *, positive: bool = False) -> CompiledOracle:
    sizes = draw(st.lists(st.integers(1, 2), min_size=1, max_size=3).filter(lambda s: sum(s) <= 4))
    actions = []
    for _ in range(sum(sizes)):
        names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True))
        texts = [f"not {n}" if not positive and draw(st.booleans()) else n for n in names]
        actions.append((texts, draw(st.sampled_from((1, 1, 2))), draw(st.integers(0, 4)) == 0))
    counter = itertools.count()
    groups = tuple(Group(draw(MODES), tuple(next(counter) for _ in range(n))) for n in sizes)
    used = {t for texts, _, _ in actions for t in texts}
    free = [t for n in NAMES for t in (n, f"not {n}") if t not in used]
    never = [draw(st.sampled_from(free))] if not positive and free and draw(st.integers(0, 4)) == 0 else []
    return build(Group(draw(MODES), groups), actions, never)


@st.composite
def traces(draw: st.DrawFn, *, most: int = 5, unknown: int = 6) -> dict[str, list[int]]:
    length = draw(st.integers(1, most))
    row = st.lists(st.sampled_from((0, 2)), min_size=length, max_size=length)
    bits = {name: draw(row) for name in NAMES}
    if unknown:
        place = st.tuples(st.sampled_from(NAMES), st.integers(0, length - 1))
        for name, t in draw(st.lists(place, max_size=unknown)):
            bits[name][t] = 1
    return bits


# ---------------------------------------------------------------- laws


@settings(max_examples=100, deadline=None)
@given(oracles(), traces(most=9, unknown=0), st.sampled_from(("report", "strict")))
def test_equals_the_automaton_where_all_is_known(
    oracle: CompiledOracle, bits: dict[str, list[int]], order: str
) -> None:
    want = Automaton(oracle, bits)
    got = judge(oracle, feed(oracle, bits), start=0, order=order)  # type: ignore[arg-type]
    assert got.outcome == ("passed" if want.passes(order) else "failed")
    assert got.passed_at == (want.completed if want.passes(order) else None)
    assert [a.completed_at for a in got.actions] == want.done
    assert [a.started_at for a in got.actions] == [
        # The automaton has no state after the last one, where a turn may begin.
        t if t is not None else a.started_at
        for t, a in zip(want.turn, got.actions, strict=True)
    ]
    assert all(
        a.started_at in (None, len(bits["a"]))
        for t, a in zip(want.turn, got.actions, strict=True)
        if t is None
    )
    violations = [want.violation(i) for i in range(len(oracle.actions))]
    assert [a.ordering_violation for a in got.actions] == violations
    assert [a.too_early_at is not None for a in got.actions] == violations
    assert got.violations == sum(violations)
    counted = [want.counts(i) and not (order == "strict" and violations[i]) for i in range(len(violations))]
    assert [a.outcome == "completed" for a in got.actions] == counted
    assert got.progress == sum(counted)
    for action in got.actions:
        held = [t for t in range(want.length) if want.holds(action.index, t)]
        assert action.first_true == (held[0] if held else None)
        assert action.last_true == (held[-1] if held else None)
        assert action.held_at_end == want.holds(action.index, want.length - 1)
        text = "".join("#" if t in held else "." for t in range(want.length))
        assert action.longest_run == max(map(len, text.split(".")))
    if got.outcome == "failed" and not all(counted):
        assert got.first_failed == counted.index(False)
        assert got.first_failed in got.failed_set
        assert got.reason not in (None, "invariant")
    else:
        assert got.first_failed is None
        assert got.reason == ("invariant" if got.outcome == "failed" else None)


@settings(max_examples=40, deadline=None)
@given(oracles(), traces(most=5, unknown=0))
def test_earliest_match_equals_any_match(oracle: CompiledOracle, bits: dict[str, list[int]]) -> None:
    got = judge(oracle, feed(oracle, bits), start=0)
    assert (got.outcome == "passed") == declared(oracle, bits)


@settings(max_examples=100, deadline=None)
@given(oracles(), traces())
def test_report_outcome_is_exact_over_all_assignments(
    oracle: CompiledOracle, bits: dict[str, list[int]]
) -> None:
    got = judge(oracle, feed(oracle, bits), start=0)
    readings = [Automaton(oracle, full) for full in assignments(bits)]
    assert got.outcome == agreed({reading.passes("report") for reading in readings})
    assert (got.reason is None) or got.outcome == "failed"
    assert got.reason != "wrong_order"
    for action in got.actions:
        i = action.index
        status = {"completed": "passed", "not_reached": "failed"}.get(action.outcome, action.outcome)
        assert status == agreed({reading.counts(i) for reading in readings})
        found = {reading.violation(i) for reading in readings}
        assert action.ordering_violation is None or found == {action.ordering_violation}


@settings(max_examples=60, deadline=None)
@given(oracles(), traces())
def test_strict_outcome_is_exact_with_few_unknowns(
    oracle: CompiledOracle, bits: dict[str, list[int]]
) -> None:
    got = judge(oracle, feed(oracle, bits), start=0, order="strict")
    readings = [Automaton(oracle, full) for full in assignments(bits)]
    assert got.outcome == agreed({reading.passes("strict") for reading in readings})
    for action in got.actions:
        found = {reading.violation(action.index) for reading in readings}
        assert action.ordering_violation == (found.pop() if len(found) == 1 else None)


@settings(max_examples=60, deadline=None)
@given(oracles(), traces(unknown=7), st.sampled_from(("report", "strict")))
def test_bounds_alone_are_on_the_safe_side(
    oracle: CompiledOracle, bits: dict[str, list[int]], order: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decide_module, "EXACT_UNKNOWNS", 0)
        got = judge(oracle, feed(oracle, bits), start=0, order=order)  # type: ignore[arg-type]
    readings = [Automaton(oracle, full) for full in assignments(bits)]
    answers = {reading.passes(order) for reading in readings}
    assert got.outcome == "undetermined" or got.outcome == agreed(answers)
    for action in got.actions:
        found = {reading.violation(action.index) for reading in readings}
        assert action.ordering_violation is None or found == {action.ordering_violation}


@settings(max_examples=40, deadline=None)
@given(oracles(), traces())
def test_termination_table_is_exact(oracle: CompiledOracle, bits: dict[str, list[int]]) -> None:
    got = termination(oracle, feed(oracle, bits), 0, 2)
    every = tuple(range(len(oracle.actions)))
    texts = [[oracle.monitors[m].key.replace("()", "") for m in a.monitors] for a in oracle.actions]
    sides = [(t, 1, False) for t in texts]
    one = [(sorted({t for ts in texts for t in ts}), 1, False)]
    rows = {
        "once": build(Group("sequential", (0,)), one),
        "held_k": build(Group("sequential", (0,)), [(one[0][0], 2, False)]),
        "at_end": build(Group("sequential", (0,)), [(one[0][0], 1, True)]),
        "sequential": build(Group("sequential", every), sides),
        "any_order": build(Group("any_order", every), sides),
    }
    for name, wanted in rows.items():
        answers = {Automaton(wanted, full).passes("report") for full in assignments(bits)}
        assert getattr(got, name) == agreed(answers), name


@settings(max_examples=40, deadline=None)
@given(oracles(), traces(most=8))
def test_sequential_pass_implies_any_order_pass(oracle: CompiledOracle, bits: dict[str, list[int]]) -> None:
    def loosen(node: Group | int) -> Group | int:
        return node if isinstance(node, int) else Group("any_order", tuple(map(loosen, node.children)))

    loose = loosen(oracle.root)
    assert isinstance(loose, Group)
    free = CompiledOracle(
        "free", oracle.digest, DOCUMENT, oracle.monitors, oracle.actions, loose, oracle.never
    )
    truths = feed(oracle, bits)
    table = termination(oracle, truths, 0, 3)
    ranks = {"failed": 0, "undetermined": 1, "passed": 2}
    assert ranks[judge(free, truths, start=0).outcome] >= ranks[judge(oracle, truths, start=0).outcome]
    assert ranks[table.any_order] >= ranks[table.sequential]
    assert ranks[table.any_order] >= ranks[table.once] >= ranks[table.at_end]
    assert ranks[table.once] >= ranks[table.held_k]


@settings(max_examples=40, deadline=None)
@given(oracles(positive=True), traces(most=8), st.data())
def test_more_truth_never_unpasses(
    oracle: CompiledOracle, bits: dict[str, list[int]], data: st.DataObject
) -> None:
    before = judge(oracle, feed(oracle, bits), start=0)
    more = {n: [max(v, data.draw(st.integers(0, 2))) for v in row] for n, row in bits.items()}
    after = judge(oracle, feed(oracle, more), start=0)
    ranks = {"failed": 0, "undetermined": 1, "passed": 2}
    assert ranks[after.outcome] >= ranks[before.outcome]


@settings(max_examples=40, deadline=None)
@given(oracles(), traces(most=6), st.integers(0, 8), st.sampled_from(("report", "strict")))
def test_warm_up_states_are_as_if_never_stored(
    oracle: CompiledOracle, bits: dict[str, list[int]], start: int, order: str
) -> None:
    full = judge(oracle, feed(oracle, bits), start=start, order=order)  # type: ignore[arg-type]
    cut = {name: row[start:] for name, row in bits.items()}
    want = judge(oracle, feed(oracle, cut), start=0, order=order)  # type: ignore[arg-type]
    assert full.outcome == want.outcome
    assert full.reason == want.reason
    assert full.failed_set == want.failed_set
    for a, b in zip(full.actions, want.actions, strict=True):
        assert a.completed_at == (None if b.completed_at is None else b.completed_at + start)
        assert a.ordering_violation == b.ordering_violation


# ---------------------------------------------------------------- hand cases


def test_strictly_later() -> None:
    assert run(chain("a", "b"), a="..#..", b="..#..").outcome == "failed"
    assert run(chain("a", "b"), a="..#..", b="..##.").passed_at == 3
    assert run(chain("a", "b", mode="any_order"), a="..#..", b="..#..").passed_at == 2


@pytest.mark.parametrize(
    ("a", "b", "first", "reason", "stopped"),
    [
        ("....", "####", 0, "never_true", 0),
        (".#..", "....", 1, "never_true", 1),
        ("..#.", ".#..", 1, "too_early", 2),
        ("...#", "..##", 1, "too_early", 3),
    ],
)
def test_localisation(a: str, b: str, first: int, reason: str, stopped: int) -> None:
    got = run(chain("a", "b"), a=a, b=b)
    assert (got.outcome, got.first_failed, got.reason) == ("failed", first, reason)
    assert got.failed_set == (first,)
    assert got.stopped_at == stopped
    assert got.actions[1].outcome == ("not_reached" if first == 0 else "failed")


def test_failed_set_of_an_unordered_group() -> None:
    inner = Group("any_order", (0, 1, 2))
    oracle = build(
        Group("sequential", (inner, Group("sequential", (3,)))),
        [(("a",), 1, False), (("b",), 1, False), (("c",), 1, False), (("a",), 1, False)],
    )
    got = run(oracle, a="....", b=".#..", c="....")
    assert got.failed_set == (0, 2)
    assert got.first_failed == 0
    assert got.stopped_at == 1
    assert got.progress == 1


def test_ordering_violation_is_reported_and_strictly_refused() -> None:
    reported = run(chain("a", "b"), a="...##", b=".####")
    assert reported.outcome == "passed"
    assert reported.violations == 1
    assert reported.actions[1].too_early_at == 1
    strict = run(chain("a", "b"), "strict", a="...##", b=".####")
    assert (strict.outcome, strict.reason, strict.first_failed) == ("failed", "wrong_order", 1)
    assert strict.passed_at is None
    # True from the first state on is no rising edge, nor is one that was done again in time.
    assert run(chain("a", "b"), "strict", a="...##", b="#####").outcome == "passed"
    assert run(chain("a", "b"), "strict", a="..###", b=".#..#").outcome == "passed"
    assert run(chain("a", "b"), "strict", a="..###", b="..###").outcome == "passed"


def test_violation_that_hangs_on_one_state() -> None:
    got = run(chain("a", "b"), a="..#....", b=".?##..#")
    assert (got.outcome, got.actions[1].ordering_violation, got.violations) == ("passed", None, 0)
    assert run(chain("a", "b"), "strict", a="..#....", b=".?##..#").outcome == "undetermined"
    assert run(chain("a", "b"), "strict", a="..#....", b=".?.#..#").outcome == "passed"


def test_hold_and_undone() -> None:
    oracle = build(Group("sequential", (0,)), [(("a",), 3, False)])
    assert run(oracle, a=".##.###.").passed_at == 6
    got = run(oracle, a=".##.##.")
    assert (got.outcome, got.reason) == ("failed", "undone")
    assert got.actions[0].longest_run == 2


def test_done_then_undone_o11_o21() -> None:
    """A drawer closed at 10 and opened at 50: once, but not at the end."""
    closed = "." * 10 + "#" * 40 + "." * 51
    plain = chain("a")
    assert run(plain, a=closed).passed_at == 10
    strict = build(Group("sequential", (0,)), [(("a",), 1, True)])
    got = run(strict, a=closed)
    assert (got.outcome, got.reason, got.progress) == ("failed", "undone", 0)
    assert (got.actions[0].completed_at, got.actions[0].last_true) == (10, 49)


def test_both_meanings_of_success_o86() -> None:
    truth = np.zeros(101, np.uint8)
    truth[40:61] = TRUE
    table = termination(chain("a"), [truth], 0, 21)
    assert (table.once, table.at_end, table.held_k, table.once_at) == (
        "passed",
        "failed",
        "passed",
        40,
    )
    assert termination(chain("a"), [truth], 0, 22).held_k == "failed"


def test_progress_is_not_success_o85() -> None:
    got = run(chain("a", "b", "c", "d"), a="#...", b=".#..", c="....", d="....")
    assert (got.outcome, got.progress, len(got.actions)) == ("failed", 2, 4)


def test_invariant() -> None:
    oracle = build(Group("sequential", (0,)), [(("a",), 1, False)], ["b"])
    assert run(oracle, a="..#", b="...").outcome == "passed"
    got = run(oracle, a="..#", b=".#.")
    assert (got.outcome, got.reason, got.invariant_at) == ("failed", "invariant", 1)
    assert got.first_failed is None
    assert run(oracle, a="..#", b=".?.").outcome == "undetermined"
    assert run(oracle, start=2, a="..#", b="##.").outcome == "passed"


def test_undetermined_only_where_it_matters() -> None:
    assert run(chain("a", "b"), a="?#..", b="...#").outcome == "passed"
    assert run(chain("a", "b"), a="?...", b="....").outcome == "failed"
    got = run(chain("a", "b"), a="?...", b="...#")
    assert (got.outcome, got.first_undetermined, got.first_failed) == ("undetermined", 0, None)
    assert got.reason is None


def test_one_unknown_cannot_serve_two_before_a_third() -> None:
    """Both at one state is impossible, so the third's turn never comes."""
    pair = Group("any_order", (0, 1))
    oracle = build(
        Group("sequential", (pair, Group("sequential", (2,)))),
        [(["a"], 1, False), (["not a"], 1, False), (["b"], 1, False)],
    )
    got = run(oracle, a="#??", b=".#.")
    assert got.outcome == "failed"
    assert [a.outcome for a in got.actions] == ["completed", "undetermined", "failed"]
    assert (got.first_failed, got.reason) == (2, "too_early")


def test_one_unknown_cannot_be_both() -> None:
    both = chain("a", "not a", mode="any_order")
    assert run(both, a="?").outcome == "failed"
    assert run(both, a="??").outcome == "undetermined"
    got = termination(both, feed(both, {"a": [1]}), 0, 1)
    assert (got.once, got.any_order) == ("failed", "failed")


@pytest.mark.parametrize("start", [3, 4, 99])
def test_without_states_nothing_is_decided(start: int) -> None:
    got = run(chain("a", "b"), a="###", b="###", start=start)
    assert got.outcome == "undetermined"
    assert [a.outcome for a in got.actions] == ["undetermined"] * 2
    table = termination(chain("a"), [np.full(3, TRUE)], start, 1)
    assert (table.once, table.any_order) == ("undetermined", "undetermined")


def test_misfitting_truth_is_refused() -> None:
    oracle = chain("a", "b")
    row = np.full(4, UNDETERMINED)
    with pytest.raises(ValueError, match="2 truths"):
        judge(oracle, [row], start=0)
    with pytest.raises(ValueError, match="truth of b"):
        judge(oracle, [row, row[:3]], start=0)
    with pytest.raises(ValueError, match="uint8"):
        judge(oracle, [row, row.astype(np.int64)], start=0)
    with pytest.raises(ValueError, match="start"):
        judge(oracle, [row, row], start=-1)
    with pytest.raises(ValueError, match="hold"):
        termination(oracle, [row, row], 0, 0)


def test_inputs_are_not_changed() -> None:
    row = np.array([FALSE, UNDETERMINED, TRUE])
    row.flags.writeable = False
    judge(chain("a"), [row], start=0, order="strict")
    judge(chain("a", "not a"), [row, TRUE - row], start=0)
    assert row.tolist() == [0, 1, 2]
