"""The tools a model may be offered: their arguments, and their schemas made from them."""

import inspect
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta

from protocol.base import Cursor, Id, Millis, Params, Query, Reason, Scope, portable
from protocol.memory import Category, Content, Key
from protocol.threads import Domain, ToolSpec

MAX_RESULT_CHARS = 8000
"""A tool's whole answer as JSON text; a cut says so."""

ToolDomain = Literal["memory", "artifact"]
Quote = Annotated[str, Meta(min_length=1, max_length=2000)]
ToolLimit = Annotated[int, Meta(ge=1, le=20)]


class MemorySearchArgs(Params):
    """Find remembered facts by words or meaning."""

    query: Query
    scopes: list[Scope] | None = None
    categories: list[Category] | None = None
    limit: ToolLimit = 5


class MemoryListArgs(Params):
    """List remembered facts, newest first."""

    categories: list[Category] | None = None
    scopes: list[Scope] | None = None
    limit: ToolLimit = 20
    cursor: Cursor | None = None


class MemoryGetArgs(Params):
    """Read one remembered fact whole, by `memory_id`, or by `scope` and `key`."""

    memory_id: Id | None = None
    scope: Scope | None = None
    key: Key | None = None


class MemoryRememberArgs(Params):
    """Keep a stable fact, preference or decision that the user stated; `quote` is the sentence in which they did, word for word."""

    content: Content
    quote: Quote | None = None
    category: Category = "custom"
    key: Key | None = None
    scope: Scope | None = None
    value: Any = None


class MemoryForgetArgs(Params):
    """Forget one remembered fact, by `memory_id`, or by `scope` and `key`."""

    memory_id: Id | None = None
    scope: Scope | None = None
    key: Key | None = None
    reason: Reason | None = None


class ArtifactReadArgs(Params):
    """Read a file that a message carried: characters of a text or PDF, rows of a table, a picture. Go on at `next_offset`."""

    artifact_id: Id
    version_id: Id | None = None
    offset: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=1, le=MAX_RESULT_CHARS)] = 4000


class ThreadSearchArgs(Params):
    """Find what was said in earlier conversations, by words or meaning; `from_at` and `to_at` narrow the time."""

    query: Query
    thread_id: Id | None = None
    from_at: Millis | None = None
    to_at: Millis | None = None
    limit: ToolLimit = 5


class RequestToolsArgs(Params):
    """Ask for more tools of a domain; they are there in the next round."""

    domains: Annotated[list[ToolDomain], Meta(min_length=1, max_length=2)]
    reason: Annotated[str, Meta(max_length=500)]


TOOLS: dict[str, tuple[Domain, type[Params]]] = {
    "memory_search": ("memory", MemorySearchArgs),
    "memory_list": ("memory", MemoryListArgs),
    "memory_get": ("memory", MemoryGetArgs),
    "memory_remember": ("memory", MemoryRememberArgs),
    "memory_forget": ("memory", MemoryForgetArgs),
    "artifact_read": ("artifact", ArtifactReadArgs),
    "request_tools": ("agent", RequestToolsArgs),
}
"""Every tool of a turn by name: its domain and its arguments, whose docstring is the description a model reads."""

DOOR_TOOLS: dict[str, tuple[Domain, type[Params]]] = {"thread_search": ("thread", ThreadSearchArgs)}
"""The tools of a model outside of any turn, beside those of memory; a turn is given conversation by its plan."""


def _inlined(schema: object, components: dict[str, Any]) -> Any:
    """The schema with every `$ref` replaced: some providers' tool dialects know none."""
    if isinstance(schema, dict):
        node = cast("dict[str, object]", schema)
        if "$ref" in node:
            return _inlined(components[str(node["$ref"]).rsplit("/", 1)[-1]], components)
        return {key: _inlined(value, components) for key, value in node.items()}
    if isinstance(schema, list):
        return [_inlined(value, components) for value in cast("list[object]", schema)]
    return schema


def whole_schema(kind: type) -> dict[str, Any]:
    """A type's JSON Schema with every reference replaced by what it names."""
    (schema,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    return portable(_inlined(schema, components))


def tool_spec(name: str) -> ToolSpec:
    """The tool as a model sees it."""
    domain, arguments = (TOOLS | DOOR_TOOLS)[name]
    schema = whole_schema(arguments)
    parameters = {
        key: schema[key] for key in ("type", "properties", "required", "additionalProperties") if key in schema
    }
    return ToolSpec(
        name=name, domain=domain, description=inspect.cleandoc(arguments.__doc__ or ""), parameters=parameters
    )
