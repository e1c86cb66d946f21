"""Reply types as JSON schemas that every provider takes.

Pydantic writes more JSON schema than providers read: google-genai refuses discriminators and tuples before
anything is sent, and makes of a type that contains itself an empty schema, which lets a model invent fields.
Here the same type is said in the part that all of them read: nothing but :data:`KEYWORDS`, no references,
recursion written out for :data:`LEVELS` levels. The schema guides a model; what counts is the validation of
what it wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema

from generator.errors import ReplyTypeError

LEVELS: Final = 3
"""How often a type may be inside itself."""

MAX_NODES: Final = 2000
"""Most types in a schema once all references are written out."""

KEYWORDS: Final = (
    "type", "description", "properties", "required", "additionalProperties", "items", "anyOf", "enum",
    "minItems", "maxItems", "minimum", "maximum",
)  # fmt: skip
"""All that occurs in a schema. Lengths and patterns of texts do not: guided decoding is slow with them."""

Schema: TypeAlias = dict[str, Any]
"""A JSON schema, or a part of one."""


def reply_schema(reply: type[BaseModel]) -> Schema:
    """Say a reply type as a JSON schema of :data:`KEYWORDS`.

    Unions with a discriminator become plain ones, a tuple of fixed length a list of that length.

    Args:
        reply: The type.

    Returns:
        The schema, of type object; the same object each time, which is not to be changed.

    Raises:
        ReplyTypeError: If a field is a dictionary or takes anything, if the type cannot end or is too large.
    """
    try:
        document = full_schema(reply)
    except PydanticInvalidForJsonSchema as error:
        raise ReplyTypeError(reply.__name__, "", f"has no JSON schema: {error.message}") from error
    schema = _Writer(reply.__name__, document.get("$defs", {})).write(document, "", ())
    if schema is None:
        raise ReplyTypeError(reply.__name__, "", "contains itself in a field that must be there, without end")
    return schema


def full_schema(reply: type[BaseModel]) -> Schema:
    """All that pydantic says of a reply type; the same object each time, which is not to be changed."""
    return _made_once(reply)


@cache  # a question needs it several times
def _made_once(reply: Any) -> Schema:
    schema: Schema = reply.model_json_schema(mode="validation")
    return schema


class _Writer:
    """Writes one schema out.

    Args:
        name: Name of the reply type, for messages.
        definitions: What references refer to.
    """

    def __init__(self, name: str, definitions: Mapping[str, Schema]) -> None:
        self._name = name
        self._definitions = definitions
        self._nodes = 0

    def write(self, node: Schema, where: str, inside: tuple[str, ...]) -> Schema | None:
        """Write a part out.

        Args:
            node: What pydantic says.
            where: Path of the field.
            inside: References that are being written out, outermost first.

        Returns:
            The part, or ``None`` where recursion is cut.
        """
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise self._refuse(
                "", f"more than {MAX_NODES} types when recursion is written out {LEVELS} levels deep"
            )
        if "$ref" in node:
            target = node["$ref"].rsplit("/", 1)[-1]
            if inside.count(target) >= LEVELS:
                return None
            written = self.write(self._definitions[target], where, (*inside, target))
        elif branches := node.get("anyOf") or node.get("oneOf"):
            written = self._union(branches, where, inside)
        elif "const" in node or "enum" in node:
            written = self._choice(node, where)
        else:
            match node.get("type"):
                case "object":
                    written = self._object(node, where, inside)
                case "array":
                    written = self._array(node, where, inside)
                case str(name):
                    bounds: Schema = {key: node[key] for key in ("minimum", "maximum") if key in node}
                    written = {"type": name, **bounds}
                case _:
                    raise self._refuse(where, "takes anything; say what it is")
        # Docstrings of classes speak to programmers; what is said about a field speaks to the model.
        if written is not None and "description" in node and "properties" not in node:
            written = {**written, "description": node["description"]}
        return written

    def _union(self, branches: list[Schema], where: str, inside: tuple[str, ...]) -> Schema | None:
        written = [part for branch in branches if (part := self.write(branch, where, inside)) is not None]
        # Where recursion is cut, an optional field would be left with null alone.
        if all(part == {"type": "null"} for part in written):
            return None
        return written[0] if len(written) == 1 else {"anyOf": written}

    def _choice(self, node: Schema, where: str) -> Schema:
        values = node["enum"] if "enum" in node else [node["const"]]
        kinds = {type(value) for value in values}
        names = {str: "string", bool: "boolean", int: "integer", float: "number"}
        if len(kinds) != 1 or not kinds <= set(names):
            raise self._refuse(where, "literals of several kinds; use texts only")
        return {"type": names[kinds.pop()], "enum": list(values)}

    def _object(self, node: Schema, where: str, inside: tuple[str, ...]) -> Schema | None:
        if not node.get("properties"):
            raise self._refuse(
                where,
                "a dictionary, whose names no response schema can say; use a list of objects with the fields "
                "name and value",
            )
        required = node.get("required", [])
        properties: dict[str, Schema] = {}
        for name, field in node["properties"].items():
            written = self.write(field, f"{where}.{name}" if where else name, inside)
            if written is not None:
                properties[name] = written
            elif name in required:
                return None
        return {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name in required],
            "additionalProperties": False,
        }

    def _array(self, node: Schema, where: str, inside: tuple[str, ...]) -> Schema | None:
        bounds: Schema = {key: node[key] for key in ("minItems", "maxItems") if key in node}
        entry = node.get("items", {})
        if "prefixItems" in node:
            entries = node["prefixItems"]
            entry = entries[0] if all(one == entries[0] for one in entries) else {"anyOf": entries}
            bounds = {"minItems": len(entries), "maxItems": len(entries)}
        items = self.write(entry, f"{where}[]", inside)
        return None if items is None else {"type": "array", "items": items, **bounds}

    def _refuse(self, where: str, reason: str) -> ReplyTypeError:
        return ReplyTypeError(self._name, where, reason)
