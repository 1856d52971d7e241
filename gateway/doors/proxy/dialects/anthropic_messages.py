"""`/v1/messages`."""

import re
from collections.abc import Sequence
from typing import Any

from gateway.base.json_values import list_of, table_of, text_of
from gateway.doors.proxy.body import ByteSpan, elements, members, text_at
from gateway.doors.proxy.dialects.parts import member_point, read_content, system_point, system_texts_at
from gateway.doors.proxy.dialects.reading import (
    ChatAnswer,
    ChatRequest,
    ReadMessage,
    count_of,
    events_of,
    value_at,
)
from protocol.capture.chain import ChainMessage, ToolWish
from protocol.threads import Usage

_SESSION = re.compile(r"session_(?:id\W{1,8})?([0-9a-fA-F-]{36})")


def read(body: bytes, wrappers: Sequence[str]) -> ChatRequest:
    """Return a request. Raises `UnreadableError`."""
    top = members(body)
    system = top.get("system")
    system_texts = system_texts_at(body, system)
    found: list[ReadMessage] = []
    for place in elements(body, top["messages"]) if "messages" in top else []:
        inside = members(body, place)
        role = text_at(body, inside.get("role"))
        if role == "system":
            system_texts += system_texts_at(body, inside.get("content"))
            continue
        content = read_content(body, inside.get("content"), wrappers if role == "user" else ())
        if role == "user" and not content.is_of_tools:
            said = ChainMessage("user", content.texts, content.tools, content.others)
            found.append(ReadMessage(said, content.words, content.point))
        else:
            counted = "tool" if role == "user" else "assistant"
            found.append(ReadMessage(ChainMessage(counted, content.texts, content.tools, content.others)))
    point = system_point(body, system) if system is not None else member_point(body, top, "system")
    return ChatRequest(found, system_texts, point, _names(body, top))


def _names(body: bytes, top: dict[str, ByteSpan]) -> dict[str, str]:
    told = text_of(table_of(value_at(body, top["metadata"])).get("user_id")) if "metadata" in top else ""
    session = _SESSION.search(told)
    return {"session": session[1]} if session is not None else {}


def fold(data: bytes, *, is_stream: bool) -> ChatAnswer:
    """Return an answer, as far as it came."""
    if not is_stream:
        whole = table_of(value_at(data, ByteSpan(0, len(data))))
        said = [table_of(one) for one in list_of(whole.get("content"))]
        return _answer(said, table_of(whole.get("usage")), is_whole=bool(whole.get("stop_reason")))
    blocks: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    is_whole = False
    for event in events_of(data):
        kind = event.get("type")
        place = count_of(event.get("index"))
        if kind == "message_start":
            usage |= table_of(table_of(event.get("message")).get("usage"))
        elif kind == "content_block_start":
            blocks[place] = {**table_of(event.get("content_block")), "json": ""}
        elif kind == "content_block_delta" and place in blocks:
            delta = table_of(event.get("delta"))
            block = blocks[place]
            block["text"] = text_of(block.get("text")) + text_of(delta.get("text"))
            block["json"] += text_of(delta.get("partial_json"))
        elif kind == "message_delta":
            usage |= {name: value for name, value in table_of(event.get("usage")).items() if value is not None}
            is_whole = bool(table_of(event.get("delta")).get("stop_reason"))
    for block in blocks.values():
        block["input"] = block.pop("json") or block.get("input")
    return _answer([blocks[place] for place in sorted(blocks)], usage, is_whole=is_whole)


def _answer(blocks: Sequence[dict[str, Any]], usage: dict[str, Any], *, is_whole: bool) -> ChatAnswer:
    texts = [text_of(one.get("text")) for one in blocks if one.get("type") == "text"]
    wishes = [ToolWish(text_of(one.get("name")), one.get("input")) for one in blocks if one.get("type") == "tool_use"]
    said = ChainMessage("assistant", [text.strip() for text in texts], wishes)
    cached = count_of(usage.get("cache_read_input_tokens"))
    counted = Usage(
        input_tokens=count_of(usage.get("input_tokens")) + cached + count_of(usage.get("cache_creation_input_tokens")),
        output_tokens=count_of(usage.get("output_tokens")),
        cached_tokens=cached,
    )
    return ChatAnswer("\n\n".join(filter(None, texts)), [said], counted if usage else None, is_whole)
