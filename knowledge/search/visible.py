"""The collections that a call may see, and the part of them that it asks for."""

from collections.abc import Sequence
from typing import NamedTuple

from knowledge.ports import KnowledgeMeans
from knowledge.rows.collections import USER, KnownCollection, list_collections
from protocol.base import DEFAULT_WORKSPACE
from protocol.hooks import ThreadFact, TurnContext
from protocol.memory.values import Context
from protocol.seams.contexts import require_own_thread
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


def workspace_of(context: Context) -> str:
    """Return the workspace that a call is made in."""
    return context.workspace_id or DEFAULT_WORKSPACE


def _thread_of(tx: Tx, means: KnowledgeMeans, context: Context) -> ThreadFact | None:
    """Return the thread that a call is made in. Raises `Refused("scope_out_of_context")` for a foreign one."""
    thread = means.read_thread(tx, context.thread_id) if context.thread_id is not None else None
    if thread is not None:
        require_own_thread(context, thread.workspace_id)
    return thread


def visible_collections(
    tx: Tx, means: KnowledgeMeans, context: Context, turn: TurnContext | None = None
) -> list[KnownCollection]:
    """Return the collections of the workspace and of the user; in the thread of a subagent, of the workspace alone.

    `turn` is the one that asks, which says itself whether it is a subagent's: its thread may be stored nowhere.
    """
    thread = _thread_of(tx, means, context) if turn is None else turn
    workspaces = [workspace_of(context)]
    if thread is None or thread.parent_thread_id is None:
        workspaces.append(USER)
    return list_collections(tx, workspaces)


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
