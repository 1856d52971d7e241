"""Empties what tools once showed of a forgotten memory, or of the files of a removed collection.

Rule 1: an answer that names the memory says of it only that it is forgotten; the call that kept it loses its words.
Rule 2: an answer that quotes a removed collection says only that it is removed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from agent.rows.captures import remove_shown_source
from agent.rows.items import (
    MEMORY_ID,
    redact_item,
    redact_reply,
    replies_of_turn,
    results_of_turn,
    texts_of_turn,
    turns_naming,
)
from agent.rows.spoken_texts import SPOKEN
from agent.rows.statements import to_json
from protocol.saying import MARK, Saying
from protocol.seams.ports import Tx


def _map_objects(value: Any, of_object: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Any:
    """Return a JSON value with the objects replaced for which `of_object` returns a replacement."""
    if isinstance(value, list):
        return [_map_objects(entry, of_object) for entry in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        replaced = of_object(value)  # pyright: ignore[reportUnknownArgumentType]
        return replaced or {name: _map_objects(entry, of_object) for name, entry in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def forget_copies(tx: Tx, texts: Mapping[str, Sequence[str]]) -> int:
    """Empty every copy of forgotten memories in calls and answers of tools; return how many there were.

    `texts` are the memories' own words by memory id: a call that kept one has them in its arguments.
    """
    for memory_id in texts:
        remove_shown_source(tx, memory_id)
    return sum(_forget_in_turn(tx, turn_id, texts) for turn_id in turns_naming(tx, list(texts)))


def forget_quotations(tx: Tx, collection_id: str) -> int:
    """Empty what answers of tools quote of a collection's files; return the number of these answers."""

    def empty(entry: dict[str, Any]) -> dict[str, Any] | None:
        places = [entry, *entry.get("locations", ())]
        is_quoted = any(place.get("collection_id") == collection_id for place in places)
        return {"collection_id": collection_id, "removed": True} if is_quoted else None

    copies = 0
    for turn_id in turns_naming(tx, [collection_id]):
        for item in results_of_turn(tx, turn_id):
            if collection_id in item.text:
                copies += redact_item(tx, item._replace(text=_empty_objects(item.text, empty)))
        for call_id, result in replies_of_turn(tx, turn_id):
            if collection_id in result:
                copies += redact_reply(tx, turn_id, call_id, _empty_objects(result, empty))
    return copies


def _forget_in_turn(tx: Tx, turn_id: str, texts: Mapping[str, Sequence[str]]) -> int:
    copies = 0
    for item in results_of_turn(tx, turn_id):
        named = memories_named(item.text) & texts.keys()
        if named:
            call_id = msgspec.json.decode(item.tool)["call_id"] if item.tool is not None else None
            redact_item(tx, item._replace(text=empty_answer(item.text, named)))
            copies += 1 + _redact_call(tx, turn_id, call_id, [word for name in sorted(named) for word in texts[name]])
    for call_id, result in replies_of_turn(tx, turn_id):
        named = memories_named(result) & texts.keys()
        if named:
            copies += redact_reply(tx, turn_id, call_id, empty_answer(result, named))
    return copies


def memories_named(text: str) -> set[str]:
    """Return the ids of memories in a tool's answer."""
    return set(MEMORY_ID.findall(text))


def empty_answer(text: str, named: set[str]) -> str:
    """Return a tool's answer without the memories."""

    def empty(entry: dict[str, Any]) -> dict[str, Any] | None:
        found = entry.get("memory_id")
        return {"memory_id": found, "forgotten": True} if found in named else None

    return _empty_objects(text, empty)


def _empty_objects(text: str, empty: Callable[[dict[str, Any]], dict[str, Any] | None]) -> str:
    """Return an answer with objects replaced as `empty` says, by None not at all; one that is no JSON loses all."""
    try:
        return to_json(_map_objects(msgspec.json.decode(text), empty))
    except msgspec.DecodeError:
        return MARK


def _redact_call(tx: Tx, turn_id: str, call_id: str | None, texts: Sequence[str]) -> int:
    """Take the texts out of the call that an answer belongs to; return how many rows changed."""
    saying = Saying(texts)
    changed = 0
    for item in texts_of_turn(tx, turn_id):
        if item.tool is not None and msgspec.json.decode(item.tool)["call_id"] == call_id:
            clean = saying.take_out_of_json(item.tool, SPOKEN)
            if clean != item.tool:
                changed += redact_item(tx, item._replace(tool=clean))
    return changed
