"""A recognisable key, and a search for it in everything that is written or raised."""

from __future__ import annotations

import logging
import pickle
import traceback
from pathlib import Path

import pytest

from generator.errors import ModelError
from generator.models.budget import Budget, Limits
from generator.models.calling import Calling, Retries
from generator.models.cassette import Cassette
from generator.models.keys import Key
from tests.generator.models.conftest import Api
from tests.generator.models.replies import KEY, ask
from tests.generator.models.server import Answer, gemini_answer, openai_answer

GOOD = '{"accepted": true, "reason": "your key is ' + KEY + '"}'
ECHO = {"error": {"message": f"the key {KEY} is wrong", "status": KEY, "code": 400}}
SCRIPT = [
    Answer(ECHO, 400),
    Answer(f"not JSON: {KEY}", 401),
    Answer(ECHO, 429),
    Answer(ECHO, 500),
    Answer(f"<html>{KEY}</html>"),
    Answer(hang_up=True),
    Answer("", 307, {"location": f"http://127.0.0.1:1/{KEY}"}),
    Answer(wait_s=60.0),
]
BLOCKED = {
    "gemini": [
        Answer({"promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": KEY}}),
        gemini_answer(finish="SAFETY", finishMessage=KEY),
    ],
    "openai": [openai_answer(None, refusal=KEY), openai_answer("", finish=KEY)],
}


def chain(error: BaseException | None) -> str:
    """Everything that hangs on an exception, what is not printed by itself included."""
    if error is None:
        return ""
    texts = [*traceback.format_exception(error), repr(error), repr(vars(error))]
    return "".join(texts) + chain(error.__cause__) + chain(error.__context__)


def test_the_key_is_nowhere(
    api: Api, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    seen: list[str] = []
    calling = Calling(api.model, Budget(Limits()), retries=Retries(1, 1))
    model = Cassette(tmp_path, calling)
    for answer in SCRIPT + BLOCKED[api.kind]:
        api.answers(answer)
        with pytest.raises(ModelError) as error:
            model.ask(ask(deadline_s=1.0))
        seen.append(chain(error.value))
    api.answers(GOOD)
    reply = model.ask(ask())
    seen += [repr(reply), repr(model), repr(api.model), repr(calling)]
    seen += [f"{path.name} {path.read_text()}" for path in tmp_path.iterdir()]
    seen += [record.getMessage() + repr(record.__dict__) for record in caplog.records]
    seen += capsys.readouterr()
    assert len(list(tmp_path.iterdir())) == 1
    assert caplog.records  # the SDKs do log
    assert [text for text in seen if KEY in text] == []
    # It did arrive where it belongs, in one header.
    for asked in api.server.asked:
        assert [text.removeprefix("Bearer ") for text in asked.headers.values() if KEY in text] == [KEY]
        assert KEY not in asked.path


def test_a_key_shows_itself_nowhere() -> None:
    key = Key(KEY)
    assert KEY not in f"{key} {key!r}"
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(key)
    assert not hasattr(key, "__dict__")
