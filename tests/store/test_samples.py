"""Samples: the draw is a function of seed and traces; what is kept beside them is read back."""

from __future__ import annotations

import dataclasses
import random
import shutil
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mango_trace.errors import DatasetError, UsageError
from mango_trace.store import Dataset, DatasetWriter, Label, TraceMetadata, TraceRecord, compact_dataset
from mango_trace.store.labels import TraceLabel, add_labels
from mango_trace.store.samples import SAMPLES, read_samples, write_sample
from mango_trace.store.sampling import (
    STRATA,
    cochran_size,
    draw_simple,
    draw_stratified,
    mark_sample,
    pool_of,
    position,
    stratum_of,
)
from tests.synthetic import make_dataset, make_package, make_trace


def label(state: int | None, **more: Any) -> Label:
    return Label(**{"who": "injected", "action_id": "pick_up", "state": state, **more})


def run(name: str, state: int | None = None, *, n_states: int = 90, **more: Any) -> TraceRecord:
    """A failed run whose first failure began at a state, or one that nobody labelled."""
    fields = {"success": False, "task": "t", "ended": "truncated", "labels": None, **more}
    labels = fields["labels"] if fields["labels"] is not None else () if state is None else (label(state),)
    return TraceRecord(
        trace_id=name,
        segment="s",
        scene="c",
        group="g",
        state_start=0,
        n_states=n_states,
        step_start=0,
        n_steps=n_states - 1,
        checksums={},
        live_success=fields["success"],
        first_success_step=None,
        recorded_at=0,
        metadata=TraceMetadata(
            benchmark="b",
            suite="s",
            task_index=0,
            task=fields["task"],
            instruction="i",
            policy="p",
            ended=fields["ended"],
            labels=labels,
        ),
    )


def success(name: str, **more: Any) -> TraceRecord:
    return run(name, success=True, **more)


def drawn(records, **options) -> dict[str, tuple[str, str | None]]:
    draw = draw_stratified(records, **options)
    return {one.record.trace_id: (one.stratum, one.in_place_of) for one in draw.chosen}


def plenty(task: str = "t") -> list[TraceRecord]:
    """Five runs of each stratum."""
    spots = {"early": 10, "middle": 40, "late": 80}
    failed = [run(f"{task}-{name}-{i}", at + i, task=task) for name, at in spots.items() for i in range(5)]
    return [*failed, *(success(f"{task}-success-{i}", task=task) for i in range(5))]


# Where a run stands.


@pytest.mark.parametrize(
    ("state", "n_states", "expected"),
    [
        (0, 1, "early"),
        (30, 90, "early"),
        (31, 90, "middle"),
        (60, 90, "middle"),
        (61, 90, "late"),
        (89, 90, "late"),
        (33, 100, "early"),
        (34, 100, "middle"),
        (66, 100, "middle"),
        (67, 100, "late"),
        # One third is no float; the bound belongs to the earlier class whatever T is.
        (10**6 + 1, 3 * (10**6 + 1), "early"),
        (2 * (10**6 + 1), 3 * (10**6 + 1), "middle"),
    ],
)
def test_bounds_belong_to_the_earlier_class(state, n_states, expected):
    record = run("x", state, n_states=n_states)
    assert stratum_of(record) == expected
    assert position(record) == Fraction(state, n_states)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ((), "failed"),
        ((label(None),), "failed"),
        ((label(5, verified=False),), "failed"),
        ((label(5, action_id=None),), "failed"),
        ((label(-1), label(90)), "failed"),
        ((label(5, verified=False), label(80, who="ada")), "late"),
        ((label(5, verified=True), label(80, who="ada")), "early"),
    ],
)
def test_the_first_label_that_counts_says_where(labels, expected):
    assert stratum_of(run("x", labels=labels)) == expected


def test_what_the_benchmark_did_not_judge_or_what_broke_is_unknown():
    assert stratum_of(run("x", 5, success=None)) == "unknown"
    assert stratum_of(success("x", ended="error")) == "unknown"
    assert stratum_of(success("x", labels=(label(5),))) == "success"


# The draw.


def test_ten_of_a_task_where_there_is_plenty():
    found = list(drawn([*plenty("a"), *plenty("b")]).items())
    for task in "ab":
        strata = [stratum for name, (stratum, instead) in found if name.startswith(task) and not instead]
        assert {each: strata.count(each) for each in STRATA if each in strata} == {
            "early": 2,
            "middle": 2,
            "late": 2,
            "success": 4,
        }
    assert not draw_stratified([*plenty("a"), *plenty("b")]).shortages


@given(st.randoms(use_true_random=False), st.integers())
def test_the_order_of_traces_and_their_segments_do_not_matter(shuffle, seed):
    records = [*plenty("a"), *plenty("b")[:9], run("broken", 3, ended="error")]
    other = [dataclasses.replace(record, segment=str(shuffle.random())) for record in records]
    shuffle.shuffle(other)
    for draw in (draw_stratified, draw_simple):
        before, after = draw(records, seed=seed), draw(other, seed=seed)
        assert [one.record.trace_id for one in before.chosen] == [one.record.trace_id for one in after.chosen]
        assert (before.pool, before.shortages) == (after.pool, after.shortages)


def test_another_seed_draws_other_runs_and_every_run_can_be_drawn():
    draws = [drawn(plenty(), seed=seed) for seed in range(40)]
    assert draws[0] == drawn(plenty(), seed=0) != draws[1]
    assert {name for found in draws for name in found} == {record.trace_id for record in plenty()}


def test_where_a_class_has_too_few_the_nearest_failed_runs_stand_in():
    early = [run(f"e{state}", state) for state in (1, 10, 20, 30)]
    middle = [run("m50", 50)]
    found = drawn([*early, *middle])
    assert found["m50"] == ("middle", None)
    own = [name for name, (_, instead) in found.items() if instead is None and name[0] == "e"]
    assert len(own) == 2
    rest = sorted((record for record in early if record.trace_id not in own), key=position, reverse=True)
    # Of the two that are left, the nearer one fills up the middle, and the other one the late class.
    assert found[rest[0].trace_id] == ("early", "middle")
    assert found[rest[1].trace_id] == ("early", "late")
    short = draw_stratified([*early, *middle]).shortages
    assert [(s.stratum, s.wanted, s.found, s.substitutes, s.missing) for s in short] == [
        ("middle", 2, 1, 1, 0),
        ("late", 2, 0, 1, 1),
        ("success", 4, 0, 0, 4),
    ]


def test_six_failed_runs_are_all_drawn_wherever_they_failed():
    for states in ((1, 2, 3, 4, 5, 6), (1, 2, 40, 41, 42, 43), (31, 32, 33, 70, 71, 72)):
        records = [run(str(state), state) for state in states]
        draw = draw_stratified([*records, *(success(f"s{i}") for i in range(4))])
        assert len(draw.chosen) == 10
        assert sum(short.missing for short in draw.shortages) == 0
        assert draw.shortages  # and it is said that some stand in


def test_what_cannot_be_drawn_is_counted_and_never_drawn():
    records = [
        *plenty(),
        run("unlabelled"),
        run("refuted", labels=(label(5, verified=False),)),
        run("broken", 5, ended="error"),
        success("unknown", ended="truncated"),
    ]
    records[-1] = dataclasses.replace(records[-1], live_success=None)
    assert (
        not {"unlabelled", "refuted", "broken", "unknown"} & drawn(records, per_class=9, successes=9).keys()
    )
    pool = pool_of(records)
    assert (pool.n_traces, pool.n_broken, pool.n_drawable) == (24, 1, 23)
    assert (pool.n_failed, pool.n_unplaced, pool.n_success, pool.n_unknown) == (17, 2, 5, 1)


def test_nothing_gives_nothing():
    assert draw_stratified([]).chosen == draw_simple([]).chosen == ()
    with pytest.raises(UsageError):
        draw_stratified([], per_class=-1)


@pytest.mark.parametrize(
    ("population", "options", "expected"),
    [
        (None, {}, 385),
        (1000, {}, 278),
        (790, {}, 259),
        (1, {}, 1),
        (0, {}, 0),
        (None, {"confidence": 0.99}, 664),
        (None, {"margin": 0.1}, 97),
        (None, {"p": 0.1}, 139),
        (10**12, {}, 385),
    ],
)
def test_cochrans_size(population, options, expected):
    assert cochran_size(population, **options) == expected


@given(st.integers(1, 10**6))
def test_a_larger_population_needs_no_fewer_and_never_more_than_there_are(n):
    assert cochran_size(n) <= min(n, 385)
    assert cochran_size(n) <= cochran_size(n + 1)


@pytest.mark.parametrize("bad", [{"confidence": 1.0}, {"margin": 0.0}, {"p": 1.5}])
def test_numbers_without_sense_are_refused(bad):
    with pytest.raises(UsageError, match="between 0 and 1"):
        cochran_size(100, **bad)


def test_a_simple_sample_has_cochrans_size_and_draws_of_all_that_did_not_break():
    records = [*(success(f"s{i}") for i in range(200)), *(run(f"f{i}") for i in range(300))]
    records += [run(f"b{i}", ended="error") for i in range(100)]
    draw = draw_simple(records)
    assert len(draw.chosen) == cochran_size(500) == 218
    assert {one.stratum for one in draw.chosen} == {"success", "failed"}


# Beside the traces.

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,8}", fullmatch=True)
MEMBERS = st.dictionaries(st.text(min_size=1, max_size=6), st.sampled_from(STRATA), min_size=1, max_size=6)


@given(st.dictionaries(NAMES, MEMBERS, max_size=4))
def test_written_and_read_is_the_same_and_order_leaves_no_trace(tmp_path_factory, samples):
    roots = [tmp_path_factory.mktemp("d") for _ in range(2)]
    for root, names in zip(roots, (list(samples), list(reversed(samples))), strict=True):
        for name in names:
            members = list(samples[name].items())
            random.Random(0).shuffle(members)
            assert write_sample(root, name, dict(members))
        assert read_samples(root) == samples
    if samples:
        assert (roots[0] / SAMPLES).read_bytes() == (roots[1] / SAMPLES).read_bytes()


def test_a_sample_is_replaced_whole_and_the_others_stay(tmp_path):
    write_sample(tmp_path, "a", {"x": "early", "y": "late"})
    write_sample(tmp_path, "b", {"x": "early"})
    assert write_sample(tmp_path, "a", {"z": "success"})
    assert read_samples(tmp_path) == {"a": {"z": "success"}, "b": {"x": "early"}}


def test_writing_what_is_there_does_not_touch_the_file(tmp_path):
    write_sample(tmp_path, "a", {"x": "early", "y": "late"})
    path = tmp_path / SAMPLES
    path.write_bytes(b"".join(reversed(path.read_bytes().splitlines(keepends=True))))  # as an editor may
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert not write_sample(tmp_path, "a", {"y": "late", "x": "early"})
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "",
        '{"sample":"a","trace_id":"x"}',
        '{"sample":"a","trace_id":"x","stratum":"soon"}',
        '{"sample":"a/b","trace_id":"x","stratum":"late"}',
        '{"sample":"a\\n","trace_id":"x","stratum":"late"}',
        '{"sample":"a","trace_id":"","stratum":"late"}',
        '{"sample":"a","trace_id":"x","stratum":"late","mood":1}',
        '{"sample":"a","trace_id":"t","stratum":"late"}',
    ],
)
def test_a_line_that_is_no_entry_is_named_the_traces_are_read_and_nothing_is_overwritten(tmp_path, line):
    root = make_dataset(tmp_path, 3)
    write_sample(root, "a", {"t": "early"})
    with (root / SAMPLES).open("a") as file:
        file.write(f"{line}\n")
    before = (root / SAMPLES).read_bytes()
    opened = Dataset(root)
    assert len(opened.records) == 3
    assert "samples.jsonl, line 2" in str(opened.problems[0])
    for keep in (lambda: write_sample(root, "b", {}), lambda: mark_sample(root)):
        with pytest.raises(DatasetError, match="line 2"):
            keep()
    assert (root / SAMPLES).read_bytes() == before


@pytest.mark.parametrize("name", ["", "a b", "../x", "-a", "a\n", "x" * 65])
def test_a_name_with_other_characters_is_wrong_use(tmp_path, name):
    with pytest.raises(UsageError, match="no name of a sample"):
        write_sample(tmp_path, name, {})


def test_marking_marks_records_survives_compaction_and_again_changes_nothing(tmp_path):
    root = make_dataset(tmp_path, 8)
    before = Dataset(root).records
    failed = [record.trace_id for record in before if not record.live_success]
    add_labels(
        root,
        [
            TraceLabel(trace_id=trace, who="ada", action_id="close", state=9 * i)
            for i, trace in enumerate(failed)
        ],
    )
    draw = mark_sample(root)
    assert len(draw.chosen) == 8
    kept, written = (root / SAMPLES).read_bytes(), (root / SAMPLES).stat().st_mtime_ns
    for _ in range(2):
        mark_sample(root)
        records = Dataset(root).records
        assert [record.trace_id for record in records] == [record.trace_id for record in before]
        assert {record.trace_id: record.samples for record in records} == {
            one.record.trace_id: {"paper": one.stratum} for one in draw.chosen
        }
        compact_dataset(root)
    assert ((root / SAMPLES).read_bytes(), (root / SAMPLES).stat().st_mtime_ns) == (kept, written)


def test_the_same_traces_in_other_segments_give_the_same_bytes(tmp_path):
    package = make_package()
    for name, parts in (("one", [range(9)]), ("many", [[8], [3, 1], range(9)])):
        for seeds in parts:
            with DatasetWriter(tmp_path / name) as writer:
                writer.add_scene(package)
                for seed in seeds:
                    writer.add(make_trace(package, 40, seed))
        mark_sample(tmp_path / name, "s", seed=3, successes=2)
    assert (tmp_path / "one" / SAMPLES).read_bytes() == (tmp_path / "many" / SAMPLES).read_bytes()


def test_of_a_dataset_that_is_partly_unreadable_no_sample_is_kept(tmp_path):
    root = make_dataset(tmp_path, 3)
    shutil.copytree(next((root / "segments").iterdir()), root / "segments" / "zz")
    (root / "segments" / "zz" / "episodes.parquet").write_bytes(b"?")
    with pytest.raises(DatasetError, match="sample paper is not kept"):
        mark_sample(root)
    assert not (root / SAMPLES).exists()
