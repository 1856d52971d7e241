"""Rows of what was said and done in turns, and of what tools answered hosts."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from agent.evidence import is_indexable
from agent.rows.artifacts import add_artifacts, artifacts_of
from agent.rows.statements import LAST, SQL, to_json
from promt.patterns import compile_late
from protocol.conversation.items import Item, ToolUse
from protocol.conversation.values import ItemKind
from protocol.models import Message
from protocol.seams.checks import Find, row_finder
from protocol.seams.house_facts import ItemFact
from protocol.seams.ports import Row, Tx

MEMORY_ID = compile_late(r"mem_[0-9A-Za-z_-]+")
_COLLECTION = compile_late(r'"collection_id":"([^"\\]+)"')
ALTERED: Final = "[altered]"
"""The text of an item that was altered in the file: nobody vouches for what stands there."""
BEHIND = 1_000_000
"""Places of a turn's tool events begin here: they stand behind what was said, and are no part of the transcript."""

_TOOL_USE: Final = msgspec.json.Decoder(ToolUse)
"""Built at import: msgspec does not guard two threads that build the decoder of one type at once."""


def _item_of(tx: Tx, row: Row) -> Item:
    """Return the item of a row of `{shown_item}`; of one that was altered in the file nothing that it says."""
    is_whole = bool(row[10])
    tool = _TOOL_USE.decode(row[9]) if row[9] and is_whole else None
    return Item(
        item_id=row[0],
        turn_id=row[1],
        thread_id=row[2],
        kind=row[3],
        role=row[4],
        status=row[5],
        text=row[6] if is_whole else ALTERED,
        at=row[7],
        name=row[8] if is_whole else None,
        artifacts=artifacts_of(tx, row[0]),
        tool=tool,
        altered=not is_whole,
    )


# -- reading -----------------------------------------------------------------------------------------------------------


def items_of_turn(tx: Tx, turn_id: str) -> list[Item]:
    """Return a turn's items in order."""
    rows = tx.all(SQL["items_of_turn"], {"turn_id": turn_id, "after": 0, "limit": LAST})
    return [_item_of(tx, row) for row in rows]


def messages_of_turns(tx: Tx, turn_ids: Sequence[str]) -> dict[str, list[Message]]:
    """Return the messages of some turns, by turn and in order, without files; turns that were silent have no entry."""
    said: defaultdict[str, list[Message]] = defaultdict(list)
    for turn_id, kind, text in tx.all(SQL["messages_of_turns"], {"turn_ids": json.dumps(list(turn_ids))}):
        said[turn_id].append(Message(role="user" if kind == "user_message" else "assistant", content=text))
    return said


class HistoryPlace(NamedTuple):
    """The place of an item in its thread."""

    turn_position: int
    item_position: int
    row: int


def read_history_page(
    tx: Tx,
    thread_id: str,
    place: HistoryPlace,
    limit: int,
    *,
    kinds: Sequence[ItemKind] | None,
    order: Literal["asc", "desc"],
) -> list[tuple[HistoryPlace, Item]]:
    """Return a thread's items behind a place in that order, each with its own place."""
    values = place._asdict() | {
        "thread_id": thread_id,
        "limit": limit,
        "kinds": f",{','.join(kinds)}," if kinds is not None else "",
    }
    rows = tx.all(SQL["history_asc" if order == "asc" else "history_desc"], values)
    return [(HistoryPlace(*row[11:14]), _item_of(tx, row)) for row in rows]


def turn_items(tx: Tx, turn_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return by turn id the ids of its items and tool events, in order, each with the size of its text in bytes."""
    items: dict[str, dict[str, int]] = {turn_id: {} for turn_id in turn_ids}
    for turn_id, item_id, size in tx.all(
        SQL["item_ids_of_turns"], {"turn_ids": json.dumps(list(items)), "behind": BEHIND}
    ):
        items[turn_id][item_id] = size
    return items


def find_request_before(tx: Tx, turn_id: str) -> str:
    """Return the user's last words before a turn, in its conversation; empty where there are none."""
    row = tx.one(SQL["find_request_before"], {"turn_id": turn_id})
    return row[0] if row is not None else ""


def list_texts_of_others(tx: Tx, turn_id: str, limit: int) -> list[str]:
    """Return texts that reached a turn's conversation and are not its user's, newest first: of tools, of imports."""
    return [text for (text,) in tx.all(SQL["list_texts_of_others"], {"turn_id": turn_id, "limit": limit})]


def items_after(tx: Tx, after: int, limit: int) -> list[tuple[int, str]]:
    """Return the next messages of users and assistants as (row, item id), by row."""
    return [(row, item_id) for row, item_id in tx.all(SQL["messages_after"], {"after": after, "limit": limit})]


def read_items(tx: Tx, item_ids: Collection[str]) -> Mapping[str, ItemFact]:
    """Return items as other houses may know them, in that order; unknown ids are absent.

    A tool's summary begins with the tool's name. A message that was altered in the file is not indexable.
    """
    values = {"item_ids": json.dumps(list(item_ids)), "behind": BEHIND}
    return {
        row[1]: ItemFact(
            item_id=row[1],
            turn_id=row[2],
            thread_id=row[3],
            workspace_id=row[4],
            role=row[5],
            name=None if row[11] == "tool_event" else row[6],
            text=f"{row[6]}: {row[7]}" if row[11] == "tool_event" else row[7],
            at=row[8],
            turn_seq=row[9],
            item_seq=row[10],
            indexable=bool(row[16]) and is_indexable(row[11], row[12], row[13], row[14], row[7], row[6]),
            thread_name=row[15],
            is_altered=not row[16],
        )
        for row in tx.all(SQL["get_items"], values)
    }


def list_lost_owners(tx: Tx) -> list[str]:
    """Return the conversations and turns that are not there any more, of which messages are: nothing shows these."""
    return [f"{kind} {name}" for kind, name in tx.all(SQL["list_lost_owners"])]


def find_altered_items() -> Find:
    """Return the check that finds items whose columns do not match their digest, each with its turn and item id."""
    return row_finder(SQL["vouched_items_after"], lambda row: not row[-1])


# -- writing -----------------------------------------------------------------------------------------------------------


def add_item(tx: Tx, item: Item, position: int, *, keeps_files: bool = False) -> None:
    """Store an item and the references of its files; `keeps_files`: their bytes were received here."""
    tool = to_json(item.tool) if item.tool is not None else None
    tx.run(
        SQL["add_item"],
        {
            "item_id": item.item_id,
            "turn_id": item.turn_id,
            "thread_id": item.thread_id,
            "position": position,
            "kind": item.kind,
            "role": item.role,
            "status": item.status,
            "text": item.text,
            "at": item.at,
            "name": item.name,
            "tool": tool,
        },
    )
    if item.kind == "tool_result":
        _add_mentions(tx, item.turn_id, item.text)
    add_artifacts(tx, item, are_kept=keeps_files)


def _add_mentions(tx: Tx, turn_id: str, text: str) -> None:
    """Store which memories an answer names, and which collections it quotes: a forgetting finds the copies by them."""
    for named in dict.fromkeys([*MEMORY_ID.findall(text), *_COLLECTION.findall(text)]):
        tx.run(SQL["add_mention"], {"named": named, "turn_id": turn_id})


# -- what tools answered hosts -----------------------------------------------------------------------------------------


class StoredReply(NamedTuple):
    """A tool's reply in a host-driven turn, and a digest of the call's arguments."""

    request: bytes
    result: str


def find_tool_reply(tx: Tx, turn_id: str, call_id: str) -> StoredReply | None:
    """Return the answer of a tool call in a host-driven turn."""
    row = tx.one(SQL["get_tool_reply"], {"turn_id": turn_id, "call_id": call_id})
    return StoredReply(*row) if row else None


def add_tool_reply(tx: Tx, turn_id: str, call_id: str, reply: StoredReply) -> None:
    """Store what a tool answered in a host-driven turn."""
    tx.run(SQL["add_tool_reply"], {"turn_id": turn_id, "call_id": call_id, **reply._asdict()})
    _add_mentions(tx, turn_id, reply.result)


# -- forgetting --------------------------------------------------------------------------------------------------------


class ToolText(NamedTuple):
    """An item's text, and its tool as JSON."""

    item_id: str
    text: str
    tool: str | None


def turns_naming(tx: Tx, named: Sequence[str]) -> list[str]:
    """Return the turns in which tools' answers name some of these memories, or quote some of these collections."""
    return [turn_id for (turn_id,) in tx.all(SQL["turns_naming"], {"named": to_json(named)})]


def texts_of_turn(tx: Tx, turn_id: str) -> Iterator[ToolText]:
    """Return the texts of a turn's items, in order."""
    return map(ToolText._make, tx.all(SQL["texts_of_turn"], {"turn_id": turn_id}))


def results_of_turn(tx: Tx, turn_id: str) -> Iterator[ToolText]:
    """Return the answers of a turn's tools, in order."""
    return map(ToolText._make, tx.all(SQL["results_of_turn"], {"turn_id": turn_id}))


def redact_item(tx: Tx, redacted: ToolText) -> int:
    """Store an item that does not say any more what was forgotten; return how many rows changed."""
    return tx.run(SQL["redact_item"], redacted._asdict())


def replies_of_turn(tx: Tx, turn_id: str) -> list[tuple[str, str]]:
    """Return the answers of tools in a host-driven turn as (call id, result)."""
    return [(call_id, result) for call_id, result in tx.all(SQL["replies_of_turn"], {"turn_id": turn_id})]


def redact_reply(tx: Tx, turn_id: str, call_id: str, result: str) -> int:
    """Store an answer without what was forgotten; return how many rows changed."""
    return tx.run(SQL["redact_reply"], {"turn_id": turn_id, "call_id": call_id, "result": result})
