"""An evaluation that is killed goes on where it stopped and ends like an undisturbed one."""

from __future__ import annotations

import signal
from pathlib import Path

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
    for turn in range(1, turns + 1):
        database = tmp_path / f"killed_{turn}.duckdb"
        assert tables_of(database) == plain
        assert runs_of(database)[-1][0] is not None


KILLED_AFTER = """
    import os, signal, sys
    from pathlib import Path
    from mango_trace.evaluation import evaluate
    from tests.killing import fork

    folder, last = Path(sys.argv[1]), int(sys.argv[2])

    def work(progress=None):
        summary = evaluate(
            [folder / "dataset"],
            [folder / "oracles"],
            folder / "killed.duckdb",
            shard_traces=1,
            commit_every_s=0,
            progress=progress,
        )
        assert summary.exit_code == 0, summary

    def die(done, total):
        if done == last:
            os.kill(os.getpid(), signal.SIGKILL)

    print(os.WTERMSIG(os.waitpid(fork(lambda: work(die)), 0)[1]))
    work()
"""


@pytest.mark.parametrize("last", [1, 7, N - 1])
def test_what_was_committed_before_a_kill_is_not_judged_again(tmp_path, last):
    root, oracles = make_dataset(tmp_path, N), write_oracles(tmp_path / "oracles")
    evaluate([root], [oracles], tmp_path / "plain.duckdb")
    assert int(run_script(KILLED_AFTER, tmp_path, last)) == signal.SIGKILL
    killed, resumed = runs_of(tmp_path / "killed.duckdb")
    assert killed[0] is None
    assert resumed[0] is not None
    assert resumed[1] == N - last
    assert tables_of(tmp_path / "killed.duckdb") == tables_of(tmp_path / "plain.duckdb")


def runs_of(database: Path) -> list[tuple[object, int | None]]:
    with open_read_only(database) as connection:
        return connection.sql("SELECT finished, n_traces FROM runs ORDER BY run").fetchall()
