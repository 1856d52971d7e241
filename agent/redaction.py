"""Taking forgotten words out of the conversation, and emptying what tools once showed of a forgotten memory.

Rule 1: what was said around the forgotten words stays; where they stood there is a fixed mark.
Rule 2: a quote is found as evidence is checked: by its letters, whatever its case, white space and typography.
"""

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agent.store import MEMORY_ID, SQL, encoded, read_items, turn_items
from protocol.ports import Tx

MARK = "[forgotten]"

_TYPOGRAPHY = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u2032"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u00ab\u00bb\u2033"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-"),
}
_TERMINAL = " .!?\u3002\uff01\uff1f\u2026;,:"


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Ranges of a character with its combining marks."""
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or not unicodedata.combining(text[place]):
            yield start, place
            start = place


def _folded(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A text as quotes compare, and for each of its characters the range of the original that it stands for."""
    letters: list[str] = []
    ranges: list[tuple[int, int]] = []
    for start, end in _clusters(text):
        for letter in unicodedata.normalize("NFKC", text[start:end].translate(_TYPOGRAPHY)).casefold():
            if not letter.isspace():
                letters.append(letter)
                ranges.append((start, end))
            elif letters and letters[-1] != " ":
                letters.append(" ")
                ranges.append((start, end))
    return "".join(letters), ranges


def redacted(text: str, quotes: Sequence[str]) -> str:
    """The text with a mark in the place of every quote."""
    folded, ranges = _folded(text)
    spans: list[tuple[int, int]] = []
    for quote in quotes:
        sought = _folded(quote)[0].strip(_TERMINAL)
        place = folded.find(sought) if sought else -1
        while place >= 0:
            spans.append((ranges[place][0], ranges[place + len(sought) - 1][1]))
            place = folded.find(sought, place + len(sought))
    parts: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if start >= done:
            parts += [text[done:start], MARK]
        done = max(done, end)
    return "".join([*parts, text[done:]]) if spans else text


def _mapped(
    value: Any, of_text: Callable[[str], str], of_object: Callable[[dict[str, Any]], dict[str, Any] | None]
) -> Any:
    """A JSON value with its texts changed, and with the objects replaced that have a replacement."""
    if isinstance(value, str):
        return of_text(value)
    if isinstance(value, list):
        return [_mapped(entry, of_text, of_object) for entry in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        replaced = of_object(value)  # pyright: ignore[reportUnknownArgumentType]
        return replaced or {name: _mapped(entry, of_text, of_object) for name, entry in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def _without(quotes: Sequence[str]) -> Callable[[Any], Any]:
    return lambda value: _mapped(value, lambda text: redacted(text, quotes), lambda _: None)


def _in_json(text: str, change: Callable[[Any], Any]) -> str:
    """A text that may be JSON, changed inside; one that is not is changed as a text."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return change(text)
    changed = change(value)
    return text if changed == value else encoded(changed)


def redact_items(tx: Tx, quotes: Mapping[str, Sequence[str]]) -> list[str]:
    """Take quotes out of messages, and out of everything else that their turns hold; the ids of the items that changed."""
    of_turns: dict[str, list[str]] = {}
    for item_id, fact in read_items(tx, quotes).items():
        of_turns.setdefault(fact.turn_id, []).extend(quotes[item_id])
    changed: list[str] = []
    for turn_id, said in of_turns.items():
        change = _without(list(dict.fromkeys(said)))
        for item_id, text, tool in tx.all(SQL["texts_of_turn"], {"turn_id": turn_id}):
            clean = {"text": _in_json(text, change), "tool": _in_json(tool, change) if tool is not None else None}
            if clean != {"text": text, "tool": tool}:
                tx.run(SQL["redact_item"], {"item_id": item_id, **clean})
                changed.append(item_id)
        if _redact_turn(tx, turn_id, change):
            changed += [item_id for item_id in turn_items(tx, [turn_id])[turn_id] if item_id not in changed]
    return changed


def _redact_turn(tx: Tx, turn_id: str, change: Callable[[Any], Any]) -> bool:
    """What a turn holds beside its items: its plan, events of the host's tools, and answers of ours; whether the first two changed."""
    is_changed = False
    for row in tx.all(SQL["notes_of_turn"], {"turn_id": turn_id}):
        clean = [_in_json(text, change) if text is not None else None for text in row]
        if clean != list(row):
            values = dict(zip(("options", "manifest", "tool_events"), clean, strict=True))
            is_changed = bool(tx.run(SQL["redact_notes"], {"turn_id": turn_id, **values}))
    for call_id, result in tx.all(SQL["replies_of_turn"], {"turn_id": turn_id}):
        tx.run(SQL["redact_reply"], {"turn_id": turn_id, "call_id": call_id, "result": _in_json(result, change)})
    return is_changed


def forget_copies(tx: Tx, texts: Mapping[str, Sequence[str]]) -> int:
    """Empty every copy of forgotten memories that tools were told or have shown; how many.

    `texts` are the memories' own words by memory id: a call that kept one has them in its arguments.
    """
    named = encoded(list(texts))
    return sum(_forget_in_turn(tx, turn_id, texts) for (turn_id,) in tx.all(SQL["turns_naming"], {"memory_ids": named}))


def _forget_in_turn(tx: Tx, turn_id: str, texts: Mapping[str, Sequence[str]]) -> int:
    copies = 0
    for item_id, text, tool in tx.all(SQL["results_of_turn"], {"turn_id": turn_id}):
        named = memories_named(text) & texts.keys()
        if named:
            call_id = msgspec.json.decode(tool)["call_id"] if tool is not None else None
            tx.run(SQL["redact_item"], {"item_id": item_id, "text": emptied(text, named), "tool": tool})
            copies += 1 + _redact_call(tx, turn_id, call_id, [word for name in sorted(named) for word in texts[name]])
    for call_id, result in tx.all(SQL["replies_of_turn"], {"turn_id": turn_id}):
        named = memories_named(result) & texts.keys()
        if named:
            values = {"turn_id": turn_id, "call_id": call_id, "result": emptied(result, named)}
            copies += tx.run(SQL["redact_reply"], values)
    return copies


def memories_named(text: str) -> set[str]:
    """Ids of memories in what a tool answered."""
    return set(MEMORY_ID.findall(text))


def emptied(text: str, named: set[str]) -> str:
    """A tool's answer without the memories; one that was cut short, and so is no JSON, is emptied as a whole."""

    def empty(entry: dict[str, Any]) -> dict[str, Any] | None:
        found = entry.get("memory_id")
        return {"memory_id": found, "forgotten": True} if found in named else None

    try:
        return encoded(_mapped(msgspec.json.decode(text), lambda word: word, empty))
    except msgspec.DecodeError:
        return MARK


def _redact_call(tx: Tx, turn_id: str, call_id: str | None, texts: Sequence[str]) -> int:
    """The call that an answer belongs to."""
    change = _without(texts)
    changed = 0
    for item_id, text, tool in tx.all(SQL["texts_of_turn"], {"turn_id": turn_id}):
        if tool is not None and msgspec.json.decode(tool)["call_id"] == call_id:
            clean = _in_json(tool, change)
            if clean != tool:
                changed += tx.run(SQL["redact_item"], {"item_id": item_id, "text": text, "tool": clean})
    return changed
