"""The tools a model may be offered: their arguments, and their schemas made from them."""

from functools import cache
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta

from protocol.base import ID_TEXT, Cursor, Id, Millis, Params, Query, Reason, Scope, matching, portable
from protocol.conversation.host_turns import ToolSpec
from protocol.conversation.values import Domain
from protocol.files.knowledge import KnowledgeReadArgs, KnowledgeSearchArgs
from protocol.record import MAX_QUOTE_CHARS, Category, Content

MAX_RESULT_CHARS = 8000
"""Characters of a tool's whole answer as JSON text. A tool cuts its data to fit; a longer answer becomes a failure."""

ToolDomain = Literal["memory", "artifact", "agent", "knowledge"]
Quote = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_QUOTE_CHARS,
        description="The user's own sentence that says it, word for word.",
    ),
]
ToolLimit = Annotated[int, Meta(ge=1, le=20, description="At most this many, 1 to 20.")]
MemoryId = Annotated[str, matching(ID_TEXT, "The `memory_id` of an earlier answer.")]
ToolThread = Annotated[
    str, matching(ID_TEXT, "Only in this conversation: the `thread_id` of an earlier answer; left out, in all.")
]
ToolScopes = Annotated[
    list[Scope],
    Meta(description="Only in these scopes; left out, in all that are active: the user's and the project's."),
]
ToolScope = Annotated[
    Scope | None,
    Meta(
        description="Whose fact it is, for the few cases in which its category does not say it: mostly left out. "
        "An answer's `scope` such as `workspace:ws_1` is the kind `workspace` with the key `ws_1`."
    ),
]
NamedScope = Annotated[
    Scope | None, Meta(description="With `key`: the scope that an answer shows; left out with `memory_id`.")
]
ToolCategories = Annotated[list[Category], Meta(description="Only of these categories; left out, of all.")]
ToolKey = Annotated[
    str, Meta(min_length=1, max_length=256, description="A name for the fact: a later one of the same key replaces it.")
]
NamedKey = Annotated[
    str, Meta(min_length=1, max_length=256, description="With `scope`: the `key` that an answer shows.")
]
ToolValue = Annotated[
    Any,
    Meta(
        description="The fact's value for programs, such as 42; mostly left out.",
        extra_json_schema={"anyOf": [{"type": name} for name in ("string", "number", "boolean", "null")]},
    ),
]
"""Any JSON is taken; what is offered to a model is what every vendor's dialect can say."""
After = Annotated[Millis, Meta(description="Only what was said at this time or later: Unix time in milliseconds, UTC.")]
Before = Annotated[Millis, Meta(description="Only what was said before this time: Unix time in milliseconds, UTC.")]


ToolAgents = Annotated[
    list[Id], Meta(description="Only what these agents noted or is in their scope; `user`: only the user's word.")
]


class MemorySearchArgs(Params):
    """Find remembered facts by words or meaning.

    Use it at the beginning of a task, and before you say that something about the user or the project is not known.
    """

    query: Query
    scopes: ToolScopes | None = None
    categories: ToolCategories | None = None
    source_agents: ToolAgents | None = None
    limit: ToolLimit = 5


class MemoryListArgs(Params):
    """List remembered facts, newest first. Use it when the user asks what is remembered; to find something, search."""

    categories: ToolCategories | None = None
    scopes: ToolScopes | None = None
    limit: ToolLimit = 20
    cursor: Cursor | None = None


class MemoryGetArgs(Params):
    """Read one remembered fact whole, by `memory_id`, or by `scope` and `key`.

    Use it when an answer shows a fact cut short, or you need its value or dates.
    """

    memory_id: MemoryId | None = None
    scope: NamedScope = None
    key: NamedKey | None = None


class MemoryRememberArgs(Params):
    """Keep a stable fact, preference or decision that the user stated; `quote` is the sentence in which they did, word
    for word. Use it when the user asks to keep something, one fact a call.
    """  # noqa: D205  # one sentence of the tool's description fills more than a line

    content: Content
    quote: Quote | None = None
    category: Annotated[Category, Meta(description="What sort of fact it is; `custom` where none fits.")] = "custom"
    key: ToolKey | None = None
    scope: ToolScope = None
    value: ToolValue = None


class MemoryForgetArgs(Params):
    """Forget one remembered fact, by `memory_id`, or by `scope` and `key`.

    Use it when the user asks to forget something: search first, and say which one it is.
    """

    memory_id: MemoryId | None = None
    scope: NamedScope = None
    key: NamedKey | None = None
    reason: Reason | None = None


class ArtifactReadArgs(Params):
    """Read a file that a message carried: characters of a text or PDF, rows of a table, a picture.

    Go on at `next_offset`. Use it when an answer depends on what a file says.
    """

    artifact_id: Id
    version_id: Id | None = None
    offset: Annotated[int, Meta(ge=0, description="From which character on; `next_offset` goes on.")] = 0
    limit: Annotated[
        int,
        Meta(ge=1, le=MAX_RESULT_CHARS, description="At most so many characters; of a table, the whole rows in them."),
    ] = 4000


class ThreadSearchArgs(Params):
    """Find what was said in earlier conversations, by words or meaning; `from_at` and `to_at` narrow the time.

    Use it when the user speaks of something said or decided before.
    """

    query: Query
    thread_id: ToolThread | None = None
    from_at: After | None = None
    to_at: Before | None = None
    limit: ToolLimit = 5


class AgentListArgs(Params):
    """List the agents that are defined here, each with what it is for.

    Use it when you may hand a task to another agent.
    """


class AgentInfoArgs(Params):
    """Read the rules of one agent, by the `slug` of `agent_list`. Use it when you need to know how that agent works."""

    slug: Annotated[Id, Meta(description="The agent's name in `agent_list`.")]


class MemoryConsolidateArgs(Params):
    """Tidy up memory by its own rules: archive faded notes, decide on old candidates; or show what that would do.

    Use it when the user asks for it: as a dry run first, which is the default and changes nothing.
    """

    dry_run: Annotated[bool, Meta(description="Only show what would be done; false does it.")] = True


class MemoryPassesArgs(Params):
    """Show which upkeep of memory runs, when each part runs next, and how its last run ended.

    Use it when the user asks about it.
    """


class MemoryLinksArgs(Params):
    """List the facts that one remembered fact replaced, was replaced by, or is linked to.

    Use it when the user asks how a fact came to be or what belongs to it.
    """

    memory_id: MemoryId
    depth: Annotated[int, Meta(ge=1, le=2, description="How many links away: 1 or 2.")] = 1


class RequestToolsArgs(Params):
    """Ask for more tools of a domain; they are there in the next round.

    Use it when the answer needs memory, a file, the user's notes and documents, or another agent's rules.
    """

    domains: Annotated[list[ToolDomain], Meta(min_length=1, max_length=4, description="Whose tools are needed.")]
    reason: Annotated[str, Meta(max_length=500, description="What they are needed for.")]


TOOLS: dict[str, tuple[Domain, type[Params]]] = {
    "memory_search": ("memory", MemorySearchArgs),
    "memory_list": ("memory", MemoryListArgs),
    "memory_get": ("memory", MemoryGetArgs),
    "memory_remember": ("memory", MemoryRememberArgs),
    "memory_forget": ("memory", MemoryForgetArgs),
    "artifact_read": ("artifact", ArtifactReadArgs),
    "request_tools": ("agent", RequestToolsArgs),
    "agent_list": ("agent", AgentListArgs),
    "agent_info": ("agent", AgentInfoArgs),
    "knowledge_search": ("knowledge", KnowledgeSearchArgs),
    "knowledge_read": ("knowledge", KnowledgeReadArgs),
}
"""Every tool of a turn by name: its domain and its arguments, whose docstring is the description a model reads."""

DOOR_TOOLS: dict[str, tuple[Domain, type[Params]]] = {"thread_search": ("thread", ThreadSearchArgs)}
"""The tools of a model outside of any turn, beside those of memory; a turn is given conversation by its plan."""

ADMIN_TOOLS: dict[str, tuple[Domain, type[Params]]] = {
    "memory_consolidate": ("memory", MemoryConsolidateArgs),
    "memory_passes": ("memory", MemoryPassesArgs),
    "memory_links": ("memory", MemoryLinksArgs),
}
"""The tools of a door that was opened for administration; no turn has them."""


def _inline_references(schema: object, components: dict[str, Any]) -> Any:
    """Return the schema with every `$ref` replaced: some providers' tool dialects know none."""
    if isinstance(schema, dict):
        node = cast("dict[str, object]", schema)
        if "$ref" in node:
            return _inline_references(components[str(node["$ref"]).rsplit("/", 1)[-1]], components)
        return {key: _inline_references(value, components) for key, value in node.items()}
    if isinstance(schema, list):
        return [_inline_references(value, components) for value in cast("list[object]", schema)]
    return schema


_NAMES: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def _add_types(schema: object) -> Any:
    """Return the schema with the type beside each enumeration, which some vendors refuse without."""
    if isinstance(schema, list):
        return [_add_types(value) for value in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    node = {key: _add_types(value) for key, value in cast("dict[str, object]", schema).items()}
    values = node.get("enum")
    if isinstance(values, list) and "type" not in node:
        (name,) = {_NAMES[type(value)] for value in cast("list[object]", values)}
        return {"type": name, **node}
    return node


def quotes_files(name: str) -> bool:
    """Return whether a tool's answer quotes files: what they say when it is called."""
    return name in TOOLS and TOOLS[name][0] == "knowledge"


def whole_schema(kind: type) -> dict[str, Any]:
    """Return a type's JSON Schema with every reference replaced by what it names, and a type for every value."""
    (schema,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    return portable(_add_types(_inline_references(schema, components)))


@cache
def tool_spec(name: str) -> ToolSpec:
    """Return the tool as a model sees it. It is made once, and not changed. Raises `KeyError` for an unknown name."""
    domain, arguments = (TOOLS | DOOR_TOOLS | ADMIN_TOOLS)[name]
    schema = whole_schema(arguments)
    parameters = {
        key: schema[key] for key in ("type", "properties", "required", "additionalProperties") if key in schema
    }
    return ToolSpec(
        name=name, domain=domain, description=" ".join((arguments.__doc__ or "").split()), parameters=parameters
    )
