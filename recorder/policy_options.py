"""Options of ``mango-trace record`` about policies that are not the recorder's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

_SECONDS = click.FloatRange(0, min_open=True)


def policy_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options, which it gets as one ``options`` argument.

    Args:
        command: Function with a keyword ``options`` of type
            :class:`recorder.policies.source.PolicyOptions`.
    """

    @click.option("--policy-name", help="Name to record a policy under [default: its address].")
    @click.option("--policy-version", help="Its version [default: what it says of itself].")
    @click.option(
        "--replan-steps",
        type=click.IntRange(1),
        help="Actions of each chunk that are played [default: 5 of openpi's, 8 of GR00T's, else all].",
    )
    @click.option(
        "--image-size",
        type=click.IntRange(16, 2048),
        help="Render both cameras with that many pixels a side [default: 256 where they are needed].",
    )
    @click.option(
        "--connect-timeout",
        "connect_s",
        type=_SECONDS,
        default=300,
        show_default=True,
        help="Seconds to wait for a policy's server.",
    )
    @click.option(
        "--first-reply-timeout",
        "first_reply_s",
        type=_SECONDS,
        default=600,
        show_default=True,
        help="Seconds to wait for the first reply of a connection, while a model may still be compiled.",
    )
    @click.option(
        "--reply-timeout",
        "reply_s",
        type=_SECONDS,
        default=60,
        show_default=True,
        help="Seconds to wait for every other reply.",
    )
    @functools.wraps(command)
    def wrapped(
        *,
        policy_name: str | None,
        policy_version: str | None,
        replan_steps: int | None,
        image_size: int | None,
        connect_s: float,
        first_reply_s: float,
        reply_s: float,
        **rest: Any,
    ) -> Any:
        from recorder.policies.source import PolicyOptions
        from recorder.policies.wire.deadlines import Deadlines

        deadlines = Deadlines(connect_s, first_reply_s, reply_s)
        options = PolicyOptions(policy_name, policy_version, replan_steps, image_size, deadlines)
        return command(options=options, **rest)

    return wrapped
