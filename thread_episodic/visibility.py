"""The one gate that every read path passes: whether a chunk may be shown to a request, and what of it.

Rule 1: pure; the index proposes, the stored message decides. A hit whose message is gone, changed, muted or elsewhere
is dropped.
Rule 2: a reason to hide is a line here and nowhere else.
"""

from collections.abc import Sequence
from typing import NamedTuple

from protocol.seams.house_facts import ItemFact
from protocol.seams.ports import SecretScanner, SecretSpan
from thread_episodic.values import ChunkCandidate, Filter

EXCLUDED = "[excluded]"
INJECTED = "[recalled memory]"


class HiddenRange(NamedTuple):
    """A range of a message that is not shown, and what stands in its place."""

    start: int
    end: int
    marker: str


def is_in_scope(thread_id: str, wanted: Filter) -> bool:
    """Return whether a thread is among those that are asked for."""
    match wanted.mode:
        case "current_thread":
            return thread_id == wanted.thread_id
        case "related_threads":
            return wanted.thread_id is not None and thread_id != wanted.thread_id
        case "workspace_threads":
            return True


def is_visible(chunk: ChunkCandidate, item: ItemFact | None, source_hash: bytes | None, wanted: Filter) -> bool:
    """Return whether the chunk may be shown.

    `item` is its message now, `source_hash` the hash of the message as it is now.
    """
    return (
        item is not None
        and item.indexable
        and source_hash == chunk.source_hash
        and chunk.status == "indexed"
        and chunk.end <= len(item.text)
        and item.workspace_id == wanted.workspace_id
        and item.thread_id == chunk.thread_id
        and item.turn_id == chunk.turn_id
        and is_in_scope(item.thread_id, wanted)
        and item.turn_id not in wanted.excluded_turns
        and (wanted.from_at is None or item.at >= wanted.from_at)
        and (wanted.to_at is None or item.at <= wanted.to_at)
        and (not wanted.roles or item.role in wanted.roles)
    )


def hidden_in(text: str, scanner: SecretScanner, echoes: Sequence[tuple[int, int]]) -> list[SecretSpan]:
    """Return the spans of a message that are not indexed: secrets, and lines that the gateway itself injected."""
    hidden = [*scanner.find(text), *(SecretSpan(kind="echo", start=start, end=end) for start, end in echoes)]
    return sorted(hidden, key=lambda span: (span.start, span.end))


def mask_range(text: str, spans: Sequence[SecretSpan], start: int, end: int, *, marker: str = "[secret:{kind}]") -> str:
    """Return a range of the text with every span that touches it replaced by the marker.

    A span that begins or ends outside the range is replaced, too. `spans` are in order.
    """
    parts: list[str] = []
    place = start
    for span in spans:
        if span.start < end and span.end > start:
            parts += (text[place : max(place, span.start)], marker.format(kind=span.kind))
            place = max(place, min(end, span.end))
    return "".join((*parts, text[place:end]))


def show_range(text: str, secrets: Sequence[SecretSpan], hidden: Sequence[HiddenRange], start: int, end: int) -> str:
    """Return a range of the text with its secrets masked, and its marker in place of each hidden range."""
    parts: list[str] = []
    place = start
    for one in sorted(hidden):
        if one.start < end and one.end > place:
            parts += (mask_range(text, secrets, place, max(place, one.start)), one.marker)
            place = min(one.end, end)
    return "".join((*parts, mask_range(text, secrets, place, end)))
