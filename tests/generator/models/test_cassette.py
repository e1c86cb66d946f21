"""Recorded calls: replayed without SDK, key and network; keyed by everything that an answer depends on."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from generator.errors import CassetteError, MalformedReplyError, NoRecordedCallError
from generator.models.cassette import Cassette, NoModel, digest
from tests.generator.models.conftest import Api
from tests.generator.models.replies import Pairs, ask
from tests.generator.models.server import Answer

GOOD = '{"accepted": true, "reason": "fits \\ud83d\\ude00"}'


def test_record_then_replay_is_identity(api: Api, tmp_path: Path) -> None:
    api.answers(api.said(GOOD, thoughts=3))
    recorded = Cassette(tmp_path / "calls", api.model).ask(ask())
    replayed = Cassette(tmp_path / "calls", NoModel(api.model.name)).ask(ask())
    assert (replayed.value, replayed.text, replayed.usage) == (recorded.value, recorded.text, recorded.usage)
    assert (recorded.replayed, replayed.replayed) == (False, True)


def test_an_interrupted_run_asks_nothing_twice(api: Api, tmp_path: Path) -> None:
    api.answers(GOOD, GOOD, "broken", GOOD)
    requests = [ask(inputs={"n": n}) for n in range(4)]
    model = Cassette(tmp_path, api.model)
    for request in requests[:2]:
        model.ask(request)
    with pytest.raises(MalformedReplyError):
        model.ask(requests[2])
    for request in requests:
        Cassette(tmp_path, api.model).ask(request)
    assert len(api.server.asked) == 3 + 2
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json"] * 4


def test_what_threads_ask_at_once_is_asked_once(api: Api, tmp_path: Path) -> None:
    api.answers(Answer(api.said(GOOD).body, wait_s=0.1))
    model = Cassette(tmp_path, api.model)
    with ThreadPoolExecutor(6) as threads:
        replies = list(threads.map(lambda n: model.ask(ask(inputs={"n": n % 2})), range(6)))
    assert len(api.server.asked) == 2
    assert sorted(reply.replayed for reply in replies) == [False] * 2 + [True] * 4


def test_what_was_not_recorded_says_which(tmp_path: Path) -> None:
    model = Cassette(tmp_path / "none", NoModel("er-1"))
    with pytest.raises(
        NoRecordedCallError, match=r"er-1 by judge for oracle\.judge, prompt version 1"
    ) as error:
        model.ask(ask())
    assert error.value.digest == digest(ask(), "er-1")


CHANGES: list[dict[str, Any]] = [
    {"role": "assessor"},
    {"task": "oracle.write"},
    {"prompt_version": "2"},
    {"system": "You judge!"},
    {"question": "Is it wrong?"},
    {"inputs": {"instruction": "close the drawer"}},
    {"reply": Pairs},
    {"temperature": 0.1},
    {"thinking_tokens": 1},
    {"reply_tokens": 1},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_the_digest_is_of_the_whole_request(change: dict[str, Any]) -> None:
    assert digest(ask(**change), "m") != digest(ask(), "m")


def test_the_digest_is_of_nothing_else() -> None:
    assert digest(ask(), "m") == digest(ask(deadline_s=1.0), "m")
    assert digest(ask(), "m") != digest(ask(), "n")


@pytest.mark.parametrize(
    "damage",
    [
        lambda call: "{",
        lambda call: json.dumps({**call, "surplus": 1}),
        lambda call: json.dumps({**call, "text": "{}"}),
        lambda call: json.dumps({**call, "usage": {"calls": "many"}}),
        lambda call: json.dumps({**call, "request": {**call["request"], "task": "other"}}),
    ],
)
def test_damage_is_named(api: Api, tmp_path: Path, damage: Any) -> None:
    api.answers(GOOD)
    Cassette(tmp_path, api.model).ask(ask())
    (path,) = tmp_path.iterdir()
    path.write_text(damage(json.loads(path.read_text())))
    with pytest.raises(CassetteError, match=path.name):
        Cassette(tmp_path, api.model).ask(ask())


def test_what_is_asked_again_is_answered_anew(tmp_path: Path) -> None:
    """A generator that was wrong is asked the same question in the next round: not its old answer again."""
    assert digest(replace(ask(), turn=2), "m") != digest(ask(), "m")
    assert digest(ask(), "m", "openai http://a/v1") != digest(ask(), "m", "openai http://b/v1")
