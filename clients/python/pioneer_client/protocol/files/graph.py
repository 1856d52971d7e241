"""The names and links of files, on the wire."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from pioneer_client.protocol.base import At, Cursor, Diagnostic, EdgeOrigin, Id, Limit, Params, Unit, Wire
from pioneer_client.protocol.files.collections import CollectionId
from pioneer_client.protocol.memory.values import Context

FileEntityKind: TypeAlias = Literal[
    "page", "folder", "project", "area", "resource", "archive", "inbox", "tag", "code", "person", "topic"
]
FileEdgeKind: TypeAlias = Literal[
    "links", "embeds", "relates", "supersedes", "imports", "mentions", "member_of", "tagged"
]
EntityName: TypeAlias = Annotated[
    str,
    Meta(min_length=1, max_length=4096, description="An entity's id, COLLECTION:PATH, or a name that only one has."),
]


class EntitiesParams(Params):
    """`knowledge/entities`: those of a workspace and of the user, or of one collection."""

    query: Annotated[str, Meta(max_length=4096)] | None = None
    """A part of a name."""
    kinds: list[FileEntityKind] | None = None
    collection_id: CollectionId | None = None
    limit: Limit = 20
    cursor: Cursor | None = None
    context: Context = field(default_factory=Context)


class FileEntity(Wire):
    """A page, a folder, a tag or a file of code. `files`: how many files it stands for."""

    entity_id: str
    name: str
    kind: FileEntityKind
    collection_id: str
    path: str | None
    aliases: list[str]
    files: int


class EntitiesResult(Wire):
    """Entities, in the order in which they came."""

    entities: list[FileEntity]
    next_cursor: str | None


class EdgesParams(Params):
    """`knowledge/edges`: those at an entity."""

    entity: EntityName
    direction: Literal["out", "in", "both"] = "both"
    kinds: list[FileEdgeKind] | None = None
    min_strength: Unit = 0.0
    limit: Limit = 20
    cursor: Cursor | None = None
    context: Context = field(default_factory=Context)


class UnresolvedLink(Wire):
    """A link that leads nowhere, as it was written. `candidates`: the entities of that name, if there are several."""

    text: str
    candidates: list[Id]


class FileEdge(Wire):
    """A link, a folder's or a tag's file. `address` is where it is stated."""

    from_: Id = field(name="from")
    kind: FileEdgeKind
    strength: float
    origin: EdgeOrigin
    address: str
    created_at: At
    to: Id | None = None
    unresolved: UnresolvedLink | None = None


class EdgesResult(Wire):
    """Edges, in the order in which they came; `diagnostics` says where nothing has the entity's name."""

    edges: list[FileEdge]
    next_cursor: str | None
    diagnostics: list[Diagnostic] = []
