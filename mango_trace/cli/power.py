"""``mango-trace power``."""

from __future__ import annotations

from typing import Any

import click

from mango_trace.cli.output import format_option, print_rows

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_RATE = click.FloatRange(0, 1)


def alpha_and_power(command: Any) -> Any:
    """Give a command the options ``--alpha`` and ``--power``."""
    power = click.option(
        "--power",
        type=_SHARE,
        default=0.8,
        show_default=True,
        help="Probability with which a difference is to be detected.",
    )
    alpha = click.option(
        "--alpha",
        type=_SHARE,
        default=0.05,
        show_default=True,
        help="Level of the tests; confidence of intervals is one minus it.",
    )
    return alpha(power(command))


@click.command(
    epilog="""\b
Examples:
  mango-trace power --rate-a 0.8 --rate-b 0.7
  mango-trace power --rate-a 0.8 --rate-b 0.7 --rollouts 50 --discordance 0.2
  mango-trace power --rate-a 0.8 --rollouts 50
"""
)
@click.option("--rate-a", type=_RATE, required=True, help="Success rate of A.")
@click.option("--rate-b", type=_RATE, help="Success rate of B.")
@click.option("--rollouts", type=click.IntRange(1, 10_000_000), help="Rollouts of each policy, or pairs.")
@click.option(
    "--discordance",
    type=_RATE,
    help="Share of pairs in which one policy passes alone [default: the least that can be, and as if the two"
    " had nothing in common].",
)
@alpha_and_power
@format_option
def power(
    rate_a: float,
    rate_b: float | None,
    rollouts: int | None,
    discordance: float | None,
    alpha: float,
    power: float,
    output_format: str,
) -> None:
    """Say how many rollouts show a difference, or which difference some rollouts can show.

    With both rates: the rollouts of each policy. With one rate and --rollouts: the nearest rates of B that
    are told apart, below and above. With both and --rollouts: the probability to tell them apart. Every
    answer is given for independent rollouts and for pairs, of which fewer are needed the more the two
    policies succeed and fail together.
    """
    from mango_trace.comparing.planning import plan

    rows = plan(rate_a, rate_b, rollouts, discordance, alpha, power)
    columns = ("design", "rate_a", "rate_b", "difference", "discordance", "alpha", "rollouts", "power")
    print_rows([{name: getattr(row, name) for name in columns} for row in rows], output_format, columns)
