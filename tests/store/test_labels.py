"""Labels stand beside the traces, and nothing of them is lost."""

from __future__ import annotations

from datetime import UTC, datetime
from multiprocessing import get_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mango_trace.errors import DatasetError
from mango_trace.store import Dataset, compact_dataset
from mango_trace.store.labels import (
    LABELS,
    TraceLabel,
    action_text,
    add_labels,
    from_csv,
    parse_action,
    read_labels,
    to_csv,
)
from mango_trace.store.metadata import Label
from tests.synthetic import make_dataset

NAMES = st.from_regex(r"[a-z]\w{0,8}", fullmatch=True)
LABEL = st.builds(
    TraceLabel,
    trace_id=st.sampled_from(["t1", "t2", "t3"]),
    who=st.sampled_from(["ada", 'O\'Neil, "Bo"', "名"]),
    when=st.one_of(
        st.none(), st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
    ),
    action_id=st.one_of(st.none(), NAMES),
    parameters=st.just(()),
    action_index=st.one_of(st.none(), st.integers(0, 9)),
    state=st.one_of(st.none(), st.integers(0, 999)),
    failure_class=st.one_of(st.none(), NAMES),
    note=st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=20),
).flatmap(
    lambda label: st.lists(NAMES, max_size=2).map(
        lambda names: label.model_copy(update={"parameters": tuple(names) if label.action_id else ()})
    )
)


def by_trace(labels):
    found = {}
    for label in labels:
        found.setdefault(label.trace_id, []).append(label.label)
    return {trace: tuple(rest) for trace, rest in found.items()}


@given(st.lists(LABEL, max_size=6, unique=True))
def test_written_and_read_is_the_same_as_lines_and_as_csv(tmp_path_factory, labels):
    root = tmp_path_factory.mktemp("d")
    assert add_labels(root, labels) == len(labels)
    assert add_labels(root, labels) == 0
    assert read_labels(root) == by_trace(labels)
    assert by_trace(from_csv(to_csv(by_trace(labels)), "x.csv")) == by_trace(labels)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("place_in(bowl_1, drawer)", ("place_in", ("bowl_1", "drawer"))),
        ("  close( door )", ("close", ("door",))),
        ("wait()", ("wait", ())),
        ("none", (None, ())),
    ],
)
def test_actions_are_read(text, expected):
    assert parse_action(text) == expected
    label = Label(who="x", action_id=expected[0], parameters=expected[1])
    assert parse_action(action_text(label)) == expected


@pytest.mark.parametrize("text", ["", "place_in", "place_in(a", "place_in(a))", "a b(c)", "None"])
def test_what_is_no_action_is_refused(text):
    with pytest.raises(ValueError, match="is no action; write it like"):
        parse_action(text)


def test_labels_of_people_come_after_those_of_the_trace_and_survive_compaction(tmp_path):
    root = make_dataset(tmp_path, 4)
    before = Dataset(root).records
    trace = before[0].trace_id
    labels = [
        TraceLabel(trace_id=trace, who="ada", action_id="close", parameters=("lid",)),
        TraceLabel(trace_id=trace, who="bo", action_id=None),
        TraceLabel(trace_id="gone", who="bo", action_id=None),
    ]
    add_labels(root, labels)
    expected = (*before[0].metadata.labels, *(label.label for label in labels[:2]))
    for _ in range(2):
        found = Dataset(root).find(trace)
        assert found.metadata.labels == expected
        assert found.trace_id == trace
        compact_dataset(root)


def test_a_line_that_is_no_label_is_named_and_the_traces_are_read(tmp_path):
    root = make_dataset(tmp_path, 3)
    add_labels(root, [TraceLabel(trace_id="a", who="ada", action_id=None)])
    with (root / LABELS).open("a") as file:
        file.write('{"who": 3}\n')
    opened = Dataset(root)
    assert len(opened.records) == 3
    assert "labels.jsonl, line 2" in str(opened.problems[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("trace_id,first_failed\n", "missing who"),
        ("trace_id,who,first_failed,mood\n", "unknown mood"),
        ("trace_id,who,first_failed\nt,ada,close\n", "line 2: 'close' is no action"),
        ("trace_id,who,first_failed\nt,ada\nt,,none\n", "line 2: another number of fields"),
        ("trace_id,who,first_failed,state\nt,ada,none,early\n", "line 2"),
    ],
)
def test_csv_that_does_not_fit_is_named_by_line(text, message):
    with pytest.raises(DatasetError, match=message):
        from_csv(text, "x.csv")


def _add_many(root, who):
    for number in range(20):
        add_labels(root, [TraceLabel(trace_id=f"t{number}", who=who, action_id=None)])


def test_two_people_at_once_lose_nothing(tmp_path):
    people = [get_context("spawn").Process(target=_add_many, args=(tmp_path, who)) for who in ("ada", "bo")]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert sorted(len(found) for found in read_labels(tmp_path).values()) == [2] * 20
