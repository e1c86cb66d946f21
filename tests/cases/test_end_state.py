"""Public reports about the benchmark's own goal: protocol, premises, starts, horizons, instances."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import duckdb
import mujoco
import numpy as np
import pytest

from mango_trace.evaluation import evaluate
from mango_trace.oracle.goal import judge_goal, premise_monitors
from mango_trace.scene.model import Region, Surface
from mango_trace.store import DatasetWriter, Trace, TraceMetadata
from mango_trace.truth import from_bool
from tests.cases.world import TABLE, World, box, build, cabinet, thing, tilt
from tests.synthetic import make_dataset, make_package, make_trace, write_oracles

INIT = "(On bowl_1 ramekin_1) (On bowl_1 table_zone) (Close cabinet_top_region)"
GOAL = "(And (On bowl_1 plate_1) (Close cabinet_top_region))"


def _world(init: str = INIT, goal: str = GOAL, longest: int | None = 505) -> World:
    xml, item, regions = cabinet()
    table = '<site name="table_zone" type="box" size="0.1 0.1 0.007"/></body>'
    return build(
        TABLE.replace("</body>", table),
        f'<body name="far" pos="0 3 0">{xml}</body>',
        box("bowl_1", 0.02),
        box("bowl_2", 0.02),
        box("ramekin_1", (0.02, 0.02, 0.03)),
        box("plate_1", (0.05, 0.05, 0.01)),
        objects=[*map(thing, ("bowl_1", "bowl_2", "ramekin_1", "plate_1")), item],
        regions=[*regions, Region("table_zone", "table_zone", (0.1, 0.1, 0.007), surface="table")],
        surfaces=[Surface("table", "table")],
        bddl=f"(define (problem p) (:language test) (:init {init}) (:goal {goal}))",
        longest_demonstration=longest,
        substeps=25,
    )


SEATED, ON_PLATE, LIFTED = (0, 0, 0.0799), (0.3, 0, 0.0399), (0.3, 0, 0.1)
PLATE, RAMEKIN, ELSEWHERE = (0.3, 0, 0.01), (0, 0, 0.03), (0.6, 0.6, 0.0199)


def _states(
    world: World, bowl: list[Any], drawer: float | list[float] = 0.002, **placed: Any
) -> dict[str, Any]:
    n = len(bowl)
    drawers = [drawer] * n if isinstance(drawer, float) else drawer
    return world.states(
        bowl_1=[(*pose, 1, 0, 0, 0) if len(pose) == 3 else pose for pose in bowl],
        cabinet_top_joint=drawers,
        **{"bowl_2": [ELSEWHERE] * n, "plate_1": [PLATE] * n, "ramekin_1": [RAMEKIN] * n, **placed},
    )


def _trace(
    world: World, states: dict[str, Any], success: Any = None, reward: Any = None, **fields: Any
) -> Trace:
    n = len(states["qpos"])
    metadata = {
        "benchmark": "libero",
        "suite": "libero_10",
        "task_index": 0,
        "task": "test_task",
        "instruction": "test",
        "policy": "p",
        "horizon": n - 1,
        "versions": {"mujoco": mujoco.__version__},
    }
    return Trace(
        scene=world.package.digest,
        states={**states, "time": states["time"][:, None]},
        action=np.zeros((n - 1, 7)),
        reward=np.zeros(n - 1) if reward is None else np.asarray(reward, dtype=np.float64),
        success=np.full(n - 1, 255, dtype=np.uint8)
        if success is None
        else np.asarray(success, dtype=np.uint8),
        metadata=TraceMetadata(**{**metadata, **fields}),
    )


def _judge(folder: Path, world: World, *traces: Trace) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of ``traces`` and ``end_state``, in the order of the traces."""
    with DatasetWriter(folder / "dataset") as writer:
        writer.add_scene(world.package)
        ids = [writer.add(trace).trace_id for trace in traces]
    summary = evaluate([folder / "dataset"], [], folder / "verdicts.duckdb")
    assert summary.trace_errors == {}
    with duckdb.connect(str(folder / "verdicts.duckdb"), read_only=True) as con:
        tables = []
        for table in ("traces", "end_state"):
            cursor = con.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            rows = {row[0]: dict(zip(names, row, strict=True)) for row in cursor.fetchall()}
            tables.append([rows[trace_id] for trace_id in ids])
    return tables[0], tables[1]


def test_o_11_reopened_at_the_end(tmp_path):
    """Closed at state 10, opened again at 50, over at 100: once true, at the end false."""
    world = _world(goal="(Close cabinet_top_region)")
    drawer = [-0.15] * 10 + [0.002] * 40 + [-0.15] * 51
    _, (row,) = _judge(tmp_path, world, _trace(world, _states(world, [SEATED] * 101, drawer)))
    assert (row["outcome"], row["first_success"], row["at_end"]) == ("passed", 10, "failed")


def test_o_86_once_and_at_end_are_two_answers():
    """True at 40 to 60 of 100."""
    truth = from_bool([40 <= state <= 60 for state in range(101)])
    end = judge_goal([truth], start=1)
    assert (end.outcome, end.first_success, end.at_end) == ("passed", 40, "failed")


def test_o_16_premise_violated_at_the_start(tmp_path):
    """Bowl seated on the ramekin against tilted on its rim: only the second start is flagged."""
    world = _world()
    rim = (0.01, 0, 0.0815, *tilt(25))
    falling = (0, 0, 0.19)
    traces = [
        _trace(world, _states(world, [falling, falling, pose, pose]), warmup_steps=2, episode=index)
        for index, pose in enumerate([SEATED, rim])
    ]
    signals = world.signals(_states(world, [rim]))
    on = premise_monitors(world.package.problem, world.package.scene)["on(bowl_1, ramekin_1)"][0]
    assert on.predicate.evaluate(signals, *on.arguments).tolist() == [2]  # the benchmark's own rule holds
    (good, bad), ends = _judge(tmp_path, world, *traces)
    assert good["premise_violations"] == []
    assert bad["premise_violations"] == ["on(bowl_1, ramekin_1)"]
    assert {row["mujoco_recorded"] for row in (good, bad)} == {mujoco.__version__}
    assert [row["outcome"] for row in ends] == ["failed", "failed"]


def test_o_16_premises_that_a_scene_cannot_tell_are_left_out():
    """Rectangles on the table, names and kinds that no predicate takes."""
    odd = "(On bowl_1 nothing) (On bowl_1 table) (In bowl_1 plate_1) (Open bowl_1) (On bowl_1) (Weird bowl_1)"
    world = _world(init=f"{INIT} {odd}")
    premises = premise_monitors(world.package.problem, world.package.scene)
    assert list(premises) == ["on(bowl_1, ramekin_1)", "close(cabinet_top_region)"]


def test_o_17_the_goal_is_not_asked_in_the_warm_up(tmp_path):
    """A goal that holds only while the objects settle is no success."""
    world = _world()
    states = _states(world, [ON_PLATE, ON_PLATE, ON_PLATE, LIFTED, LIFTED])
    _, rows = _judge(tmp_path, world, _trace(world, states, warmup_steps=2))
    assert (rows[0]["outcome"], rows[0]["first_success"]) == ("failed", None)


@pytest.mark.parametrize("claimed", [[0, 1, 2, 3, 4], [0, 0, 0, 0, 0]], ids=["o_18", "o_19"])
def test_o_18_o_19_equal_starts_are_seen(tmp_path, claimed):
    """Whatever init ids the traces claim: one distinct initial state."""
    world = _world()
    ends = [(0.1 * index, 0, 0.2) for index in range(5)]
    traces = [
        _trace(world, _states(world, [SEATED, end]), episode=index, init_state_id=claimed[index])
        for index, end in enumerate(ends)
    ]
    other = _trace(world, _states(world, [LIFTED, LIFTED]), episode=5, init_state_id=5)
    rows, _ = _judge(tmp_path, world, *traces, other)
    starts = [row["initial_state"] for row in rows]
    assert len(set(starts[:5])) == 1
    assert starts[5] != starts[0]
    assert [row["init_state_id"] for row in rows[:5]] == claimed


def test_o_20_cut_off_below_the_longest_demonstration(tmp_path):
    """300 steps where a demonstration took 505: the row says truncated, with both numbers."""
    world = _world()
    (row,), (end,) = _judge(tmp_path, world, _trace(world, _states(world, [SEATED] * 301), ended="truncated"))
    assert end["outcome"] == "failed"
    assert (row["ended"], row["horizon"], row["longest_demonstration"]) == ("truncated", 300, 505)
    assert row["n_steps"] == 300


def test_o_21_states_after_the_first_success_count_for_the_end(tmp_path):
    """First success at state 3; the later states stay and are judged."""
    world = _world()
    states = _states(world, [SEATED, LIFTED, LIFTED, ON_PLATE, ON_PLATE, LIFTED])
    trace = _trace(world, states, success=[0, 0, 1, 1, 0], ended="terminated", after_success=2)
    (row,), (end,) = _judge(tmp_path, world, trace)
    assert (end["outcome"], end["first_success"], end["at_end"]) == ("passed", 3, "failed")
    assert (row["n_states"], row["live_first_success"]) == (6, 3)
    assert end["lag_states"] == 0


def test_o_22_labels_of_the_source_are_no_verdict(tmp_path):
    """A last reward of 1 makes no success, rewards of 0 no failure; the label is kept beside it."""
    world = _world()
    claimed = _trace(world, _states(world, [SEATED, LIFTED]), reward=[1], source_label=True)
    silent = _trace(world, _states(world, [SEATED, ON_PLATE]), reward=[0], source_label=False, episode=1)
    rows, ends = _judge(tmp_path, world, claimed, silent)
    assert [end["outcome"] for end in ends] == ["failed", "passed"]
    assert [row["source_label"] for row in rows] == [True, False]
    assert [row["live_success"] for row in rows] == [None, None]


def test_o_26_wrong_instance_is_named(tmp_path):
    """bowl_2 was put on the plate, bowl_1 was asked for: failed, with the reason at hand."""
    world = _world()
    there = [(0.3, 0, 0.1), (0.3, 0, 0.0399)]
    wrong = _trace(world, _states(world, [SEATED] * 2, bowl_2=there))
    from_the_start = _trace(world, _states(world, [SEATED] * 2, bowl_2=there[1:] * 2), episode=1)
    neither = _trace(world, _states(world, [SEATED] * 2), episode=2)
    right = _trace(world, _states(world, [SEATED, ON_PLATE]), episode=3)
    rows, ends = _judge(tmp_path, world, wrong, from_the_start, neither, right)
    assert [end["outcome"] for end in ends] == ["failed", "failed", "failed", "passed"]
    note = "same-category instance satisfies goal: on(bowl_2, plate_1) instead of on(bowl_1, plate_1)"
    assert [row["problems"] for row in rows] == [[note], [], [], []]


def test_o_45_the_row_says_how_many_substeps_lie_between_states(tmp_path):
    """What happens between two states was not recorded: sampling is part of the row."""
    world = _world()
    (row,), _ = _judge(tmp_path, world, _trace(world, _states(world, [SEATED] * 3)))
    assert row["substeps"] == 25


def test_o_88_a_foreign_version_is_noted_in_the_row(tmp_path):
    """Recorded by 3.3.7: a note, no error, and the verdict all the same."""
    world = _world()
    trace = _trace(world, _states(world, [SEATED, ON_PLATE]), versions={"mujoco": "3.3.7"})
    (row,), (end,) = _judge(tmp_path, world, trace)
    assert end["outcome"] == "passed"
    assert row["mujoco_recorded"] == "3.3.7"
    assert row["problems"] == [f"recorded with mujoco 3.3.7, evaluated with {mujoco.__version__}"]


def test_o_91_terminal_state_not_stored(tmp_path):
    """T states and T actions: the missing last state is stored as NaN; then failed is not sure."""
    world = _world()
    missing = _states(world, [SEATED, LIFTED, LIFTED])
    missing["qpos"][-1] = missing["qvel"][-1] = np.nan
    reached = _states(world, [SEATED, ON_PLATE, LIFTED])
    reached["qpos"][-1] = reached["qvel"][-1] = np.nan
    rows, ends = _judge(tmp_path, world, _trace(world, missing), _trace(world, reached, episode=1))
    assert [end["outcome"] for end in ends] == ["undetermined", "passed"]
    assert [end["at_end"] for end in ends] == ["undetermined", "undetermined"]
    assert all(row["problems"][0] == "terminal state not stored" for row in rows)
    assert [row["undetermined_states"] for row in rows] == [1, 1]


def test_undetermined_states_matter_only_where_they_could_change_the_answer(tmp_path):
    """A reset after the success changes nothing; before one it leaves the goal open."""
    world = _world()
    late = _states(world, [SEATED, ON_PLATE, LIFTED, LIFTED])
    late["time"][2:] = 0.0
    early = _states(world, [SEATED, LIFTED, ON_PLATE, ON_PLATE])
    early["time"][2:] = 0.0
    rows, ends = _judge(tmp_path, world, _trace(world, late), _trace(world, early, episode=1))
    assert [end["outcome"] for end in ends] == ["passed", "undetermined"]
    assert all("simulation reset at state 2" in row["problems"][0] for row in rows)


def _verdict_hash(database: Path) -> str:
    digest = hashlib.sha256()
    with duckdb.connect(str(database), read_only=True) as con:
        for table in ("verdicts", "actions", "end_state", "intervals", "traces"):
            columns = "* EXCLUDE (dataset, recorded_at)" if table == "traces" else "*"
            digest.update(
                repr(con.execute(f"SELECT {columns} FROM {table} ORDER BY ALL").fetchall()).encode()
            )
    return digest.hexdigest()


def _evaluate_many(folder: Path, n: int, ways: list[tuple[int, int]], shuffled: bool) -> set[str]:
    package = make_package()
    root = make_dataset(folder, n, package=package)
    roots = [root]
    if shuffled:
        with DatasetWriter(folder / "shuffled") as writer:
            writer.add_scene(package)
            for seed in np.random.default_rng(0).permutation(n):
                writer.add(make_trace(package, 40, int(seed)))
        roots.append(folder / "shuffled")
    oracles = write_oracles(folder / "oracles")
    hashes = set()
    for number, dataset in enumerate(roots):
        for workers, size in ways if number == 0 else ways[-1:]:
            database = folder / f"{number}-{workers}-{size}.duckdb"
            summary = evaluate([dataset], [oracles], database, workers=workers, shard_traces=size)
            assert summary.judged == n
            hashes.add(_verdict_hash(database))
    return hashes


def test_o_53_the_verdict_table_does_not_depend_on_how_it_was_made(tmp_path):
    """Shuffled, one trace at a time or all at once, in this process or in two others."""
    assert len(_evaluate_many(tmp_path, 6, [(2, 3), (1, 1), (1, 32)], shuffled=True)) == 1


@pytest.mark.slow
def test_o_53_many_workers(tmp_path):
    """64 episodes with 1, 4 and 16 workers, shuffled."""
    assert len(_evaluate_many(tmp_path, 64, [(4, 4), (16, 4), (1, 64)], shuffled=True)) == 1
