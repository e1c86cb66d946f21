"""What a study found, as rows that are kept as JSON and that tables of documents are written from."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal

from generator.study.records import Count, read_document, write_document
from generator.study.statistics import Comparison, compare, mean_and_sd
from mango_trace.errors import UnknownNameError
from mango_trace.oracle.document import FrozenModel
from mango_trace.oracle.model import Name, Text

_PACKAGES: Final = ("mango-trace", "mujoco", "numpy", "scipy", "rapidfuzz")


class Row(FrozenModel):
    """One measure of one configuration.

    Attributes:
        configuration: The configuration.
        measure: The measure.
        n: Runs that have a value.
        mean: Mean of these.
        sd: Sample standard deviation.
        test: How it was compared with the first configuration; empty for that itself.
        p: p-value, where a test was made.
        a12: Effect, where both have values: how often the first one's value is larger.
        magnitude: What the effect is called.
    """

    configuration: Text
    measure: Name
    n: Count
    mean: float | None
    sd: float | None
    test: str = ""
    p: float | None = None
    a12: float | None = None
    magnitude: str = ""


class Report(FrozenModel):
    """What one command found.

    Attributes:
        question: Which research question.
        about: What it was asked of: who answered, tasks, traces.
        machine: Where times were taken.
        versions: Versions of the packages that figures depend on.
        rows: The figures.
    """

    question: Literal["rq1", "rq3", "rq4"]
    about: Mapping[str, str]
    machine: str
    versions: Mapping[str, str]
    rows: tuple[Row, ...]


class Reports(FrozenModel):
    """Reports by name.

    Attributes:
        version: Version of this form.
        reports: The reports.
    """

    version: Literal[1] = 1
    reports: Mapping[str, Report] = {}


def rows_of(
    samples: Mapping[str, Mapping[str, Sequence[float | None]]], measures: Sequence[str]
) -> tuple[Row, ...]:
    """Summarise runs, and compare each configuration with the first.

    Args:
        samples: For each configuration and measure the values of its runs; unknown ones are left out.
        measures: The measures in order.
    """
    first = next(iter(samples.values()), {})
    rows = []
    for index, (configuration, values) in enumerate(samples.items()):
        for measure in measures:
            known = _known(values.get(measure, ()))
            mean, sd = mean_and_sd(known)
            found = compare(_known(first.get(measure, ())), known) if index else None
            rows.append(
                Row(
                    configuration=configuration,
                    measure=measure,
                    n=len(known),
                    mean=mean,
                    sd=sd,
                    **({} if found is None else _fields(found)),
                )
            )
    return tuple(rows)


def report_of(
    question: Literal["rq1", "rq3", "rq4"], about: Mapping[str, str], rows: Sequence[Row]
) -> Report:
    """A report with the machine and the versions that its figures come from."""
    return Report(
        question=question,
        about=about,
        machine=f"{platform.machine()}, Python {platform.python_version()}",
        versions={name: version(name) for name in _PACKAGES},
        rows=tuple(rows),
    )


def read_reports(path: Path) -> Reports:
    """Read reports; none where there is no file.

    Raises:
        SpecificationError: The file holds something else.
    """
    return read_document(path, Reports) if path.exists() else Reports()


def keep_report(path: Path, name: str, report: Report) -> None:
    """Keep a report beside the others."""
    kept = read_reports(path)
    write_document(path, Reports(reports={**kept.reports, name: report}))


def printed(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as commands print them."""
    return [row.model_dump() for row in rows]


def markdown(reports: Reports, name: str) -> str:
    """A table of a document: ``NAME.measures`` or ``NAME.comparisons``, NAME being that of a report.

    Raises:
        UnknownNameError: There is no such report or table.
    """
    report, _, kind = name.rpartition(".")
    if report not in reports.reports:
        raise UnknownNameError("report", report, reports.reports)
    tables = {"measures": _measures, "comparisons": _comparisons}
    if kind not in tables:
        raise UnknownNameError("table of a report", kind, tables)
    return tables[kind](reports.reports[report].rows)


def _measures(rows: Sequence[Row]) -> str:
    """One line a measure, one column a configuration."""
    configurations = list(dict.fromkeys(row.configuration for row in rows))
    cells = {(row.measure, row.configuration): row for row in rows}
    lines = [
        f"| measure | {' | '.join(configurations)} |",
        f"| --- |{' ---: |' * len(configurations)}",
    ]
    for measure in dict.fromkeys(row.measure for row in rows):
        values = [_cell(cells[measure, one]) for one in configurations]
        lines.append(f"| {measure} | {' | '.join(values)} |")
    return "\n".join(lines) + "\n"


def _comparisons(rows: Sequence[Row]) -> str:
    lines = [
        "| measure | configuration | test | p | A12 | effect |",
        "| --- | --- | --- | ---: | ---: | --- |",
    ]
    compared = [row for row in rows if row.test]
    for measure in dict.fromkeys(row.measure for row in compared):
        lines += [
            f"| {row.measure} | {row.configuration} | {row.test} | {_number(row.p)} | {_number(row.a12)} "
            f"| {row.magnitude or '-'} |"
            for row in compared
            if row.measure == measure
        ]
    return "\n".join(lines) + "\n"


def _cell(row: Row) -> str:
    if row.mean is None:
        return "-"
    return f"{_number(row.mean)} ± {_number(row.sd)} ({row.n})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _fields(found: Comparison) -> dict[str, Any]:
    return {"test": found.test, "p": found.p, "a12": found.a12, "magnitude": found.magnitude}
