"""Conversations as turns of the contract, and turns as requests of bounded size. Pure.

Rule 1: a question and its answers are a turn, whose time stands for all of them: a much later message begins another.
Rule 2: nothing is cut away: a text that is too long for one item goes on in the next.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from gateway.imports.formats.draft import Conversation
from protocol.conversation.imports import ImportItem, ImportTurn

GAP_MS = 15 * 60 * 1000  # a message that comes later than this begins another turn
MAX_ITEMS = 1000
MAX_TURNS = 5000
MAX_ITEM_CHARS = 250_000
"""A sixteenth of an item's limit: an index job works on one text at a time."""


class Sizes(NamedTuple):
    """The limits: characters of an item, bytes of a turn and of a request, all well below the gateway's line."""

    item_chars: int
    turn_bytes: int
    request_bytes: int

    @classmethod
    def of(cls, max_message_bytes: int) -> "Sizes":
        """Return the limits below a gateway's longest line: in JSON a character takes six bytes at most."""
        return cls(min(MAX_ITEM_CHARS, max_message_bytes // 32), max_message_bytes // 4, max_message_bytes // 2)


def pieces(text: str, max_chars: int) -> Iterator[str]:
    """Yield the text in parts of limited length, cut behind a line's end where there is one; their sum is the text."""
    start = 0
    while len(text) - start > max_chars:
        end = text.rfind("\n", start + max_chars // 2, start + max_chars) + 1 or start + max_chars
        yield text[start:end]
        start = end
    yield text[start:]


def turns(conversation: Conversation, sizes: Sizes) -> Iterator[ImportTurn]:
    """Yield the conversation's turns in order."""
    items: list[ImportItem] = []
    size, began_at, at = 0, 0, conversation.at
    for message in conversation.messages:
        at = at if message.at is None else message.at
        is_question = message.role == "user" and (not items or items[-1].role != "user")
        is_new = is_question or abs(at - began_at) > GAP_MS
        for text in pieces(message.text, sizes.item_chars):
            item = ImportItem(role=message.role, text=text)
            length = len(msgspec.json.encode(item))
            if items and (is_new or size + length > sizes.turn_bytes or len(items) == MAX_ITEMS):
                yield ImportTurn(at=began_at, items=items)
                items, size = [], 0
            if not items:
                began_at = at
            items.append(item)
            size += length
            is_new = False
    if items:
        yield ImportTurn(at=began_at, items=items)


def requests(these: Iterable[ImportTurn], sizes: Sizes) -> Iterator[list[ImportTurn]]:
    """Yield the turns in groups that fit a request each."""
    group: list[ImportTurn] = []
    size = 0
    for turn in these:
        length = len(msgspec.json.encode(turn))
        if group and (size + length > sizes.request_bytes or len(group) == MAX_TURNS):
            yield group
            group, size = [], 0
        group.append(turn)
        size += length
    if group:
        yield group
