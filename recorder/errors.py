"""Errors of policies that live outside of this program, one class for each thing that goes wrong.

::

    MangoTraceError
    └── PolicyError                 exit 3  the episode is stored as an error, never as a failed policy
        ├── PolicyUnavailableError  nobody there in time, access refused, or another policy than before:
        │                           the recording stops, for the next episode would fare no better
        ├── PolicyLostError         the connection broke, or no reply came in time
        ├── PolicyFailedError       the policy says itself that it failed
        └── PolicyReplyError        a reply that is not what the protocol says

What a server wrote is quoted shortly and escaped; a key is never in it.
"""

from __future__ import annotations

from mango_trace.errors import MangoTraceError


class PolicyError(MangoTraceError):
    """A policy outside of this program gave no action."""

    exit_code = 3


class PolicyUnavailableError(PolicyError):
    """The policy cannot be reached at all, or is another one than the recording began with."""


class PolicyLostError(PolicyError):
    """The connection to the policy broke during an episode, or no reply came in time."""


class PolicyFailedError(PolicyError):
    """The policy reported an error of its own."""


class PolicyReplyError(PolicyError):
    """The policy's reply is not what the protocol says."""
