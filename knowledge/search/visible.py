"""The collections that a call may see, and the part of them that it asks for."""

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
    """A part of a collection: a file, or all below a folder; the whole collection where the path is empty."""

    collection_id: str
    path: str
    places: frozenset[tuple[str, str]] | None = None
    """The files of a tag, by collection and path, wherever they lie."""

    def holds(self, collection_id: str, path: str) -> bool:
        """Return whether a file lies in it."""
        if self.places is not None:
            return (collection_id, path) in self.places
        is_here = not self.path or path == self.path or path.startswith(f"{self.path}/")
        return is_here and collection_id == self.collection_id


class Viewpoint(Struct, frozen=True):
    """The place from which a call sees files: its workspace, and whether it is a subagent's."""

    workspace_id: str
    is_subagent: bool


def place_of(tx: Tx, means: KnowledgeMeans, context: Context, turn: TurnContext | None = None) -> Viewpoint:
    """Return where a call is made. Raises `Refused("scope_out_of_context")` for a thread of another workspace.

    `turn` is the one that asks, which says itself whether it is a subagent's: its thread may be stored nowhere.
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
    """Return the collections of the workspace and of the user; in the thread of a subagent, of the workspace alone."""
    return collections_at(tx, place_of(tx, means, context, turn))


def collections_at(tx: Tx, place: Viewpoint) -> list[KnownCollection]:
    """Return the collections that are visible at a place."""
    return list_collections(tx, [place.workspace_id] if place.is_subagent else [place.workspace_id, USER])


def part_of(entity: str) -> Part | None:
    """Return the part that `COLLECTION:PATH` names; None for any other name."""
    collection_id, colon, path = entity.partition(":")
    return Part(collection_id, path.strip("/")) if colon and collection_id else None


def chosen(collections: Sequence[KnownCollection], source: str | None) -> list[KnownCollection]:
    """Return the collections that a source names: one, or all."""
    if source is None or not source.startswith(COLLECTION):
        return list(collections)
    wanted = source.removeprefix(COLLECTION)
    return [known for known in collections if known.collection_id == wanted]
