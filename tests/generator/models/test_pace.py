"""How fast a run may ask, whatever the number of its threads."""

from __future__ import annotations

import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from generator.models import transport
from generator.models.budget import Budget, Limits
from generator.models.calling import Calling, Retries
from generator.models.pace import Pace
from tests.generator.models.conftest import Api
from tests.generator.models.replies import ask
from tests.generator.models.server import Answer

GOOD = '{"accepted": true, "reason": "fits"}'
BUSY = Answer("", 503)


def ask_at_once(model: Calling, n: int, **options: Any) -> list[float]:
    """Ask from as many threads; gives the seconds of each."""
    with ThreadPoolExecutor(n) as threads:
        return [reply.usage.seconds for reply in threads.map(lambda _: model.ask(ask(**options)), range(n))]


def test_no_more_in_flight_than_there_are_places(api: Api) -> None:
    api.answers(Answer(api.said(GOOD).body, wait_s=0.05))
    ask_at_once(Calling(api.model, Budget(Limits()), pace=Pace(3)), 12)
    assert api.server.most_at_once == 3


def test_models_share_the_places_of_a_run(api: Api) -> None:
    api.answers(Answer(api.said(GOOD).body, wait_s=0.05))
    pace = Pace(2)
    models = [Calling(api.model, Budget(Limits()), pace=pace) for _ in range(6)]
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda model: model.ask(ask()), models))
    assert api.server.most_at_once == 2


def test_waiting_for_a_place_is_no_time_of_the_servers(api: Api) -> None:
    """Four calls of 0.3 s one after the other, each within its deadline of 0.9 s."""
    api.answers(Answer(api.said(GOOD).body, wait_s=0.3))
    begun = time.monotonic()
    seconds = ask_at_once(Calling(api.model, Budget(Limits()), pace=Pace(1)), 4, deadline_s=0.9)
    assert time.monotonic() - begun > 1.2
    assert max(seconds) < 0.9


def test_requests_are_spaced(api: Api) -> None:
    """Retries too: each of six requests is at its time or later."""
    api.answers(BUSY, BUSY, GOOD)
    pace = Pace(calls_per_minute={api.model.name: 60 / 0.1, "another": 1})
    begun = time.monotonic()
    ask_at_once(Calling(api.model, Budget(Limits()), None, Retries(4, 1, 0.001, 0.001), pace), 4)
    arrived = sorted(one.at - begun for one in api.server.asked)
    assert len(arrived) == 6
    assert all(at >= number * 0.1 for number, at in enumerate(arrived))


def test_another_model_is_not_held_back() -> None:
    pace = Pace(calls_per_minute={"slow": 1})
    begun = time.monotonic()
    for name in ("slow", "quick", "quick"):
        pace.wait(name)
    assert time.monotonic() - begun < 5


def test_certificates_are_read_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """An SDK reads them for every client: that was nine tenths of the time of a short call."""
    read = []
    load = ssl.SSLContext.load_verify_locations

    def counted(self: ssl.SSLContext, *arguments: Any, **options: Any) -> None:
        read.append(arguments)
        load(self, *arguments, **options)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", counted)
    transport.trusted.cache_clear()
    api.answers(GOOD)
    for _ in range(3):
        api.model.ask(ask())
    assert len(read) == 1
    assert transport.trusted().verify_mode is ssl.CERT_REQUIRED
