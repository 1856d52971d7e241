"""The names and values that a message takes where another one was given, from its schema.

Rule 1: pure; the given value is never repeated.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from promt.patterns import compile_late

_TAKEN = {
    "Invalid enum value": "enum",
    "Invalid value": "enum",
    "Object contains unknown field": "properties",
    "Expected `object": "properties",
}
"""The keyword of a schema that holds what is taken, by the beginning of the check's complaint."""
_PLACE = compile_late(r" - at `\$(?P<path>[^`]*)`\Z")
_STEP = compile_late(r"\.(?P<member>[^.\[]+)|\[[^\]]*\]")

Schema = Mapping[str, Any]


def name_taken(complaint: str, schema: Schema, types: Mapping[str, Schema]) -> str:
    """Return the names or values that a schema takes at a complaint's place, as a sentence; else an empty text.

    `types`: the schemas that `$ref` names.
    """
    asked = next((keyword for start, keyword in _TAKEN.items() if complaint.startswith(start)), None)
    if asked is None:
        return ""
    found = _PLACE.search(complaint)
    nodes = _find_nodes(schema, found["path"] if found is not None else "", types)
    taken = dict.fromkeys(str(one) for node in nodes for one in node.get(asked, ()))
    return f". It takes: {', '.join(taken)}" if taken else ""


def _find_nodes(schema: Schema, path: str, types: Mapping[str, Schema]) -> Iterator[Schema]:
    """Yield the schemas at a path such as `.scopes[0].kind`, one for each alternative."""
    if "$ref" in schema:
        schema = types[schema["$ref"]]
    if "anyOf" in schema:
        for one in schema["anyOf"]:
            yield from _find_nodes(one, path, types)
        return
    step = _STEP.match(path)
    if step is None:
        yield schema
        return
    member = step["member"]
    inner = schema.get("items") if member is None else schema.get("properties", {}).get(member)
    if inner is not None:
        yield from _find_nodes(inner, path[step.end() :], types)
