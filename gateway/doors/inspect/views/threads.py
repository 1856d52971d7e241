"""Conversations: their messages, the state of these in search, the memories shown to models; and turns by phases."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import urlencode

from gateway.doors.inspect.forms import back_of
from gateway.doors.inspect.places import list_workspaces, name_of, other_record
from gateway.doors.inspect.rendering import SHOWN_CHARS, path_part
from gateway.doors.inspect.visit import FilledTemplate, Moved, Outcome, PageNotice, Visit
from protocol import methods as m
from protocol.conversation.items import Item
from protocol.conversation.turns import Turn
from protocol.errors import CallerError, GatewayError
from protocol.gateway import HookRun

PAGE = 20
MESSAGE_CHARS = 1600
"""The most characters of a message in its conversation; the rest is on a page of its own."""
MAX_RUNS = 100
MAX_TEXTS = 20
"""The most memories of a page that are shown in their words; others by their ids."""


class ShownMemory(NamedTuple):
    """The present words of a memory that stood in a prompt, and its place."""

    place: str
    content: str


class ShownTurn(NamedTuple):
    """A turn of a conversation: its messages, and the memories and passages that stood in its prompt.

    `not_learned` is the code of the reason for which nothing was to be learned from it; None where it was allowed.
    """

    turn_id: str
    turn: Turn | None
    items: list[Item]
    memory_ids: list[str]
    chunk_ids: list[str]
    not_learned: str | None


async def threads(visit: Visit) -> Outcome:
    """List conversations, newest first."""
    wanted = visit.query.get("workspace", "")
    params: dict[str, Any] = {"limit": PAGE, "archived": "archived" in visit.query}
    params |= {"workspace_id": wanted} if wanted else {}
    params |= {"cursor": visit.query["cursor"]} if visit.query.get("cursor") else {}
    page = await visit.ask(m.THREAD_LIST, params)
    kept = {"workspace": wanted} if wanted else {}
    kept |= {"archived": "1"} if "archived" in visit.query else {}
    names = {place.scope.key: place.label for place in await list_workspaces(visit)}
    return FilledTemplate(
        "threads.html",
        "Conversations",
        {
            "threads": page.threads,
            "names": names,
            "wanted": wanted,
            "archived": "archived" in visit.query,
            "next": urlencode({**kept, "cursor": page.next_cursor}) if page.next_cursor else None,
        },
    )


async def thread(visit: Visit, thread_id: str) -> Outcome:
    """Show what was said, a page at a time; with `turn`, that turn alone."""
    found = (await visit.ask(m.THREAD_GET, {"thread_id": thread_id})).thread
    wanted = visit.query.get("turn", "")
    if wanted:
        page = await visit.ask(m.TURN_ITEMS, {"turn_id": wanted, "limit": 100})
    else:
        cursor = visit.query.get("cursor") or None
        asked = {"thread_id": thread_id, "limit": PAGE, "cursor": cursor, "order": "desc"}
        page = await visit.ask(m.THREAD_HISTORY, asked)
        page.items.reverse()
    items = [one for one in page.items if one.thread_id == thread_id]
    if wanted and not items:
        raise CallerError.missing("turn")
    turns = [
        await _build_shown_turn(visit, turn_id, list(of_turn))
        for turn_id, of_turn in groupby(items, lambda one: one.turn_id)
    ]
    context = {"workspace_id": found.workspace_id, "thread_id": thread_id, "include_user": True}
    texts = await _texts(visit, [memory_id for one in turns for memory_id in one.memory_ids], context)
    asked = {"thread_id": thread_id, "item_ids": [one.item_id for one in items]}
    state = await visit.ask(m.EPISODIC_STATUS, asked)
    return FilledTemplate(
        "thread.html",
        found.name or "A conversation",
        {
            "thread": found,
            "turns": turns,
            "texts": texts,
            "chunks": state.chunks,
            "excluded": state.excluded_items,
            "wanted": wanted,
            "most": MESSAGE_CHARS,
            "next": urlencode({"cursor": page.next_cursor}) if page.next_cursor and not wanted else None,
            "back": f"threads/{path_part(thread_id)}",
        },
    )


async def _build_shown_turn(visit: Visit, turn_id: str, items: list[Item]) -> ShownTurn:
    try:
        turn = (await visit.ask(m.TURN_GET, {"turn_id": turn_id})).turn
    except GatewayError:
        return ShownTurn(turn_id, None, items, [], [], None)
    manifest = turn.prompt_manifest
    if manifest is None:
        return ShownTurn(turn_id, turn, items, [], [], None)
    refs = [ref.id for section in manifest.sections for ref in section.source_refs if ref.kind == "memory"]
    memories = list(dict.fromkeys([*manifest.recall.memory_ids, *refs]))
    extraction = manifest.policy.extraction
    not_learned = None if extraction.allowed else extraction.reason_code
    return ShownTurn(turn_id, turn, items, memories, list(manifest.recall.chunk_ids), not_learned)


async def _texts(visit: Visit, memory_ids: Sequence[str], context: Mapping[str, Any]) -> dict[str, ShownMemory]:
    """Return by id those of some memories that may be shown in words."""
    wanted = list(dict.fromkeys(memory_ids))[:MAX_TEXTS]
    found = [await other_record(visit, memory_id, context) for memory_id in wanted]
    return {one.memory_id: ShownMemory(name_of(one.scope), one.content) for one in found if one is not None}


async def item(visit: Visit, turn_id: str, item_id: str) -> Outcome:
    """Show one message, a part at a time."""
    items = (await visit.ask(m.TURN_ITEMS, {"turn_id": turn_id, "limit": 100})).items
    found = next((one for one in items if one.item_id == item_id), None)
    if found is None:
        raise CallerError.missing("message")
    start = visit.whole_number("from") or 0
    part = found.text[start : start + SHOWN_CHARS]
    following = start + SHOWN_CHARS if start + SHOWN_CHARS < len(found.text) else None
    values = {"item": found, "part": part, "start": start, "following": following, "step": SHOWN_CHARS}
    return FilledTemplate("item.html", "A message", values)


async def turn(visit: Visit, turn_id: str) -> Outcome:
    """Show a turn: its hooks by phase with their times, its recall, and its tokens."""
    found = (await visit.ask(m.TURN_GET, {"turn_id": turn_id})).turn
    runs = (await visit.ask(m.HOOKS_RUNS, {"turn_id": turn_id, "limit": MAX_RUNS})).runs
    context = {"workspace_id": found.workspace_id, "thread_id": found.thread_id, "include_user": True}
    learned = None
    try:
        target = {"kind": "turn", "id": turn_id}
        learned = await visit.ask(m.MEMORY_EXPLAIN, {"target": target, "context": context})
    except GatewayError:
        pass
    manifest = found.prompt_manifest
    texts = await _texts(visit, manifest.recall.memory_ids if manifest is not None else [], context)
    timeline = sorted(runs, key=lambda run: (run.queued_at, run.run_id))
    return FilledTemplate(
        "turn.html",
        "A turn",
        {
            "turn": found,
            "phases": _phases(timeline),
            "learned": learned,
            "manifest": manifest,
            "texts": texts,
            "longest": max((run.duration_ms or 0 for run in runs), default=0) or 1,
        },
    )


def _phases(runs: list[HookRun]) -> list[tuple[str, list[HookRun]]]:
    return [(phase, list(members)) for phase, members in groupby(runs, lambda run: run.phase)]


# -- forms -------------------------------------------------------------------------------------------------------------


async def rename(visit: Visit, thread_id: str) -> Outcome:
    """Give a conversation another name."""
    await visit.ask(m.THREAD_UPDATE, {"thread_id": thread_id, "name": visit.require_field("name")})
    visit.show_next(PageNotice("Renamed."))
    return Moved(f"threads/{path_part(thread_id)}")


async def archive(visit: Visit, thread_id: str) -> Outcome:
    """Put a conversation into the archive, or take it out."""
    is_archived = visit.fields.get("archived") == "1"
    await visit.ask(m.THREAD_UPDATE, {"thread_id": thread_id, "archived": is_archived})
    visit.show_next(PageNotice("Archived." if is_archived else "Taken out of the archive."))
    return Moved(f"threads/{path_part(thread_id)}")


async def exclude(visit: Visit, thread_id: str) -> Outcome:
    """Exclude a message from recall."""
    result = await visit.ask(m.EPISODIC_EXCLUDE, {"item_id": visit.require_field("item")})
    fields = {"item": visit.require_field("item")}
    text = f"Excluded from recall: {_passages(result.excluded)}."
    visit.show_next(PageNotice(text, f"threads/{path_part(thread_id)}/include", fields))
    return Moved(back_of(visit.fields, f"threads/{path_part(thread_id)}"))


async def include(visit: Visit, thread_id: str) -> Outcome:
    """Allow a message to be recalled again."""
    result = await visit.ask(m.EPISODIC_UNEXCLUDE, {"item_id": visit.require_field("item")})
    visit.show_next(PageNotice(f"May be recalled again: {_passages(result.excluded)}."))
    return Moved(back_of(visit.fields, f"threads/{path_part(thread_id)}"))


def _passages(count: int) -> str:
    return "1 passage" if count == 1 else f"{count} passages"


async def ask_delete(visit: Visit, thread_id: str) -> Outcome:
    """Ask whether a conversation is to be deleted."""
    found = (await visit.ask(m.THREAD_GET, {"thread_id": thread_id})).thread
    would = {"kind": "thread", "thread_id": thread_id}
    context = {"workspace_id": found.workspace_id, "include_user": True}
    learned = await visit.ask(m.MEMORY_FORGET, {"target": would, "dry_run": True, "context": context})
    return FilledTemplate("thread_delete.html", "Delete this conversation?", {"thread": found, "learned": learned})


async def delete(visit: Visit, thread_id: str) -> Outcome:
    """Delete a conversation with its messages and their index."""
    await visit.ask(m.THREAD_DELETE, {"thread_id": thread_id})
    visit.show_next(PageNotice("The conversation is deleted, with its messages and what was indexed of them."))
    return Moved("threads")
