"""The types that the readers of all APIs return, and the places at which memory is inserted; pure.

Rule 1: a place is an offset in the client's own bytes.
Rule 2: the words of a person are a user message's text without the wrappers that the program puts into it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, cast

import msgspec
from msgspec import Struct

from gateway.doors.proxy.body import Edit, escape_for_json
from protocol.base import encode, encode_sorted
from protocol.capture.chain import ChainMessage, digest_of, drop_pairs, without_blocks
from protocol.conversation.turns import Usage
from protocol.conversation.values import MAX_TEXT_CHARS

Form: TypeAlias = Literal[
    "before_text", "behind_text", "part_before", "part_behind", "first_part", "member", "message", "value"
]
"""The form of an inserted text: at a text's beginning or end, as a part of a list, a member, a message, a value."""

UNSTABLE_MEMBERS = frozenset(
    {"cache_control", "id", "call_id", "tool_use_id", "status", "signature", "encrypted_content", "citations"}
)
"""Members of messages that programs change between requests, so that digests leave them out."""


class InsertPoint(Struct, frozen=True):
    """A place of a request where a text may be inserted; `shape` is the JSON around it, with `%s` for the text."""

    form: Form
    start: int
    end: int
    shape: str = ""

    def edit(self, text: str) -> Edit:
        """Return the edit that inserts a text."""
        match self.form:
            case "before_text":
                data = escape_for_json(f"{text}\n\n")
            case "behind_text":
                data = escape_for_json(f"\n\n{text}")
            case "part_behind":
                data = b"," + self._encode_in_shape(text)
            case "part_before" | "member" | "message":
                data = self._encode_in_shape(text) + b","
            case "first_part" | "value":
                data = self._encode_in_shape(text)
        return Edit(self.start, self.end, data)

    def _encode_in_shape(self, text: str) -> bytes:
        return self.shape.encode() % encode(text)


class ReadMessage(Struct, frozen=True):
    """A message of a request."""

    said: ChainMessage
    """The message as a link of the conversation's chain."""
    words: str = ""
    """The words of a person in it."""
    point: InsertPoint | None = None
    """The place before those words."""


class ChatRequest(Struct, frozen=True):
    """A request as it is read in any API."""

    messages: Sequence[ReadMessage]
    system_texts: Sequence[str]
    """The texts of the system's parts."""
    system: InsertPoint | None
    """The place for a text beside the system's; None where there is none."""
    names: Mapping[str, str] = {}
    """Members that name the conversation."""
    model: str = ""

    @property
    def user_index(self) -> int | None:
        """Return the place of the last message with words of a person; None where there is none."""
        places = [place for place, one in enumerate(self.messages) if one.words and one.point is not None]
        return places[-1] if places else None


class ChatAnswer(NamedTuple):
    """An answer as it is read in any API."""

    text: str = ""
    """The words that are kept."""
    messages: Sequence[ChainMessage] = ()
    """The messages by which the next request will repeat it."""
    usage: Usage | None = None
    is_whole: bool = False
    """The answer came to its end."""
    name: str = ""
    """The id by which a request may go on from it, without repeating what was said."""
    model: str = ""

    @property
    def called(self) -> list[str]:
        """Return the names of the tools that it calls; with any the turn goes on."""
        return [wish.name for message in self.messages for wish in message.tools]


def join_kept_words(texts: Iterable[str]) -> str:
    """Return the texts of an answer joined, without the gateway's blocks, and cut to `MAX_TEXT_CHARS`."""
    return "\n\n".join(filter(None, map(without_blocks, texts)))[:MAX_TEXT_CHARS]


class AnswerReader(Protocol):
    """An answer that is read event by event."""

    def take(self, event: dict[str, Any]) -> None:
        """Take the next event in."""
        ...

    def answer(self) -> ChatAnswer:
        """Return the answer, as far as it came; `take` must not be called after it."""
        ...


class ApiReader(Protocol):
    """The module that reads one API."""

    def read_request(self, body: bytes, wrappers: Sequence[str], /) -> ChatRequest:
        """Return a request; `wrappers` are those of its program (`strip_wrappers`). Raises `UnreadableError`."""
        ...

    def begin_answer(self) -> AnswerReader:
        """Return the reader of an answer that streams, before its first event."""
        ...

    def read_answer(self, data: bytes, /) -> ChatAnswer:
        """Return an answer that came whole."""
        ...


_BLANKS = re.compile(rb"[\t-\r\x1c-\x20]*")
"""The ASCII characters that `str.strip` takes from the ends of a text."""
_SEARCHED_BYTES = 4096
"""Bytes of an end that are searched for blanks at once."""


class LongText:
    """A text that grows; its bytes are held once, however long it gets."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, text: str) -> None:
        """Append a text."""
        self._data += text.encode("utf-8", "surrogatepass")

    def read_kept(self) -> str:
        """Return its first `MAX_TEXT_CHARS`, or all of a text that may hold a block of the gateway."""
        is_plain = self._data.isascii() and b"</" not in self._data
        with memoryview(self._data) as whole, whole[: MAX_TEXT_CHARS if is_plain else len(whole)] as kept:
            return str(kept, "utf-8", "surrogatepass")

    def take_stripped(self) -> str | bytearray:
        """Return the whole without blanks at its ends, in ASCII as a `bytearray`; the text is empty after that."""
        data, self._data = self._data, bytearray()
        if not data.isascii():
            return data.decode("utf-8", "surrogatepass").strip()
        begin = _BLANKS.match(data)
        del data[: begin.end() if begin is not None else 0]
        while data:
            tail = data[-_SEARCHED_BYTES:].decode()
            kept = len(tail.rstrip())
            del data[len(data) - len(tail) + kept :]
            if kept:
                break
        return data


_ENDS = re.compile(rb"\r?\n\r?\n")
"""The ends of events in a stream."""
TAIL = "..."
"""The prefix of a wrapper that is no tag: a program's text behind the user's begins with the rest of it."""


@cache
def _wrapper(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of the opening and closing tags among some wrappers."""
    tags = "|".join(re.escape(name) for name in names if not name.startswith(TAIL))
    return re.compile(rf"<(?P<end>/?)(?P<name>{tags})(?:\s[^<>]*)?>" if tags else "(?!)")


def strip_wrappers(text: str, wrappers: Sequence[str]) -> str:
    """Return a text without the tagged parts that its program put into it, and without its text behind the user's."""
    if not wrappers:
        return text
    if "<" in text:
        text = drop_pairs(text, _wrapper(tuple(wrappers))).strip()
    for tail in wrappers:
        if tail.startswith(TAIL) and (place := text.find(f"\n\n{tail.removeprefix(TAIL)}")) > 0:
            text = text[:place]
    return text


def without_unstable(value: Any) -> Any:
    """Return a JSON value without the members of `UNSTABLE_MEMBERS`, at any depth."""
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {name: without_unstable(one) for name, one in table.items() if name not in UNSTABLE_MEMBERS}
    return [without_unstable(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value


def digest_of_value(value: Any) -> bytes:
    """Return the digest of a part that is no text, without the members of `UNSTABLE_MEMBERS`."""
    return digest_of(encode_sorted(without_unstable(value)))


def value_at(body: bytes, span: slice) -> Any:
    """Return the JSON value at a range; None for one that cannot be read."""
    try:
        return msgspec.json.decode(body[span])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


class EventReader:
    """The reader of Server-Sent Events, whose bytes come in parts of any size."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def read(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Yield the JSON objects of the events that end in a part."""
        looked = max(0, len(self._rest) - 3)  # an end of four bytes may have begun
        self._rest += data
        start = 0
        for begin, end in [found.span() for found in _ENDS.finditer(self._rest, looked)]:
            if (event := _event_of(self._rest[start:begin])) is not None:
                yield event
            start = end
        del self._rest[:start]

    def end(self) -> Iterator[dict[str, Any]]:
        """Yield the last event of a stream that ended without its empty line, if it can be read."""
        rest, self._rest = self._rest, bytearray()
        if (event := _event_of(rest)) is not None:
            yield event


def _event_of(block: bytearray) -> dict[str, Any] | None:
    lines = [line[5:].removeprefix(b" ") for line in block.splitlines() if line.startswith(b"data:")]
    try:
        found = msgspec.json.decode(b"\n".join(lines)) if lines else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def count_of(value: Any) -> int:
    """Return a JSON value that is a number from 0; 0 for any other."""
    return value if isinstance(value, int) and value >= 0 else 0
