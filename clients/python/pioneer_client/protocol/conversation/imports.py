"""Conversations that were held elsewhere, as they are imported."""

from typing import Annotated, Literal

from msgspec import Meta

from pioneer_client.protocol.base import Id, Millis, Params, Wire
from pioneer_client.protocol.conversation.artifacts import ArtifactRefInput
from pioneer_client.protocol.conversation.threads import Thread
from pioneer_client.protocol.conversation.values import Label, Text


class ImportItem(Params):
    """One message of an imported turn."""

    role: Literal["user", "assistant"]
    text: Text
    item_id: Id | None = None
    name: Label | None = None
    artifacts: Annotated[list[ArtifactRefInput], Meta(max_length=64)] = []


class ImportTurn(Params):
    """One imported turn with the time at which it was said."""

    at: Millis
    items: Annotated[list[ImportItem], Meta(min_length=1, max_length=1000)]
    turn_id: Id | None = None


class ImportSource(Params):
    """The origin of imported turns; ids are made from it, so that a second import changes nothing."""

    kind: Annotated[str, Meta(min_length=1, max_length=64)]
    id: Annotated[str, Meta(min_length=1, max_length=512)]


class ThreadImportParams(Params):
    """`thread/import`.

    A source that does not fit one request comes in parts, the first one first: each says its `offset`, and all but the
    last one `has_more`.
    """

    workspace_id: Id
    source: ImportSource
    turns: Annotated[list[ImportTurn], Meta(max_length=10_000)]
    thread_id: Id | None = None
    mode: Literal["replace", "append"] = "replace"
    dry_run: bool = False
    name: Label | None = None
    generation: Annotated[int, Meta(ge=0)] | None = None
    """That of an earlier answer about the same conversation: turns that were forgotten or deleted since stay away."""
    offset: Annotated[int, Meta(ge=0, le=10_000_000)] | None = None
    """The number of turns of the source before these; a turn without an id is then known by its place."""
    has_more: bool = False
    """Other parts follow: later turns of the source that are there stay until their part comes."""


class ThreadImportResult(Wire):
    """The thread, and counts of turns."""

    thread: Thread
    imported: int
    skipped: int
    replaced: int
    removed: int
    """Turns of this source that it has no longer."""
    generation: int = 0
    """The home's generation of forgetting when it was asked."""
