"""How far a run is: in a line, on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from generator.negotiation import Round
from generator.progress import Display, RoundReport, one_at_a_time, rounds_of
from generator.replies import Assessment

ROUND = RoundReport("II", "open", 2, {"hacker": 6.0}, 0, False)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def show(stream: io.StringIO) -> str:
    with Display(3, "task", stream) as display:
        display.show(ROUND)
        display.done()
    return stream.getvalue()


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (ROUND, "II open: round 2, hacker 6.0"),
        (
            RoundReport("III", "stove", 1, {"logic": 10, "grounding": 4.25}, 1, False),
            "III stove: round 1, logic 10.0, grounding 4.2, 1 problem",
        ),
        (RoundReport("I", "library", 3, {}, 2, False), "I library: round 3, 2 problems"),
        (RoundReport("II", "library", 1, {}, 0, True), "II library: round 1, accepted"),
    ],
)
def test_a_round_in_a_line(report: RoundReport, said: str) -> None:
    assert str(report) == said


def test_a_terminal_is_shown_the_latest_round_and_how_many_are_done() -> None:
    shown = show(Terminal())
    assert "II open: round 2, hacker 6.0" in shown
    assert "0/3" in shown
    assert "1/3" in shown


def test_what_is_no_terminal_is_shown_nothing() -> None:
    assert show(io.StringIO()) == ""


def test_it_is_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes through a pipe on stdout is a command's output alone."""
    streams = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    with Display(1, "task") as display:
        display.show(ROUND)
    assert streams[0].getvalue() == ""
    assert "hacker 6.0" in streams[1].getvalue()


def test_threads_tell_one_after_the_other() -> None:
    inside, told = threading.Lock(), []

    def seen(report: RoundReport) -> None:
        assert inside.acquire(blocking=False), "two at once"
        threading.Event().wait(0.002)
        told.append(report.number)
        inside.release()

    tell = one_at_a_time(seen)
    assert tell is not None
    reports = [RoundReport("I", "library", number, {}, 0, False) for number in range(40)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(tell, reports))
    assert sorted(told) == list(range(40))


def test_what_a_round_shows() -> None:
    told: list[RoundReport] = []
    tell = rounds_of(told.append, "II", "open")
    assert tell is not None
    assessment = Assessment(issues=["it can"], justification="", score=6.0)
    tell(2, Round("candidate", ("wrong",), {"hacker": assessment}, None, accepted=False))
    assert told == [RoundReport("II", "open", 2, {"hacker": 6.0}, 1, False)]
    assert rounds_of(None, "II", "open") is None
    assert one_at_a_time(None) is None
