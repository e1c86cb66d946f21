"""Readings of an instruction where it leaves open how well something has to be done.

Which actions there are, and in which order, is the same in all of them. They differ in what an action is
watched by:

* ``lenient``: what the benchmark's own predicates accept, at whatever state. A thing is picked up when both
  pads touch it, and it is there when the benchmark says so, even if it is still held or only passing
  through. What nobody named may happen.
* ``default``: the benchmark's predicates decide where a thing is, but it is lifted before, let go of, and
  still there at the end; what is used and on stays on. Behind a door it was put while the door was open. In
  containers of which the benchmark's region is too shallow, the middle of the object is asked about instead.
* ``strict``: what a person who watches would ask for. All of the above, and it is held by opposed pads, and
  really inside or really carried. Every effect lasts :data:`HOLD_S` and, unless a later clause undoes it, to
  the end, also behind a door.

What passes ``strict`` passes the other two: every action of theirs is one of ``strict`` with fewer monitors,
in the same order. That is about verdicts which report the order, not about ``--order strict``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

HOLD_S: Final = 0.25
"""How long an effect lasts in the strict reading, s."""


class Reading(StrEnum):
    """How an instruction is read where it leaves a threshold open."""

    DEFAULT = "default"
    LENIENT = "lenient"
    STRICT = "strict"

    @property
    def data(self) -> dict[str, str]:
        """What a question says of it: nothing of the default, so that its questions stay as they are."""
        return {} if self is Reading.DEFAULT else {"reading": self.value}
