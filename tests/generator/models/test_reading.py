"""Our own validation: right paths, nothing mended, nothing cut out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.errors import BadReplyError, EmptyReplyError, MalformedReplyError, ProseError
from generator.models.reading import read_reply
from tests.generator.models.replies import At, Leaf, Node, Verdict


def paths(error: pytest.ExceptionInfo[MalformedReplyError]) -> list[str]:
    return [problem.path for problem in error.value.problems]


def test_an_unknown_operator_deep_inside() -> None:
    """O-73: the path leads there; branches of unions are no part of it."""
    text = json.dumps(
        {
            "op": "and",
            "args": [
                {"predicate": "on", "names": ["a"]},
                {"op": "or", "args": [{"op": "xnor", "args": []}]},
            ],
        }
    )
    with pytest.raises(MalformedReplyError, match=r"args\[1\]\.args\[0\]\.op: .*'xnor'") as error:
        read_reply(text, Node, "m")
    assert "args[1].args[0].op" in paths(error)


def test_every_problem_has_its_path() -> None:
    with pytest.raises(MalformedReplyError) as error:
        read_reply('{"accepted": "yes", "surplus": 1}', Verdict, "m")
    assert sorted(paths(error)) == ["accepted", "reason", "surplus"]


@pytest.mark.parametrize("text", ["", "  \n"])
def test_nothing(text: str) -> None:
    with pytest.raises(EmptyReplyError):
        read_reply(text, Verdict, "m")


@pytest.mark.parametrize(
    "text",
    [
        'Okay, here it is: {"accepted": true, "reason": ""}',
        '{"accepted": true, "reason": ""} I hope that helps.',
        '```json\n{"accepted": true, "reason": ""}\n```',
    ],
)
def test_words_around(text: str) -> None:
    """O-76: rejected, and the words are shown."""
    with pytest.raises(ProseError, match="JSON alone"):
        read_reply(text, Verdict, "m")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"success": [1], "failure":', "not JSON"),
        ('{"accepted": true, "accepted": false, "reason": ""}', "twice"),
        ("[" * 5000, "nested"),
        ('{"accepted": true, "reason": "' + "x" * (1 << 20) + '"}', "larger"),
        ("[1]", "Verdict"),
        ('{"accepted": true, "reason": NaN}', "reason"),
    ],
)
def test_broken(text: str, said: str) -> None:
    with pytest.raises(MalformedReplyError, match=said):
        read_reply(text, Verdict, "m")


def test_a_tuple_is_a_list_of_its_length() -> None:
    """O-71."""
    assert read_reply('{"kind": "at", "position": [1, 2, 3]}', At, "m").position == (1.0, 2.0, 3.0)
    with pytest.raises(MalformedReplyError, match="position"):
        read_reply('{"kind": "at", "position": [1, 2]}', At, "m")


def test_foreign_text_is_escaped_and_short() -> None:
    with pytest.raises(MalformedReplyError) as error:
        read_reply(json.dumps({"\x1b[31m" + "k" * 500: 1, "accepted": True, "reason": ""}), Verdict, "m")
    assert "\x1b" not in str(error.value)
    assert len(str(error.value)) < 400


@given(st.recursive(st.builds(Leaf, predicate=st.sampled_from(["on", "in"]), names=st.tuples(st.text())),
                    lambda inner: st.builds(Node, op=st.just("and"), args=st.lists(inner).map(tuple)),
                    max_leaves=8))  # fmt: skip
def test_write_then_read_is_identity(tree: Leaf | Node) -> None:
    assert read_reply(tree.model_dump_json(), type(tree), "m") == tree


@given(st.text(), st.integers(0, 100))
def test_a_part_of_a_reply_is_never_a_reply(reason: str, cut: int) -> None:
    """O-75."""
    text = Verdict(accepted=True, reason=reason).model_dump_json()
    with pytest.raises(BadReplyError):
        read_reply(text[: min(cut, len(text) - 1)], Verdict, "m")
