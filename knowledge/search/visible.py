"""The collections that a call may see, and the part of them that it names."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from knowledge.ports import KnowledgeMeans
from knowledge.rows.collections import USER, KnownCollection, list_collections
from protocol.hooks import TurnContext
from protocol.memory.values import Context
from protocol.seams.contexts import workspace_in
from protocol.seams.house_facts import ThreadFact
from protocol.seams.ports import Tx

COLLECTION = "collection:"


class Part(NamedTuple):
    """A part of the files: one file, all below a folder, a collection (the path is empty), or the files of a tag."""

    collection_id: str
    path: str
    places: frozenset[tuple[str, str]] | None = None
    """The files of a tag, by collection and path, wherever they lie."""

    def holds(self, collection_id: str, path: str) -> bool:
        """Return whether a file belongs to it."""
        if self.places is not None:
            return (collection_id, path) in self.places
        is_here = not self.path or path == self.path or path.startswith(f"{self.path}/")
        return is_here and collection_id == self.collection_id


class Viewpoint(Struct, frozen=True):
    """The facts that decide which files a call sees: its workspace, and whether a subagent calls."""

    workspace_id: str
    is_subagent: bool


def viewpoint_of(tx: Tx, means: KnowledgeMeans, context: Context, turn: TurnContext | None = None) -> Viewpoint:
    """Return the viewpoint of a call. Raises `Refused("scope_out_of_context")` for a thread of another workspace.

    A call within a turn takes it from `turn`, as the turn's thread need not be stored.
    """
    thread: TurnContext | ThreadFact | None = turn
    if turn is None and context.thread_id is not None:
        thread = means.read_thread(tx, context.thread_id)
    if thread is None:
        return Viewpoint(workspace_in(context, None), is_subagent=False)
    return Viewpoint(workspace_in(context, thread.workspace_id), thread.parent_thread_id is not None)


def visible_collections(
    tx: Tx, means: KnowledgeMeans, context: Context, turn: TurnContext | None = None
) -> list[KnownCollection]:
    """Return the collections that a call sees. Raises `Refused("scope_out_of_context")`, as `viewpoint_of` does."""
    return collections_from(tx, viewpoint_of(tx, means, context, turn))


def collections_from(tx: Tx, viewpoint: Viewpoint) -> list[KnownCollection]:
    """Return the collections of the workspace and of the user; for a subagent those of the workspace alone."""
    workspace_id = viewpoint.workspace_id
    return list_collections(tx, [workspace_id] if viewpoint.is_subagent else [workspace_id, USER])


def part_of(entity: str) -> Part | None:
    """Return the part that `COLLECTION:PATH` names; None for a text of another form."""
    collection_id, colon, path = entity.partition(":")
    return Part(collection_id, path.strip("/")) if colon and collection_id else None


def select_by_source(collections: Sequence[KnownCollection], source: str | None) -> list[KnownCollection]:
    """Return the one collection that a source `collection:ID` names, if it is among them; else all."""
    if source is None or not source.startswith(COLLECTION):
        return list(collections)
    wanted = source.removeprefix(COLLECTION)
    return [known for known in collections if known.collection_id == wanted]
