"""The reader of OpenAI's `/v1/chat/completions`. Satisfies `ApiReader`."""

from collections.abc import Sequence
from typing import Any

from gateway.base.json_values import list_of, table_of, text_of
from gateway.doors.proxy.body import members, objects, text_at
from gateway.doors.proxy.dialects.parts import names_in, read_content, system_point, system_texts_at
from gateway.doors.proxy.dialects.reading import (
    ChatAnswer,
    ChatRequest,
    InsertPoint,
    LongText,
    ReadMessage,
    count_of,
    join_kept_words,
    value_at,
)
from protocol.capture.chain import ChainMessage, ToolWish
from protocol.conversation.turns import Usage

SYSTEM = frozenset({"system", "developer"})


def read_request(body: bytes, wrappers: Sequence[str]) -> ChatRequest:
    """Return a request; `wrappers` are those of its program (`strip_wrappers`). Raises `UnreadableError`."""
    top = members(body)
    found: list[ReadMessage] = []
    system: InsertPoint | None = None
    system_texts: list[str] = []
    messages = objects(body, top["messages"]) if "messages" in top else []
    for _, inside in messages:
        role = text_at(body, inside.get("role"))
        content = inside.get("content")
        if role in SYSTEM:
            if not found:
                system = system_point(body, content)
            system_texts += system_texts_at(body, content)
            continue
        found.append(_message(body, role, inside, content, wrappers))
    if system is None and messages:
        shape, first = '{"role":"system","content":%s}', messages[0][0].start
        system = InsertPoint("message", first, first, shape)
    names = names_in(body, top, ("prompt_cache_key", "user"))
    return ChatRequest(found, system_texts, system, names, text_at(body, top.get("model")))


def _message(
    body: bytes, role: str, inside: dict[str, slice], content: slice | None, wrappers: Sequence[str]
) -> ReadMessage:
    if role == "user":
        read_one = read_content(body, content, wrappers)
        said = ChainMessage("user", read_one.texts, read_one.tools, read_one.others)
        return ReadMessage(said, read_one.words, read_one.point)
    read_one = read_content(body, content, ())
    calls = value_at(body, inside["tool_calls"]) if "tool_calls" in inside else None
    if role == "assistant":
        return ReadMessage(ChainMessage("assistant", read_one.texts, _wishes(calls), read_one.others))
    return ReadMessage(ChainMessage("tool", read_one.texts, (), read_one.others))


def _wishes(calls: Any) -> list[ToolWish]:
    functions = [table_of(table_of(call).get("function")) for call in list_of(calls)]
    return [ToolWish(text_of(one.get("name")), one.get("arguments")) for one in functions]


class ChatStream:
    """An answer that streams; of several choices the first one. Satisfies `AnswerReader`."""

    def __init__(self) -> None:
        self._text = LongText()
        self._calls: dict[int, tuple[list[str], list[str]]] = {}
        """Parts of the name and of the arguments of each call of a tool, by its index."""
        self._usage: Any = None
        self._ended = ""
        self._model = ""

    def take(self, event: dict[str, Any]) -> None:
        """Take the next event in."""
        self._usage = event.get("usage") or self._usage
        self._model = self._model or text_of(event.get("model"))
        for choice in list_of(event.get("choices"))[:1]:
            one = table_of(choice)
            if count_of(one.get("index")):
                continue
            delta = table_of(one.get("delta"))
            self._text.add(text_of(delta.get("content")))
            self._ended = text_of(one.get("finish_reason")) or self._ended
            for call in list_of(delta.get("tool_calls")):
                part = table_of(call)
                names, arguments = self._calls.setdefault(count_of(part.get("index")), ([], []))
                function = table_of(part.get("function"))
                names.append(text_of(function.get("name")))
                arguments.append(text_of(function.get("arguments")))

    def answer(self) -> ChatAnswer:
        """Return the answer, as far as it came."""
        calls = [self._calls[place] for place in sorted(self._calls)]
        wishes = [ToolWish("".join(names), "".join(arguments)) for names, arguments in calls]
        words = join_kept_words([self._text.read_kept()])
        said = ChainMessage("assistant", [self._text.take_stripped()], wishes)
        return ChatAnswer(words, [said], _usage(self._usage), bool(self._ended), model=self._model)


def read_answer(data: bytes) -> ChatAnswer:
    """Return an answer that came whole."""
    whole = table_of(value_at(data, slice(0, len(data))))
    choices = list_of(whole.get("choices"))
    message = table_of(table_of(choices[0]).get("message")) if choices else {}
    text, wishes = text_of(message.get("content")), _wishes(message.get("tool_calls"))
    said = ChainMessage("assistant", [text.strip()], wishes)
    usage, model = _usage(whole.get("usage")), text_of(whole.get("model"))
    return ChatAnswer(join_kept_words([text]), [said], usage, bool(message), model=model)


def _usage(value: Any) -> Usage | None:
    given = table_of(value)
    if not given:
        return None
    details = table_of(given.get("prompt_tokens_details"))
    return Usage(
        input_tokens=count_of(given.get("prompt_tokens")),
        output_tokens=count_of(given.get("completion_tokens")),
        cached_tokens=count_of(details.get("cached_tokens")),
    )


def begin_answer() -> ChatStream:
    """Return the reader of an answer that streams, before its first event."""
    return ChatStream()
