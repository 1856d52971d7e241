"""The parts of every message of the contract: Struct settings, identifiers, paging, scopes.

Rule 1: input refuses unknown members (`Params`), output may grow (`Wire`).
Rule 2: an absent optional member and null mean the same, except in a settings patch.
"""

from typing import Annotated, Any, Literal, TypeAlias, cast, dataclass_transform, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta

PROTOCOL_VERSION = "2026-11"


def matching(text: str, description: str | None = None) -> Meta:
    """Return the constraint that all of a string matches; Python's `$` would let a line's end follow."""
    return Meta(pattern=rf"^{text}\Z", description=description)


def portable(schema: Any) -> Any:
    """Return a JSON Schema whose patterns end as those of other languages do."""
    if isinstance(schema, dict):
        node = cast("dict[str, Any]", schema)
        return {
            key: value.replace(r"\Z", "$") if key == "pattern" and isinstance(value, str) else portable(value)
            for key, value in node.items()
        }
    return [portable(value) for value in cast("list[Any]", schema)] if isinstance(schema, list) else schema


ID_TEXT = "[A-Za-z0-9_.:-]{1,128}"
WITHOUT_NUL = r"[^\x00]*"
"""A text that is kept byte for byte: U+0000 is no character of a text, and ends it early for many readers."""

Id: TypeAlias = Annotated[str, matching(ID_TEXT, "An identifier: 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`.")]
Millis: TypeAlias = Annotated[int, Meta(description="Unix milliseconds.", ge=0, le=253402300799999)]
At: TypeAlias = Annotated[int, Meta(description="Unix time in milliseconds, UTC.")]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=100, description="At most this many, 1 to 100.")]
Cursor: TypeAlias = Annotated[str, Meta(max_length=1024, description="Opaque; `next_cursor` of the page before.")]
MAX_QUERY_CHARS = 4096
Query: TypeAlias = Annotated[str, Meta(max_length=MAX_QUERY_CHARS, description="Plain text; never query syntax.")]
Reason: TypeAlias = Annotated[str, Meta(max_length=512, description="The caller's own words; stored as given.")]
Unit: TypeAlias = Annotated[float, Meta(ge=0, le=1, description="0 to 1.")]

DEFAULT_LIMIT = 20

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

encode = msgspec.json.Encoder().encode
"""Encodes a value as JSON; one encoder for all, because to make one costs more than most calls of it."""
encode_sorted = msgspec.json.Encoder(order="sorted").encode
"""Encodes a value as JSON with sorted members: equal values have equal bytes."""

ScopeKind: TypeAlias = Literal["user", "workspace", "agent", "thread", "task"]
DoorName: TypeAlias = Literal["stdio", "http", "mcp", "command_line", "inspect", "proxy", "hook", "ingest"]
"""A way into the gateway."""
EdgeOrigin: TypeAlias = Literal["explicit", "inferred"]
"""Of a link: whether somebody wrote it, or a model or rule made it of a text."""
USER_SCOPE_KEY = "default"
DEFAULT_WORKSPACE = "ws_default"
"""The workspace that always exists; data without a named workspace belongs to it."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class _Message(msgspec.StructMeta):
    """Makes every subclass frozen and keyword-only (msgspec itself does not inherit `kw_only`).

    A class that is not `bounded` has the members of its bases without their bounds and descriptions, and none of its
    own.
    """

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, bounded: bool = True, **options: Any
    ) -> Any:
        options.setdefault("kw_only", True)
        options.setdefault("frozen", True)
        if not bounded:
            plain = {member: kind for base in bases for member, kind in get_type_hints(base).items()}
            shared = [one for base in bases for one in msgspec.structs.fields(base) if not one.required]
            defaults: dict[str, Any] = {
                one.name: one.default
                if one.default is not NODEFAULT
                else msgspec.field(default_factory=one.default_factory)
                for one in shared
            }
            namespace |= {"__annotations__": plain, **defaults}
        return super().__new__(mcs, name, bases, namespace, **options)


class Fields(msgspec.Struct, metaclass=_Message):
    """Members that several messages share; it is no message by itself."""


class Wire(msgspec.Struct, metaclass=_Message):
    """A message of the gateway. Members may be added later without a new protocol version."""


class Params(msgspec.Struct, metaclass=_Message, forbid_unknown_fields=True):
    """A message of a client. An unknown member is refused by name."""


class Empty(Params):
    """No parameters."""


class Nothing(Wire):
    """An empty result."""


class Scope(Params, order=True):
    """The owner of a memory. The user scope's key is `default`; the others' key is the id of what they name."""

    kind: ScopeKind
    key: Id

    def __str__(self) -> str:
        return f"{self.kind}:{self.key}"


class Cancelled(Wire):
    """Learning that was under way from a turn when it was forgotten: it writes no more, or nothing into `scope`."""

    run_id: str
    thread_id: str
    turn_id: str
    scope: Scope | None = None
    """The forgotten scope, where the run still learns other things; none where the run itself has ended."""


class Elsewhere(Wire):
    """Another workspace that would have answered a search, and with how many hits; never with what."""

    workspace_id: str
    count: int


class Diagnostic(Wire):
    """A note for a person who asks why: a registered code and, where it helps, a redacted sentence or counts."""

    code: str
    message: str | None = None
    data: dict[str, Any] | None = None
