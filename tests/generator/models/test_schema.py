"""Reply types are said so that the real google-genai takes them, and no right document is refused."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel

from generator.errors import ConnectionFailedError, ReplyTypeError
from generator.models.gemini import GeminiModel, gemini_schema
from generator.models.keys import Key
from generator.models.schema import KEYWORDS, reply_schema
from mango_trace.oracle.library import AtomicOracle, AtomicTask
from mango_trace.oracle.model import FineGrainedOracle
from tests.generator.models.replies import KEY, Dictionary, Node, Pairs, Placed, Verdict, ask
from tests.reference import reference_oracles
from tests.remote import free_port

REPLIES = [Verdict, Pairs, Placed, Node, AtomicTask, AtomicOracle, FineGrainedOracle]


@pytest.mark.parametrize("reply", REPLIES)
def test_the_sdk_builds_the_request(reply: type[BaseModel]) -> None:
    """O-70 to O-73: at a port where nobody listens, no connection is all that goes wrong."""
    model = GeminiModel("er-1", Key(KEY), f"http://127.0.0.1:{free_port()}")
    with pytest.raises(ConnectionFailedError):
        model.ask(ask(reply))


@pytest.mark.parametrize("reply", REPLIES)
def test_nothing_but_the_common_keywords(reply: type[BaseModel]) -> None:
    def check(schema: dict[str, Any]) -> None:
        assert set(schema) <= set(KEYWORDS)
        assert ("type" in schema) != ("anyOf" in schema)  # never the empty schema that lets a model invent
        for part in [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]:
            check(part)
        if "items" in schema:
            check(schema["items"])

    check(reply_schema(reply))


def test_shipped_oracles_fit_the_schema_of_their_type() -> None:
    documents = reference_oracles()
    oracles = [document for path in documents if "plan" in (document := json.loads(path.read_text()))]
    assert len(oracles) == 10
    for oracle in oracles:
        jsonschema.validate(oracle, reply_schema(FineGrainedOracle))


def test_a_dictionary_is_refused_before_anything_is_sent() -> None:
    """O-70."""
    model = GeminiModel("er-1", Key(KEY), f"http://127.0.0.1:{free_port()}")
    with pytest.raises(ReplyTypeError, match=r"Dictionary, inner\[\]: a dictionary.*name and value"):
        model.ask(ask(Dictionary))


def test_union_and_tuple() -> None:
    """O-71: no discriminator, a list of exactly three."""
    schema = gemini_schema(reply_schema(Placed))
    near, at = schema["properties"]["where"]["anyOf"]
    assert near["properties"]["kind"] == {"type": "string", "enum": ["near"]}
    assert at["properties"]["position"] == {
        "type": "array",
        "items": {"type": "number"},
        "minItems": 3,
        "maxItems": 3,
    }
    assert schema["required"] == ["where"]  # O-72: a default value is not said


def test_recursion_is_written_out_to_a_leaf() -> None:
    """O-73: three levels of connectives, and in the last of them leaves only."""
    node, depth = reply_schema(Node), 1
    while "anyOf" in node["properties"]["args"]["items"]:
        node, depth = node["properties"]["args"]["items"]["anyOf"][0], depth + 1
    assert depth == 3
    assert set(node["properties"]["args"]["items"]["properties"]) == {"predicate", "names"}


def test_a_type_without_end_is_refused() -> None:
    class Endless(BaseModel):
        inner: Endless

    with pytest.raises(ReplyTypeError, match="without end"):
        reply_schema(Endless)


@pytest.mark.parametrize("annotation", [Any, list, dict, bytes | Any])
def test_what_takes_anything_is_refused(annotation: Any) -> None:
    reply = type("Loose", (BaseModel,), {"__annotations__": {"field": annotation}})
    with pytest.raises(ReplyTypeError, match="Loose, field"):
        reply_schema(reply)
