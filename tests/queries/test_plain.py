"""Every query answers as the plain one does, which joins what an evaluation writes each time it is asked."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mango_trace.queries import Result, _macros_in, find_query, query_names, run_query
from mango_trace.verdicts import derived
from tests.book import EVALUATOR, ORACLE
from tests.random_book import OTHER_EVALUATOR, RandomBook

PLAIN = Path(__file__).with_name("plain")
SAME = ("wilson_low", "wilson_high", "newcombe_low", "newcombe_high", "mcnemar_p", "short_digest", "meanings",
        "outcome_by")  # fmt: skip
"""Macros that read no table but what they are given; other tests hold them."""
VALUES: dict[str, tuple[Any, ...]] = {
    "evaluator": ("", EVALUATOR, OTHER_EVALUATOR),
    "order_mode": ("report", "strict"),
    "oracle": ("", ORACLE[:9], f"task_b, {ORACLE[:9]}", "unused"),
    "sample": ("", "paper"),
    "who": ("", "injected", "ann"),
    "faults": (False, True),
    "all": (False, True),
    "meaning": ("verdict", "success_held_k", "benchmark_success_at_end"),
    "policy": ("", "act"),
    "a": ("", "pi"),
    "b": ("", "act@1"),
    "limit": (0, 7),
}


def asked(name: str, count: int) -> Iterator[dict[str, Any]]:
    """Values of a query's parameters: the usual ones, and some others."""
    keys = [parameter.name for parameter in find_query(name).parameters if parameter.name in VALUES]
    every = [dict(zip(keys, values, strict=True)) for values in itertools.product(*(VALUES[k] for k in keys))]
    yield every[0]
    yield from random.Random(name).sample(every[1:], min(count, len(every) - 1))


def plain(database: Path, name: str, parameters: dict[str, Any]) -> Result:
    """What the plain query gives."""
    file = PLAIN / f"{name}.sql"
    text = file.read_text() if file.exists() else find_query(name).sql
    limit = parameters.get("limit") or None
    given = {key: value for key, value in find_query(name).bind(parameters).items() if f"${key}" in text}
    with duckdb.connect(str(database), read_only=True) as connection:
        derived.add_macros(connection)
        for macro in _macros_in(" ".join(SAME)):
            connection.execute(macro).fetchall()
        connection.execute((PLAIN / "_shared.sql").read_text()).fetchall()
        table = connection.sql(text, params=given or None).to_arrow_table()
    return Result(table.slice(0, limit))


def alike(value: Any, other: Any) -> bool:
    """Whether two values are equal; means of fractions depend on their order in the last digits."""
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=1e-12, abs_tol=1e-12)
    return bool(value == other)


def check(database: Path, count: int) -> None:
    for name in query_names():
        for parameters in asked(name, count):
            found, expected = run_query(database, name, parameters), plain(database, name, parameters)
            assert found.arrow.schema.types == expected.arrow.schema.types, name
            assert len(found.rows) == len(expected.rows), (name, parameters)
            for row, wanted in zip(found.rows, expected.rows, strict=True):
                assert all(map(alike, row, wanted)), (name, parameters)


def test_queries_are_the_plain_ones(tmp_path: Path) -> None:
    check(RandomBook(tmp_path / "v.duckdb", seed=1).close(), count=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_queries_are_the_plain_ones(tmp_path: Path, seed: int) -> None:
    check(RandomBook(tmp_path / "v.duckdb", seed, n_traces=40 * (seed + 1)).close(), count=6)
