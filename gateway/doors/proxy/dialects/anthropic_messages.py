"""The reader of Anthropic's `/v1/messages`. Satisfies `ApiReader`."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from gateway.base.json_values import list_of, table_of, text_of
from gateway.doors.proxy.body import members, objects, text_at
from gateway.doors.proxy.dialects.parts import member_point, read_content, system_point, system_texts_at
from gateway.doors.proxy.dialects.reading import (
    ChatAnswer,
    ChatRequest,
    LongText,
    ReadMessage,
    count_of,
    join_kept_words,
    value_at,
)
from protocol.capture.chain import ChainMessage, ToolWish
from protocol.conversation.turns import Usage

_SESSION = re.compile(r"session_(?:id\W{1,8})?([0-9a-fA-F-]{36})")


def read_request(body: bytes, wrappers: Sequence[str]) -> ChatRequest:
    """Return a request; `wrappers` are those of its program (`strip_wrappers`). Raises `UnreadableError`."""
    top = members(body)
    system = top.get("system")
    system_texts = system_texts_at(body, system)
    found: list[ReadMessage] = []
    for _, inside in objects(body, top["messages"]) if "messages" in top else []:
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
    return ChatRequest(found, system_texts, point, _names(body, top), text_at(body, top.get("model")))


def _names(body: bytes, top: dict[str, slice]) -> dict[str, str]:
    """Return the session's id where the user id of the metadata holds one."""
    user_id = text_of(table_of(value_at(body, top["metadata"])).get("user_id")) if "metadata" in top else ""
    session = _SESSION.search(user_id)
    return {"session": session[1]} if session is not None else {}


class _Block(NamedTuple):
    """A content block of an answer that streams."""

    begun: dict[str, Any]
    text: LongText
    arguments: list[str]

    def wish(self) -> ToolWish:
        """Return the call of a tool that the block holds."""
        return ToolWish(text_of(self.begun.get("name")), "".join(self.arguments) or self.begun.get("input"))


class MessagesStream:
    """An answer that streams. Satisfies `AnswerReader`."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, Any] = {}
        self._is_whole = False
        self._model = ""

    def take(self, event: dict[str, Any]) -> None:
        """Take the next event in."""
        kind = event.get("type")
        place = count_of(event.get("index"))
        if kind == "message_start":
            message = table_of(event.get("message"))
            self._usage |= table_of(message.get("usage"))
            self._model = text_of(message.get("model"))
        elif kind == "content_block_start":
            begun = table_of(event.get("content_block"))
            self._blocks[place] = block = _Block(begun, LongText(), [])
            block.text.add(text_of(begun.get("text")))
        elif kind == "content_block_delta" and place in self._blocks:
            delta = table_of(event.get("delta"))
            block = self._blocks[place]
            block.text.add(text_of(delta.get("text")))
            block.arguments.append(text_of(delta.get("partial_json")))
        elif kind == "message_delta":
            usage = table_of(event.get("usage"))
            self._usage |= {name: value for name, value in usage.items() if value is not None}
            self._is_whole = bool(table_of(event.get("delta")).get("stop_reason"))

    def answer(self) -> ChatAnswer:
        """Return the answer, as far as it came."""
        blocks = [self._blocks[place] for place in sorted(self._blocks)]
        said = [one.text for one in blocks if one.begun.get("type") == "text"]
        words = join_kept_words(text.read_kept() for text in said)
        wishes = [one.wish() for one in blocks if one.begun.get("type") == "tool_use"]
        messages = [ChainMessage("assistant", [text.take_stripped() for text in said], wishes)]
        return ChatAnswer(words, messages, _usage(self._usage), self._is_whole, model=self._model)


def read_answer(data: bytes) -> ChatAnswer:
    """Return an answer that came whole."""
    whole = table_of(value_at(data, slice(0, len(data))))
    parts = [table_of(one) for one in list_of(whole.get("content"))]
    texts = [text_of(one.get("text")) for one in parts if one.get("type") == "text"]
    wishes = [ToolWish(text_of(one.get("name")), one.get("input")) for one in parts if one.get("type") == "tool_use"]
    messages = [ChainMessage("assistant", [text.strip() for text in texts], wishes)]
    usage, model = _usage(table_of(whole.get("usage"))), text_of(whole.get("model"))
    return ChatAnswer(join_kept_words(texts), messages, usage, bool(whole.get("stop_reason")), model=model)


def _usage(given: dict[str, Any]) -> Usage | None:
    """Return the tokens; those of the input include cached ones, which the dialect counts apart."""
    if not given:
        return None
    cached = count_of(given.get("cache_read_input_tokens"))
    return Usage(
        input_tokens=count_of(given.get("input_tokens")) + cached + count_of(given.get("cache_creation_input_tokens")),
        output_tokens=count_of(given.get("output_tokens")),
        cached_tokens=cached,
    )


def begin_answer() -> MessagesStream:
    """Return the reader of an answer that streams, before its first event."""
    return MessagesStream()
