"""The schemas of tools, converted as strict frameworks of agents do it: what they refuse is refused here."""

import json
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import pytest
from jsonschema import Draft202012Validator

from gateway.doors.mcp.answers import ANSWERS
from protocol.record import Category
from protocol.tools import ADMIN_TOOLS, DOOR_TOOLS, TOOLS, tool_spec, whole_schema

NAMES = [*TOOLS, *DOOR_TOOLS, *ADMIN_TOOLS]
KEYWORDS = {
    "type",
    "description",
    "title",
    "default",
    "enum",
    "anyOf",
    "items",
    "properties",
    "required",
    "additionalProperties",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "pattern",
}
"""What the dialects of all vendors have in common; none has `$ref`, `oneOf`, `allOf`, `not`, `const`, `format` or lists
of types."""
MAX_DEPTH = 5
MAX_PROPERTIES = 100


def nodes(schema: dict[str, Any], path: str = "$", depth: int = 0) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Every schema in a schema, with its place and how deep it lies."""
    yield path, depth, schema
    for name, one in schema.get("properties", {}).items():
        yield from nodes(one, f"{path}.{name}", depth + 1)
    for number, one in enumerate(schema.get("anyOf", [])):
        yield from nodes(one, f"{path}|{number}", depth)
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]", depth + 1)


def strict(schema: dict[str, Any], path: str = "$") -> dict[str, Any]:
    """The schema as strict modes take it: all properties required, defaults taken out. Raises `AssertionError` for what
    they refuse."""
    assert set(schema) <= KEYWORDS, (path, set(schema) - KEYWORDS)
    assert ("type" in schema) != ("anyOf" in schema), f"{path} has no type, or two"
    assert isinstance(schema.get("type", ""), str), f"{path} has a list of types"
    found = {key: value for key, value in schema.items() if key != "default"}
    if schema.get("type") == "object":
        assert schema["additionalProperties"] is False, f"{path} is open"
        members = schema["properties"]
        for name in set(members) - set(schema["required"]):
            may_be_null = {"type": "null"} in members[name].get("anyOf", [])
            assert may_be_null or "default" in members[name], f"{path}.{name} can be left out, and says not how"
        found |= {"properties": {name: strict(one, f"{path}.{name}") for name, one in members.items()}}
        found["required"] = list(members)
    if schema.get("type") == "array":
        found["items"] = strict(schema["items"], f"{path}[]")
    if "anyOf" in schema:
        found["anyOf"] = [strict(one, f"{path}|{number}") for number, one in enumerate(schema["anyOf"])]
        assert len({json.dumps(one, sort_keys=True) for one in found["anyOf"]}) == len(found["anyOf"])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_arguments_of_a_tool_convert_strictly(name: str) -> None:
    schema = tool_spec(name).parameters
    converted = strict(schema)
    assert converted["type"] == "object"
    Draft202012Validator.check_schema(converted)
    every = list(nodes(converted))
    assert max(depth for _, depth, _ in every) <= MAX_DEPTH
    assert sum(len(node.get("properties", {})) for _, _, node in every) <= MAX_PROPERTIES


@pytest.mark.parametrize("name", NAMES)
def test_what_is_given_strictly_is_taken(name: str) -> None:
    """A strict model names every property: null, or the default, for what it would leave out."""
    schema = tool_spec(name).parameters
    given: dict[str, Any] = {}
    for member, one in schema["properties"].items():
        kinds = {kind.get("type") for kind in one.get("anyOf", [one])}
        samples = {
            "integer": 1,
            "string": "x" * one.get("minLength", 1),
            "array": ["memory"],
            "object": {},
            "number": 1,
            "boolean": True,
        }
        given[member] = None if "null" in kinds else one.get("default", samples[one.get("type", "string")])
    msgspec.convert(given, (TOOLS | DOOR_TOOLS | ADMIN_TOOLS)[name][1])


@pytest.mark.parametrize("name", NAMES)
def test_a_description_says_when_to_use_a_tool_and_what_each_argument_is(name: str) -> None:
    spec = tool_spec(name)
    assert " Use it when " in spec.description or " Use it at " in spec.description
    for member, one in spec.parameters["properties"].items():
        kinds = one.get("anyOf", [one])
        assert any(kind.get("description") for kind in [one, *kinds]), f"{name}.{member}"


@pytest.mark.parametrize("name", list(ANSWERS))
def test_every_value_of_an_answer_has_a_type_and_a_time_its_unit(name: str) -> None:
    for path, _, node in nodes(whole_schema(ANSWERS[name])):
        assert "type" in node or "anyOf" in node, path
        assert "$ref" not in node
    for path, _, node in nodes(whole_schema(ANSWERS[name])):
        if path.rsplit(".", 1)[-1].rstrip("|0") in {"at", "updated_at", "created_at", "expires_at", "from_at", "to_at"}:
            kinds = node.get("anyOf", [node])
            assert any("Unix time in milliseconds" in kind.get("description", "") for kind in kinds), path


def test_times_of_arguments_say_what_they_are() -> None:
    members = tool_spec("thread_search").parameters["properties"]
    for name in ("from_at", "to_at"):
        assert "Unix time in milliseconds, UTC" in members[name]["anyOf"][0]["description"]


def test_an_enumeration_has_its_type_beside_it() -> None:
    category = tool_spec("memory_remember").parameters["properties"]["category"]
    assert (category["type"], sorted(category["enum"])) == ("string", sorted(get_args(Category)))


def test_6_no_tool_of_a_model_can_pin() -> None:
    for name in NAMES:
        schema = tool_spec(name).parameters
        assert "pinned" not in schema["properties"]
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({"pinned": True}, (TOOLS | DOOR_TOOLS | ADMIN_TOOLS)[name][1])
    assert "memory_update" not in NAMES
