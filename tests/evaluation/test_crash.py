"""An evaluation that is killed goes on where it stopped and ends like an undisturbed one."""

from __future__ import annotations

import pytest

from mango_trace.evaluation import evaluate
from mango_trace.verdicts import open_read_only
from tests.evaluation.tables import tables_of
from tests.killing import run_script
from tests.synthetic import make_dataset, write_oracles

N = 40

SCRIPT = """
    import random, sys
    from pathlib import Path
    from mango_trace.evaluation import evaluate
    from tests.killing import duration_s, kill_until_done

    folder, wanted = Path(sys.argv[1]), int(sys.argv[2])
    chance, kills, turn = random.Random(4), 0, 0

    def work():
        database = folder / f"killed_{turn}.duckdb"
        summary = evaluate(
            [folder / "dataset"], [folder / "oracles"], database, shard_traces=1, commit_every_s=0
        )
        assert summary.exit_code == 0, summary

    longest_s = duration_s(work) / 4
    while kills < wanted:
        turn += 1
        kills += kill_until_done(work, chance, longest_s)
    print(turn, kills)
"""


@pytest.mark.parametrize("kills", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_random_instants_the_tables_are_those_of_an_undisturbed_run(tmp_path, kills):
    root, oracles = make_dataset(tmp_path, N), write_oracles(tmp_path / "oracles")
    evaluate([root], [oracles], tmp_path / "plain.duckdb")
    plain = tables_of(tmp_path / "plain.duckdb")
    assert len(plain["traces"]) == len(plain["verdicts"]) == len(plain["end_state"]) == N
    turns, killed = map(int, run_script(SCRIPT, tmp_path, kills).split())
    assert killed >= kills
    partly = 0
    for turn in range(1, turns + 1):
        database = tmp_path / f"killed_{turn}.duckdb"
        assert tables_of(database) == plain
        with open_read_only(database) as connection:
            runs = connection.sql("SELECT finished, n_traces FROM runs ORDER BY run").fetchall()
        assert runs[-1][0] is not None
        partly += 0 < (runs[-1][1] or 0) < N
    assert partly  # some were killed in the middle and went on
