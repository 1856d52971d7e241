"""The reader of OpenAI's `/v1/responses`. Satisfies `ApiReader`."""

from collections.abc import Sequence
from typing import Any

from gateway.base.json_values import list_of, table_of, text_of
from gateway.doors.proxy.body import is_text, members, objects, text_at
from gateway.doors.proxy.dialects.parts import member_point, names_in, read_content, system_point, system_texts_at
from gateway.doors.proxy.dialects.reading import (
    ChatAnswer,
    ChatRequest,
    InsertPoint,
    LongText,
    ReadMessage,
    count_of,
    digest_of_value,
    join_kept_words,
    value_at,
)
from protocol.capture.chain import ChainMessage, ToolWish
from protocol.conversation.turns import Usage

SYSTEM = frozenset({"system", "developer"})
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})


def read_request(body: bytes, wrappers: Sequence[str]) -> ChatRequest:
    """Return a request; `wrappers` are those of its program (`strip_wrappers`). Raises `UnreadableError`."""
    top = members(body)
    found: list[ReadMessage] = []
    system_texts = system_texts_at(body, top.get("instructions"))
    given = top.get("input")
    if given is not None and is_text(body, given):
        content = read_content(body, given, wrappers)
        found.append(ReadMessage(ChainMessage("user", content.texts), content.words, content.point))
    elif given is not None:
        for place, inside in objects(body, given):
            one = _item(body, place, inside, wrappers)
            if isinstance(one, ReadMessage):
                found.append(one)
            else:
                system_texts += one
    names = names_in(body, top, ("prompt_cache_key", "previous_response_id")) | _conversation(body, top)
    return ChatRequest(found, system_texts, _system(body, top), names, text_at(body, top.get("model")))


def _conversation(body: bytes, top: dict[str, slice]) -> dict[str, str]:
    """Return the id of the conversation that a request names, as a text or in an object."""
    given = value_at(body, top["conversation"]) if "conversation" in top else None
    name = text_of(given) or text_of(table_of(given).get("id"))
    return {"conversation": name} if name else {}


def _system(body: bytes, top: dict[str, slice]) -> InsertPoint | None:
    place = top.get("instructions")
    if place is None:
        return member_point(body, top, "instructions")
    return system_point(body, place)


def _item(body: bytes, place: slice, inside: dict[str, slice], wrappers: Sequence[str]) -> ReadMessage | list[str]:
    """Return the message that an item of the input is, or the texts of a system item; reasoning has none."""
    kind = text_at(body, inside.get("type")) or "message"
    role = text_at(body, inside.get("role"))
    if kind == "message":
        if role in SYSTEM:
            return system_texts_at(body, inside.get("content"))
        content = read_content(body, inside.get("content"), wrappers if role == "user" else (), "input_text")
        said = ChainMessage(role or "user", content.texts, (), content.others)
        return ReadMessage(said, content.words, content.point) if role == "user" else ReadMessage(said)
    if kind == "reasoning":
        return []
    value = table_of(value_at(body, place))
    if kind in CALLS:
        return ReadMessage(ChainMessage("assistant", (), [_wish(value, kind)]))
    return ReadMessage(ChainMessage("tool", (), (), [digest_of_value(value)]))


def _wish(call: dict[str, Any], kind: str) -> ToolWish:
    return ToolWish(text_of(call.get("name")) or kind, call.get("arguments", call.get("input", call.get("action"))))


class ResponsesStream:
    """An answer that streams, and is repeated whole by its last event. Satisfies `AnswerReader`."""

    def __init__(self) -> None:
        self._text = LongText()
        self._items: list[Any] = []
        self._response: dict[str, Any] | None = None
        self._model = ""

    def take(self, event: dict[str, Any]) -> None:
        """Take the next event in."""
        kind = event.get("type")
        if kind == "response.output_text.delta":
            self._text.add(text_of(event.get("delta")))
        elif kind == "response.output_item.done":
            self._items.append(event.get("item"))
            self._text = LongText()  # the item has its text
        elif kind == "response.created":
            self._model = text_of(table_of(event.get("response")).get("model"))
        elif kind in {"response.completed", "response.incomplete"}:
            self._response = table_of(event.get("response"))

    def answer(self) -> ChatAnswer:
        """Return the answer, as far as it came."""
        if self._response is not None:
            whole = self._response
            return _answer(whole if whole.get("output") else {**whole, "output": self._items}, is_whole=True)
        begun = _answer({"output": self._items}, is_whole=False)
        words, rest = self._text.read_kept(), self._text.take_stripped()
        messages = [*begun.messages, ChainMessage("assistant", [rest])] if rest else begun.messages
        return ChatAnswer(join_kept_words([begun.text, words]), messages, model=self._model)


def read_answer(data: bytes) -> ChatAnswer:
    """Return an answer that came whole."""
    return _answer(table_of(value_at(data, slice(0, len(data)))), is_whole=True)


def _answer(response: dict[str, Any], *, is_whole: bool) -> ChatAnswer:
    texts: list[str] = []
    messages: list[ChainMessage] = []
    for item in map(table_of, list_of(response.get("output"))):
        kind = item.get("type")
        if kind == "message":
            parts = [text_of(table_of(part).get("text")) for part in list_of(item.get("content"))]
            texts += parts
            messages.append(ChainMessage("assistant", [part.strip() for part in parts]))
        elif kind in CALLS:
            messages.append(ChainMessage("assistant", (), [_wish(item, str(kind))]))
    given = table_of(response.get("usage"))
    usage = Usage(
        input_tokens=count_of(given.get("input_tokens")),
        output_tokens=count_of(given.get("output_tokens")),
        cached_tokens=count_of(table_of(given.get("input_tokens_details")).get("cached_tokens")),
    )
    name, is_whole = text_of(response.get("id")), is_whole and bool(messages)
    model = text_of(response.get("model"))
    return ChatAnswer(join_kept_words(texts), messages, usage if given else None, is_whole, name, model)


def begin_answer() -> ResponsesStream:
    """Return the reader of an answer that streams, before its first event."""
    return ResponsesStream()
