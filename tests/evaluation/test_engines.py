"""Verdicts are the same whatever judges, wherever the dataset lies, and whatever is lost meanwhile."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.errors import UsageError
from mango_trace.evaluation import engines, evaluate
from mango_trace.evaluation.engines import RETRIES, OnRay
from mango_trace.evaluation.shard import Shard, ShardResult, judge_shard
from mango_trace.store import Dataset
from mango_trace.verdicts import open_read_only
from tests.evaluation.tables import tables_of
from tests.killing import ROOT
from tests.remote import free_port, s3_server, upload
from tests.synthetic import make_dataset, write_oracles

N = 12


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a dataset, an oracle for it and the verdicts of a plain evaluation."""
    folder = tmp_path_factory.mktemp("engines")
    root, oracles = make_dataset(folder, N), write_oracles(folder / "oracles")
    assert evaluate([root], [oracles], folder / "plain.duckdb").judged == N
    return folder


@pytest.fixture(scope="module")
def plain(place) -> dict[str, list[tuple[Any, ...]]]:
    return tables_of(place / "plain.duckdb")


@pytest.fixture(scope="module")
def s3(place):
    pytest.importorskip("moto.server", reason="needs moto")
    pytest.importorskip("s3fs", reason="needs the extra 'remote'")
    with s3_server() as bucket:
        yield upload(place / "dataset", f"{bucket}/dataset")


@pytest.fixture
def ray():
    """Asked for by what needs Ray; each test starts it in a process of its own."""
    return pytest.importorskip("ray", reason="needs the extra 'ray'")


def run(*arguments: object):
    return CliRunner().invoke(cli, ["evaluate", *map(str, arguments)])


# The seam.


def test_an_engine_is_a_function_of_shards(place, plain, tmp_path):
    asked: list[tuple[int, int | None]] = []

    def backwards(shards, workers):
        asked.append((len(shards), workers))
        for shard in reversed(shards):
            yield judge_shard(shard)

    summary = evaluate(
        [place / "dataset"], [place / "oracles"], tmp_path / "v.duckdb",
        shard_traces=5, workers=7, engine=backwards,
    )  # fmt: skip
    assert (summary.judged, asked) == (N, [(3, 7)])
    assert tables_of(tmp_path / "v.duckdb") == plain


def test_an_engine_that_breaks_keeps_what_was_committed_and_is_closed(place, plain, tmp_path):
    closed = []

    def breaking(shards, workers):
        try:
            yield judge_shard(shards[0])
            raise RuntimeError("boom")
        finally:
            closed.append(True)

    arguments = [place / "dataset"], [place / "oracles"], tmp_path / "v.duckdb"
    with pytest.raises(RuntimeError, match="boom"):
        evaluate(*arguments, shard_traces=5, commit_every_s=0, engine=breaking)
    assert closed
    again = evaluate(*arguments)
    assert (again.skipped, again.judged) == (5, N - 5)
    assert tables_of(tmp_path / "v.duckdb") == plain


def test_without_ray_the_extra_is_named(place, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    result = run(place / "dataset", "--db", tmp_path / "v.duckdb", "--engine", "ray")
    assert (result.exit_code, "pip install 'mango-trace[ray]'" in result.stderr) == (2, True)


def test_an_address_goes_with_ray_only(place, tmp_path):
    result = run(place / "dataset", "--db", tmp_path / "v.duckdb", "--ray-address", "head:6379")
    assert (result.exit_code, "--ray-address goes with --engine ray" in result.stderr) == (2, True)


# Datasets at URLs.


def kill_once(marker: Path, shard: Shard) -> ShardResult:
    """Judge a shard, but for the first that comes: that one kills the process."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return judge_shard(shard)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def kill_always(trace_id: str, shard: Shard) -> ShardResult:
    """Judge a shard, unless it has a certain trace: that one kills the process each time."""
    if any(record.trace_id == trace_id for record in shard.records):
        os.kill(os.getpid(), signal.SIGKILL)
    return judge_shard(shard)


def test_a_process_that_is_killed_changes_nothing(place, plain, tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "judge_shard", partial(kill_once, tmp_path / "killed"))
    summary = evaluate(
        [place / "dataset"], [place / "oracles"], tmp_path / "v.duckdb", workers=2, shard_traces=1
    )
    assert (tmp_path / "killed").exists()
    assert (summary.exit_code, summary.judged) == (0, N)
    assert tables_of(tmp_path / "v.duckdb") == plain


def test_a_shard_that_kills_its_process_is_an_error_and_the_others_are_judged(place, tmp_path, monkeypatch):
    victim = Dataset(place / "dataset").records[3].trace_id
    monkeypatch.setattr(engines, "judge_shard", partial(kill_always, victim))
    summary = evaluate(
        [place / "dataset"], [place / "oracles"], tmp_path / "v.duckdb", workers=2, shard_traces=1
    )
    assert (summary.exit_code, summary.judged) == (3, N - 1)
    assert list(summary.trace_errors) == [victim]
    assert "killed, twice" in summary.trace_errors[victim]


@pytest.mark.remote
@pytest.mark.parametrize("workers", [1, 2])
def test_a_dataset_in_a_bucket_gives_the_tables_of_its_folder(place, plain, s3, tmp_path, workers):
    database = tmp_path / "v.duckdb"
    summary = evaluate([s3], [place / "oracles"], database, workers=workers, shard_traces=4)
    assert (summary.judged, summary.exit_code) == (N, 0)
    assert tables_of(database) == plain
    assert evaluate([place / "dataset"], [place / "oracles"], database).skipped == N
    result = run(s3, f"file://{place / 'dataset'}", "--oracles", place / "oracles", "--db", database)
    assert (result.exit_code, f"{2 * N} were judged already" in result.stdout) == (0, True)


@pytest.mark.remote
def test_a_dataset_in_memory_gives_the_tables_of_its_folder(place, plain, tmp_path):
    pytest.importorskip("upath", reason="needs the extra 'remote'")
    url = upload(place / "dataset", "memory://engines/dataset")
    assert evaluate([url], [place / "oracles"], tmp_path / "v.duckdb").judged == N
    assert tables_of(tmp_path / "v.duckdb") == plain
    for options in (["--workers", "2"], ["--engine", "ray"]):
        result = run(url, "--oracles", place / "oracles", "--db", tmp_path / "w.duckdb", *options)
        assert (result.exit_code, "memory://engines/dataset: no other process" in result.stderr) == (2, True)


@pytest.mark.remote
def test_datasets_that_cannot_be_read_are_named_and_the_rest_is_judged(place, plain, s3, tmp_path):
    database = tmp_path / "v.duckdb"
    nowhere, nobody = f"{s3}-nowhere", "s3://nobody/dataset"
    result = run(nowhere, s3, nobody, "--oracles", place / "oracles", "--db", database)
    assert result.exit_code == 3
    assert f"error: {nowhere}: not a dataset" in result.stderr
    assert f"error: {nobody}: not a dataset" in result.stderr
    assert f"{N} traces judged" in result.stdout
    assert tables_of(database) == plain


@pytest.mark.remote
def test_a_chunk_that_is_missing_is_an_error_of_its_traces(place, s3, tmp_path):
    root = make_dataset(tmp_path, 2)
    next(root.rglob("qpos/c/0/0")).unlink()
    url = upload(root, f"{s3}-damaged")
    summary = evaluate([url], [place / "oracles"], tmp_path / "v.duckdb")
    assert (summary.judged, len(summary.trace_errors), summary.exit_code) == (0, 2, 3)
    assert all("missing c/0/0" in reason for reason in summary.trace_errors.values())


# Ray, each time in a process of its own, which can be killed, interrupted and configured.


def script(text: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a script in a process of its own."""
    head = """
        import json, os, sys, time
        from pathlib import Path
        from mango_trace.evaluation import evaluate
        from mango_trace.evaluation.engines import OnRay
        place, out = Path(sys.argv[1]), Path(sys.argv[2])
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(text), *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def last_line(process: subprocess.Popen[str]) -> str:
    """What a script says at its end; before that Ray may have told of lost workers."""
    out, err = finished(process)
    assert process.returncode == 0, err
    return (out.splitlines() or [""])[-1]


def finished(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a script wrote; it ends here, with all that it started, whatever happened."""
    try:
        return process.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise


@pytest.mark.ray
@pytest.mark.parametrize("where", ["folder", pytest.param("bucket", marks=pytest.mark.remote)])
def test_ray_gives_the_tables_of_one_process(place, plain, ray, tmp_path, request, where):
    root = place / "dataset" if where == "folder" else request.getfixturevalue("s3")
    text = """
        import ray
        arguments = [sys.argv[3]], [place / "oracles"], out / "v.duckdb"
        first = evaluate(*arguments, shard_traces=2, engine=OnRay(), workers=2)
        assert not ray.is_initialized()
        again = evaluate(*arguments, engine=OnRay())
        print(json.dumps([first.judged, again.judged, again.skipped]))
    """
    assert json.loads(last_line(script(text, place, tmp_path, root))) == [N, 0, N]
    assert tables_of(tmp_path / "v.duckdb") == plain


LOSING = """
    import signal
    import ray
    from mango_trace.evaluation import engines

    traces, kills = int(sys.argv[3]), int(sys.argv[4])
    judge = engines.judge_shard

    def dying(shard):
        # Runs in a worker: the shard with that trace kills it some times.
        if len(shard.records) == traces:
            tries = sorted(out.glob("try-*"))
            (out / f"try-{len(tries)}-{os.getpid()}").touch()
            if len(tries) < kills:
                os.kill(os.getpid(), signal.SIGKILL)
        return judge(shard)

    def in_worker(shard, evaluator, evaluation):
        return dying(shard)

    engines._judge = in_worker
    summary = evaluate(
        [place / "dataset"], [place / "oracles"], out / "v.duckdb", shard_traces=5, workers=2, engine=OnRay()
    )
    print(json.dumps([summary.judged, summary.exit_code, sorted(summary.trace_errors.items())]))
"""


@pytest.mark.ray
def test_a_worker_that_is_killed_changes_nothing(place, plain, ray, tmp_path):
    judged, code, errors = json.loads(last_line(script(LOSING, place, tmp_path, 2, 1)))
    assert (judged, code, errors) == (N, 0, [])
    assert len(list(tmp_path.glob("try-*"))) == 2
    assert tables_of(tmp_path / "v.duckdb") == plain


@pytest.mark.ray
def test_a_shard_that_is_lost_every_time_is_an_error_of_its_traces(place, plain, ray, tmp_path):
    judged, code, errors = json.loads(last_line(script(LOSING, place, tmp_path, 2, 99)))
    assert (judged, code, len(errors)) == (N - 2, 3, 2)
    assert all(re.match(rf"Ray gave it up after {RETRIES} retries: \w+: ", reason) for _, reason in errors)
    assert len(list(tmp_path.glob("try-*"))) == RETRIES + 1
    again = evaluate([place / "dataset"], [place / "oracles"], tmp_path / "v.duckdb")
    assert (again.judged, again.skipped, again.exit_code) == (2, N - 2, 0)
    assert tables_of(tmp_path / "v.duckdb") == plain


@pytest.mark.ray
def test_a_node_of_a_cluster_that_is_killed_changes_nothing(place, plain, ray, tmp_path):
    text = """
        import signal, threading
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # nodes listen on loopback only
        from ray.cluster_utils import Cluster
        from mango_trace.evaluation import engines

        def in_worker(shard, evaluator, evaluation):
            import ray
            node = ray.get_runtime_context().get_node_id()
            (out / f"node-{node}").touch()
            if node == json.loads((out / "doomed").read_text()):
                (out / "reached").touch()
                time.sleep(600)
            return engines.judge_shard(shard)

        engines._judge = in_worker
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        doomed = cluster.add_node(num_cpus=1)
        (out / "doomed").write_text(json.dumps(doomed.node_id))

        def kill():
            while not (out / "reached").exists():
                time.sleep(0.1)
            cluster.remove_node(doomed, allow_graceful=False)

        threading.Thread(target=kill, daemon=True).start()
        summary = evaluate(
            [place / "dataset"], [place / "oracles"], out / "v.duckdb", shard_traces=1, workers=None,
            engine=OnRay(cluster.address),
        )
        cluster.shutdown()
        print(json.dumps([summary.judged, summary.exit_code]))
    """
    assert json.loads(last_line(script(text, place, tmp_path))) == [N, 0]
    assert (tmp_path / "reached").exists()
    assert len(list(tmp_path.glob("node-*"))) == 2
    assert tables_of(tmp_path / "v.duckdb") == plain


@pytest.mark.ray
def test_a_session_that_is_there_is_used_and_sees_what_came_later(place, plain, ray, tmp_path):
    text = """
        import ray
        from mango_trace.store import DatasetWriter
        from tests.synthetic import make_package, make_trace
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        package = make_package()
        os.chdir(out)  # the worker is somewhere else
        with DatasetWriter(out / "dataset") as writer:
            writer.add_scene(package)
            for seed in range(12):  # one segment: the worker that stays has seen its arrays before
                writer.add(make_trace(package, 40, seed))
                if seed in (5, 11):
                    summary = evaluate(
                        ["dataset"], [place / "oracles"], Path("v.duckdb"), engine=OnRay(), workers=None
                    )
                    assert (summary.judged, summary.exit_code) == (6, 0), summary
        assert ray.is_initialized()
    """
    last_line(script(text, place, tmp_path))
    assert tables_of(tmp_path / "v.duckdb") == plain
    with open_read_only(tmp_path / "v.duckdb") as connection:
        assert connection.sql("SELECT DISTINCT dataset FROM traces").fetchall() == [("dataset",)]


@pytest.mark.ray
def test_what_it_starts_listens_on_loopback_only_and_is_quiet_and_ends(place, ray, tmp_path):
    text = """
        def listening():
            found = set()
            for table in ("/proc/net/tcp", "/proc/net/tcp6"):
                for line in Path(table).read_text().splitlines()[1:]:
                    fields = line.split()
                    if fields[3] == "0A":
                        found.add(fields[1])
            return found
        before = listening()
        during = set()
        summary = evaluate(
            [place / "dataset"], [place / "oracles"], out / "v.duckdb", shard_traces=6, engine=OnRay(),
            workers=1, commit_every_s=0, progress=lambda done, total: during.update(listening() - before),
        )
        print(json.dumps([summary.judged, sorted(during)]))
    """
    out, err = finished(script(text, place, tmp_path))
    judged, during = json.loads(out)
    assert (judged, err) == (N, "")
    hosts = {address.split(":")[0] for address in during}
    assert hosts
    assert hosts <= {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


@pytest.mark.ray
def test_interrupted_it_ends_its_workers_and_goes_on_where_it_stopped(place, plain, ray, tmp_path):
    text = """
        from mango_trace.cli.main import cli
        from mango_trace.evaluation import engines

        def in_worker(shard, evaluator, evaluation):
            if len(shard.records) == 2:
                (out / "part").write_text(str(os.getpid()))
                (out / "part").rename(out / "pid")
                time.sleep(600)
            return engines.judge_shard(shard)

        engines._judge = in_worker
        evaluate.__kwdefaults__.update(shard_traces=5, commit_every_s=0)
        oracles, database = str(place / "oracles"), str(out / "v.duckdb")
        cli(["evaluate", str(place / "dataset"), "--oracles", oracles, "--db", database,
             "--engine", "ray", "--workers", "1"])
    """
    process = script(text, place, tmp_path)
    deadline = time.monotonic() + 120
    while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = finished(process)
    assert (process.returncode, err) == (130, "interrupted; the same command goes on where it stopped\n")
    worker = Path("/proc") / (tmp_path / "pid").read_text()
    while worker.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not worker.exists()
    again = evaluate([place / "dataset"], [place / "oracles"], tmp_path / "v.duckdb")
    assert (again.judged, again.skipped, again.exit_code) == (2, N - 2, 0)
    assert tables_of(tmp_path / "v.duckdb") == plain


@pytest.mark.ray
def test_nodes_of_another_version_end_the_evaluation(place, ray, tmp_path):
    text = """
        from mango_trace.errors import UsageError
        from mango_trace.evaluation import engines
        engines.EVALUATOR = "1/mujoco-0.0.0"
        try:
            evaluate([place / "dataset"], [place / "oracles"], out / "v.duckdb", engine=OnRay())
        except UsageError as error:
            print(error)
    """
    assert "not as 1/mujoco-0.0.0; verdicts of different programs do not mix" in last_line(
        script(text, place, tmp_path)
    )


@pytest.mark.ray
def test_a_cluster_that_has_no_cpu_is_not_waited_for_for_ever(place, ray, tmp_path):
    text = """
        import ray
        from mango_trace.errors import UsageError
        from mango_trace.evaluation import engines
        engines._STARTED_WITHIN_S = 2.0
        ray.init(num_cpus=0, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        try:
            evaluate([place / "dataset"], [place / "oracles"], out / "v.duckdb", engine=OnRay())
        except UsageError as error:
            print(error)
    """
    assert last_line(script(text, place, tmp_path)) == "no node of the Ray cluster has a CPU, for 2 s now"


@pytest.mark.ray
@pytest.mark.parametrize("address", ["nonsense", "ray://head", "127.0.0.1:{port}"])
def test_a_cluster_that_is_not_there_is_named_at_once(place, ray, tmp_path, address):
    address = address.format(port=free_port())
    with pytest.raises(UsageError, match=re.escape(address)):
        evaluate([place / "dataset"], [place / "oracles"], tmp_path / "v.duckdb", engine=OnRay(address))
