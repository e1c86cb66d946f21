"""How one trace went, as text: the plan with outcomes and a timeline of every monitor."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from mango_trace.errors import DatabaseError
from mango_trace.evaluation.oracle_files import load_oracles, unused_oracles
from mango_trace.evaluation.shard import Options, Shard, forget_scenes, judge_shard
from mango_trace.store import Dataset
from mango_trace.verdicts import VerdictDatabase, open_read_only

_MARKS = {"true": "#", "false": ".", "undetermined": "?"}


def story_of(database: Path, prefix: str, columns: int) -> str:
    """Tell how a judged trace went.

    Args:
        database: Verdict database.
        prefix: Start of the trace's id.
        columns: Width of the timeline.

    Returns:
        Several lines of text.

    Raises:
        DatabaseError: No trace or several start with ``prefix``.
    """
    connection = open_read_only(database)
    try:
        return "\n".join(_lines(connection, _find(connection, prefix, database), columns))
    finally:
        connection.close()


def story_of_trace(
    dataset: Path, prefix: str, oracles: Sequence[Path], columns: int
) -> tuple[str, list[str]]:
    """Judge one trace and tell how it went; nothing is stored.

    Args:
        dataset: Dataset of the trace.
        prefix: Start of its id.
        oracles: Oracles to judge it by.
        columns: Width of the timeline.

    Returns:
        Several lines of text, and what was wrong with the oracles.

    Raises:
        DatasetError: No trace or several start with ``prefix``.
    """
    opened = Dataset(dataset)
    record = opened.find(prefix)
    tasks = frozenset(found.metadata.task for found in opened.records)
    found = load_oracles(oracles, tasks)
    result = judge_shard(Shard(dataset, record.scene, (record,), found, Options()))
    forget_scenes()
    problems = [str(problem) for problem in found.problems]
    problems += [message for _, message in result.problems]
    unused = unused_oracles(found, oracles, [record.metadata])
    problems += [f"{source}: {message}" for source, message in unused]
    with (
        tempfile.TemporaryDirectory() as folder,
        VerdictDatabase(Path(folder) / "one.duckdb") as verdicts,
    ):
        verdicts.commit([result.tables])
        lines = list(_lines(verdicts.connection, record.trace_id, columns))
    return "\n".join(lines), problems


def _find(connection: duckdb.DuckDBPyConnection, prefix: str, database: Path) -> str:
    rows = _rows(
        connection,
        "SELECT trace_id FROM traces WHERE starts_with(trace_id, $prefix) ORDER BY 1",
        prefix=prefix,
    )
    if len(rows) == 1:
        return str(rows[0]["trace_id"])
    if rows:
        listed = ", ".join(row["trace_id"] for row in rows[:6])
        raise DatabaseError(f"{database}: {len(rows)} traces start with {prefix!r}: {listed}")
    raise DatabaseError(f"{database}: no trace starts with {prefix!r}; query traces lists them")


def _lines(connection: duckdb.DuckDBPyConnection, trace_id: str, columns: int) -> Iterator[str]:
    trace = _rows(connection, "SELECT * FROM traces WHERE trace_id = $trace", trace=trace_id)[0]
    yield from _head(trace)
    if trace["status"] == "error":
        yield f"cannot be judged: {trace['status_error']}"
        return
    for row in _rows(
        connection,
        "SELECT outcome, first_success, at_end, lag_states FROM end_state "
        "WHERE trace_id = $trace ORDER BY evaluator DESC LIMIT 1",
        trace=trace_id,
    ):
        since = "" if row["first_success"] is None else f" at state {row['first_success']}"
        yield f"benchmark's goal: {row['outcome']}{since}; at the end: {row['at_end']}"
    for label in _rows(connection, "SELECT * FROM labels WHERE trace_id = $trace", trace=trace_id):
        action = (
            f"{label['action_id']}({', '.join(label['parameters'] or [])})" if label["action_id"] else "none"
        )
        refuted = " (refuted by the states: does not count)" if label["verified"] is False else ""
        yield f"label by {label['who']}: first failed {action} {label['note'] or ''}".rstrip() + refuted
    verdicts = _rows(
        connection,
        "SELECT v.*, o.name FROM verdicts v JOIN oracles o USING (oracle) WHERE trace_id = $trace "
        "QUALIFY row_number() OVER (PARTITION BY oracle, order_mode ORDER BY evaluator DESC) = 1 "
        "ORDER BY name, order_mode",
        trace=trace_id,
    )
    for verdict in verdicts:
        yield ""
        yield from _verdict(connection, verdict)
    yield ""
    yield from _timeline(connection, trace, columns)


def _head(trace: dict[str, Any]) -> Iterator[str]:
    task = trace["task"] if trace["task_index"] is None else f"task {trace['task_index']}"
    fault = f", fault {trace['fault']}" if trace["fault"] else ""
    yield f"trace {trace['trace_id']}: {trace['suite']} {task}, policy {trace['policy']}{fault}"
    yield f"instruction: {trace['instruction']}"
    yield (
        f"{trace['n_states']} states, the first {trace['warmup_steps']} while objects settle; "
        f"ended: {trace['ended']}"
    )
    for problem in trace["problems"] or []:
        yield f"problem: {problem}"
    for premise in trace["premise_violations"] or []:
        yield f"premise violated at the start: {premise}"


def _verdict(connection: duckdb.DuckDBPyConnection, verdict: dict[str, Any]) -> Iterator[str]:
    mode = " (strict order)" if verdict["order_mode"] == "strict" else ""
    text = f"oracle {verdict['name']}{mode}: {verdict['outcome']}"
    if verdict["first_failed_action"]:
        text += f", first failed {verdict['first_failed_action']} ({verdict['reason']})"
    if verdict["stopped_at"] is not None:
        text += f", progress stopped at state {verdict['stopped_at']}"
    yield text
    actions = _rows(
        connection,
        "SELECT * FROM actions WHERE trace_id = $trace AND oracle = $oracle "
        "AND evaluator = $evaluator AND order_mode = $order_mode ORDER BY action",
        trace=verdict["trace_id"],
        oracle=verdict["oracle"],
        evaluator=verdict["evaluator"],
        order_mode=verdict["order_mode"],
    )
    names = [f"{row['action_id']}({', '.join(row['parameters'])})" for row in actions]
    width = max(map(len, names), default=0)
    for name, row in zip(names, actions, strict=True):
        at = "" if row["completed_at"] is None else f" at state {row['completed_at']}"
        early = ""
        if row["ordering_violation"]:
            since = row["too_early_at"]
            early = ", before its turn" + ("" if since is None else f" (state {since})")
        yield f"  step {row['step']}  {name:<{width}}  {row['outcome']}{at}{early}"


def _timeline(connection: duckdb.DuckDBPyConnection, trace: dict[str, Any], columns: int) -> Iterator[str]:
    rows = _rows(
        connection,
        "SELECT monitor, first_state, last_state, truth FROM intervals WHERE trace_id = $trace "
        "AND evaluator = (SELECT max(evaluator) FROM intervals WHERE trace_id = $trace) "
        "ORDER BY monitor, first_state",
        trace=trace["trace_id"],
    )
    states = trace["n_states"]
    columns = min(columns, states)
    monitors: dict[str, list[str]] = {}
    for row in rows:
        values = monitors.setdefault(row["monitor"], [])
        values.extend([row["truth"]] * (row["last_state"] - row["first_state"] + 1))
    if not monitors:
        left_out = _rows(
            connection, "SELECT 1 FROM verdicts WHERE trace_id = $trace AND NOT intervals LIMIT 1",
            trace=trace["trace_id"],
        )  # fmt: skip
        if left_out:
            yield "truth intervals were not stored; evaluate without --verdicts-only to see them"
        return
    width = max(map(len, monitors))
    yield f"{'monitor':<{width}}  states 0 to {states - 1}; # true, + partly, . false, ? unknown"
    for name, values in monitors.items():
        marks = [
            _mark(set(values[column * states // columns : (column + 1) * states // columns]))
            for column in range(columns)
        ]
        yield f"{name:<{width}}  {''.join(marks)}"


def _mark(found: set[str]) -> str:
    if len(found) == 1:
        return _MARKS[next(iter(found))]
    return "?" if "undetermined" in found else "+"


def _rows(connection: duckdb.DuckDBPyConnection, text: str, **values: object) -> list[dict[str, Any]]:
    relation = connection.sql(text, params=values)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
