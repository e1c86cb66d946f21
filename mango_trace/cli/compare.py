"""``mango-trace compare``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import click

from mango_trace.cli.output import format_option, print_rows, printable
from mango_trace.cli.power import alpha_and_power

if TYPE_CHECKING:
    from mango_trace.comparing import Comparison
    from mango_trace.comparing.result import Coverage, FirstFailed, Row

_Part: TypeAlias = Literal["comparison", "failures", "coverage"]
_PARTS: Final[tuple[_Part, ...]] = ("comparison", "failures", "coverage")
_SHOWN: Final = 3
"""Tasks that are shown where the comparison is not by task: those that differ most."""


@click.command(
    epilog="""\b
Examples:
  mango-trace compare pi0 act --db verdicts.duckdb --by task
  mango-trace compare pi0@1 pi0@2 --db verdicts.duckdb --gate --margin 0.05
  mango-trace compare pi0 act --db v.duckdb --meaning benchmark_success_once --unpaired
"""
)
@click.argument("policy_a", metavar="A")
@click.argument("policy_b", metavar="B")
@click.option(
    "--db",
    "database",
    type=click.Path(path_type=Path),
    required=True,
    help="Verdict database (a DuckDB file).",
)
@click.option(
    "--meaning",
    default="verdict",
    show_default=True,
    help="What success means: the fine-grained oracle's own verdict; all its actions together at some state,"
    " at the last or for k states: success_once, success_at_end, success_held_k; in plan order or in any:"
    " sequential, any_order; the benchmark's goal: benchmark_success_once, benchmark_success_at_end.",
)
@click.option("--oracle", default="", help="Fine-grained oracle, by name or beginning of its digest.")
@click.option("--evaluator", default="", help="Evaluator whose verdicts count [default: of the latest run].")
@click.option(
    "--order", type=click.Choice(["report", "strict"]), default="report", show_default=True,
    help="Verdicts with ordering violations only reported, or strict.",
)  # fmt: skip
@click.option("--task", "tasks", multiple=True, help="Only this task: its index, or a part of its name.")
@click.option(
    "--by", type=click.Choice(["task"]), help="Show every task; p-values are adjusted by Holm's method."
)
@click.option("--unpaired", is_flag=True, help="Compare rates of independent rollouts, from whatever states.")
@click.option("--any-seed", is_flag=True, help="Pair by task and initial state alone, whatever the seeds.")
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    type=click.Choice(["horizon", "physics", "scene"]),
    help="Compare although this differs; may be repeated.",
)
@click.option("--faults", is_flag=True, help="Count rollouts with an injected fault, too.")
@alpha_and_power
@click.option("--gate", is_flag=True, help="Exit with 1 if B is worse than A, over all tasks or in one.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, max_open=True),
    help="With --gate: exit with 1 also unless the interval shows that B is less than this worse.",
)
@click.option(
    "--only",
    "part",
    type=click.Choice(_PARTS),
    help="Print this part alone [default: all; in CSV comparison].",
)
@format_option
def compare(
    policy_a: str,
    policy_b: str,
    database: Path,
    meaning: str,
    oracle: str,
    evaluator: str,
    order: str,
    tasks: tuple[str, ...],
    by: str | None,
    unpaired: bool,
    any_seed: bool,
    allowed: tuple[Literal["horizon", "physics", "scene"], ...],
    faults: bool,
    alpha: float,
    power: float,
    gate: bool,
    margin: float | None,
    part: _Part | None,
    output_format: str,
) -> None:
    """Say which of two policies is better, or that the rollouts do not show it.

    Rollouts of A and B are paired by task, initial state and seed, and compared by McNemar's exact test;
    intervals are Wilson's and Newcombe's. Where the pairs are not alike (other initial states under the same
    id, other horizons, MuJoCo versions, scenes or evaluators, a task that one of them lacks), the answer is
    "not comparable", with what differs. Errors and undetermined rollouts are counted apart, never as
    failures.

    Exit codes: 0 compared, whatever the answer; 1 with --gate, B is worse; 2 wrong use; 3 not comparable.
    With --by task the gate looks at every task, too.
    """
    from mango_trace.comparing import Question, Terms, compare_policies
    from mango_trace.errors import UsageError

    if margin is not None and not gate:
        raise UsageError("--margin goes with --gate")
    if unpaired and any_seed:
        raise UsageError("--any-seed is about pairs and does not go with --unpaired")
    question = Question(policy_a, policy_b, meaning, evaluator, order, oracle, faults, tasks)
    found = compare_policies(database, question, Terms(unpaired, any_seed, allowed, alpha, power))
    parts = _parts(found, meaning, by_task=by is not None)
    if part is not None or output_format == "csv":
        print_rows(parts[part or "comparison"], output_format, _COLUMNS[part or "comparison"])
    elif output_format == "json":
        _print_json(found, meaning, parts)
    else:
        _print_tables(found, meaning, parts)
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
    for obstacle in found.obstacles:
        click.echo(f"error: not comparable: {obstacle}", err=True)
    if found.obstacles:
        sys.exit(3)
    if gate:
        reasons = list(_regressions(found, margin, by_task=by is not None))
        for reason in reasons:
            click.echo(f"gate: {reason}", err=True)
        sys.exit(1 if reasons else 0)


_COLUMNS: Final[dict[_Part, tuple[str, ...]]] = {
    "comparison": (
        "suite", "task", "meaning", "verdict", "method", "n_a", "passed_a", "rate_a", "low_a", "high_a",
        "n_b", "passed_b", "rate_b", "low_b", "high_b", "difference", "difference_low", "difference_high",
        "n_pairs", "only_a", "only_b", "p", "p_holm", "detectable",
    ),
    "failures": ("suite", "task", "action", "n_a", "failed_a", "share_a", "n_b", "failed_b", "share_b"),
    "coverage": (
        "suite", "task", "policy", "rollouts", "judged", "compared", "undetermined", "errors",
        "not_evaluated", "distinct_initial_states",
    ),
}  # fmt: skip


def _parts(found: Comparison, meaning: str, *, by_task: bool) -> dict[_Part, list[dict[str, Any]]]:
    rows = list(found.tasks) if by_task else [row for row in found.tasks if row.difference][:_SHOWN]
    comparison = [_row(row, meaning) for row in rows]
    if by_task and not found.obstacles and found.mean_of_tasks is not None:
        comparison.append(_mean(found.mean_of_tasks, meaning))
    return {
        "comparison": [*comparison, _row(found.total, meaning)],
        "failures": [_failure(one) for one in found.first_failed if (one.task is not None) == by_task],
        "coverage": [_coverage(one) for one in found.coverage if by_task or one.task is None],
    }


def _place(task: tuple[str, str] | None) -> dict[str, Any]:
    return dict(zip(("suite", "task"), task or (None, "TOTAL"), strict=True))


def _row(row: Row, meaning: str) -> dict[str, Any]:
    sides: dict[str, Any] = {}
    for name, side in (("a", row.a), ("b", row.b)):
        low, high = side.interval or (None, None)
        sides |= {f"n_{name}": side.n, f"passed_{name}": side.passed, f"rate_{name}": side.rate}
        sides |= {f"low_{name}": low, f"high_{name}": high}
    low, high = row.interval or (None, None)
    return {
        **_place(row.task),
        "meaning": meaning,
        "verdict": row.verdict,
        "method": row.method,
        **sides,
        "difference": row.difference,
        "difference_low": low,
        "difference_high": high,
        "n_pairs": row.n_pairs,
        "only_a": row.only_a,
        "only_b": row.only_b,
        "p": row.p,
        "p_holm": row.p_holm,
        "detectable": row.detectable,
    }


def _mean(rates: tuple[float, float], meaning: str) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(_COLUMNS["comparison"])
    mean = {"task": "MEAN OF TASKS", "meaning": meaning, "rate_a": rates[0], "rate_b": rates[1]}
    return {**empty, **mean, "difference": rates[0] - rates[1]}


def _failure(one: FirstFailed) -> dict[str, Any]:
    counts: dict[str, Any] = {"n_a": one.n_a, "failed_a": one.failed_a, "share_a": one.share_a}
    counts |= {"n_b": one.n_b, "failed_b": one.failed_b, "share_b": one.share_b}
    return {**_place(one.task), "action": one.action, **counts}


def _coverage(one: Coverage) -> dict[str, Any]:
    return {
        **_place(one.task),
        "policy": one.policy,
        "rollouts": one.rollouts,
        "judged": one.judged,
        "compared": one.compared,
        "undetermined": one.undetermined,
        "errors": one.errors,
        "not_evaluated": one.not_evaluated,
        "distinct_initial_states": one.starts,
    }


def _print_tables(found: Comparison, meaning: str, parts: dict[_Part, list[dict[str, Any]]]) -> None:
    titles: dict[_Part, str] = {
        "comparison": f"A {found.a}, B {found.b}, success by {meaning}: {found.total.verdict}",
        "failures": "what failed first, of the failed rollouts",
        "coverage": "what there is",
    }
    for index, (part, title) in enumerate(titles.items()):
        click.echo(("\n" if index else "") + printable(title) + "\n")
        print_rows(parts[part], "table", _COLUMNS[part])


def _print_json(found: Comparison, meaning: str, parts: dict[_Part, list[dict[str, Any]]]) -> None:
    from mango_trace.cli.output import json_text

    document: dict[str, Any] = {
        "policy_a": found.a,
        "policy_b": found.b,
        "meaning": meaning,
        "verdict": found.total.verdict,
        **{part: [{name: row[name] for name in _COLUMNS[part]} for row in parts[part]] for part in _PARTS},
        "notes": found.notes,
        "obstacles": [{**_place(one.task), "differs": one.kind, "what": one.what} for one in found.obstacles],
    }
    click.echo(json_text(document), nl=False)


def _regressions(found: Comparison, margin: float | None, *, by_task: bool) -> Sequence[str]:
    """Why B does not pass."""
    rows = [found.total, *(found.tasks if by_task else ())]
    reasons = [
        f"B is worse than A by {row.difference:.4f} {'over all tasks' if row.task is None else row.task[1]}"
        for row in rows
        if row.verdict == "A better"
    ]
    high = found.total.interval[1] if found.total.interval else 1.0
    if margin is not None and high >= margin:
        reasons.append(f"B may be worse than A by up to {high:.4f}, which is not below the margin {margin:g}")
    return reasons
