"""``mango-trace prove``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mango_trace.cli import places
from mango_trace.cli.output import format_option, print_rows
from mango_trace.cli.reporting import announce_compiling, print_problems, progress_bar

if TYPE_CHECKING:
    from mango_trace.proving import Proof


@click.command(
    epilog="""\b
Examples:
  mango-trace prove oracles --on runs
  mango-trace prove my_oracles --on runs --save
  mango-trace prove my_oracle.json --on runs --min-score 1 --format json
"""
)
@click.argument("oracles", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--on", "dataset", required=True, metavar="DATASET", type=places.dataset, help="Traces: folder or URL."
)
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.95,
    show_default=True,
    help="Smallest share of successful traces that pass, and of mutants of each kind that are caught.",
)
@click.option(
    "--min-successes",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="With fewer successful traces an oracle is not provable.",
)
@click.option("--save", is_flag=True, help="Keep what is shown in proofs.json, beside each oracle.")
@format_option
def prove(
    oracles: tuple[Path, ...],
    dataset: Path,
    min_score: float,
    min_successes: int,
    save: bool,
    output_format: str,
) -> None:
    """Prove ORACLES, files or folders, on the traces of a dataset: one row each.

    An oracle must pass successful traces (the benchmark's goal held and no fault was injected), must not
    pass where nothing happens, and must fail mutants: successful traces that are broken on purpose, cut
    short, reversed, with an effect or the way to it removed, in another order, with objects exchanged.
    Only mutants that are counterexamples count; for each kind the row has the share that was caught and,
    under _n, of how many. Exit code 0 if every oracle is proven, else 1.
    """
    from mango_trace.proving import Limits
    from mango_trace.proving import prove as run

    announce_compiling()
    with progress_bar("trace") as progress:
        report = run(dataset, oracles, limits=Limits(min_score, min_successes), progress=progress)
    if save:
        _save(report.proofs, str(dataset))
    rows = [_row(proof, listed=output_format == "json") for proof in report.proofs]
    print_rows(rows, output_format, ("oracle", "outcome") if not rows else None)
    for proof in report.proofs:
        for line in _evidence(proof):
            click.echo(line, err=True)
    print_problems(report.problems)
    proven = sum(proof.outcome == "proven" for proof in report.proofs)
    click.echo(f"{proven} of {len(rows)} oracles are proven, in {report.seconds:.1f} s", err=True)
    sys.exit(report.exit_code)


def _save(proofs: Sequence[Proof], traces: str) -> None:
    from mango_trace.evaluation.shard import EVALUATOR
    from mango_trace.proving import record_of, write_proofs

    by_folder: dict[Path, list[Proof]] = {}
    for proof in proofs:
        by_folder.setdefault(Path(proof.source).parent, []).append(proof)
    for folder, members in by_folder.items():
        write_proofs(folder, [record_of(one, evaluator=EVALUATOR, traces=traces) for one in members])


def _row(proof: Proof, *, listed: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "oracle": proof.name,
        "outcome": proof.outcome,
        "traces": proof.n_traces,
        "successes": proof.n_successes,
        "passed": proof.n_passed,
        "idle": proof.n_idle,
        "idle_missed": proof.n_idle_missed,
        "score": proof.score,
        "score_n": proof.applicable,
        "undetermined": proof.undetermined,
    }
    for kind in proof.kinds:
        row |= {kind.kind.value: kind.score, f"{kind.kind.value}_n": kind.applicable}
    if listed:
        mutants = {kind.kind.value: kind.mutants for kind in proof.kinds}
        findings = [
            {
                "check": finding.check,
                "trace": finding.trace_id,
                "what": finding.what,
                "verdict": finding.outcome,
                "state": finding.state,
            }
            for finding in proof.findings
        ]
        row |= {
            "source": proof.source,
            "digest": proof.digest,
            "reasons": proof.reasons,
            "mutants": mutants,
            "findings": findings,
        }
    return row


def _evidence(proof: Proof) -> Iterator[str]:
    """Why an oracle is not proven, and the first thing of each sort that speaks against it."""
    if proof.reasons:
        yield f"{proof.name}: {proof.outcome.replace('_', ' ')}: {'; '.join(proof.reasons)}"
    counts = Counter(finding.check for finding in proof.findings)
    shown = set()
    for finding in proof.findings:
        if finding.check not in shown:
            shown.add(finding.check)
            more = counts[finding.check] - 1
            yield f"{proof.name}: {finding}" + (f" (and {more} more)" if more else "")
