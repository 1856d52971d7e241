"""What a dialect says of a request and of an answer, and how memory is inserted into a request.

Rule 1: pure; a place is an offset of the client's own bytes.
Rule 2: words of a person are what is left of a message without the wrappers that its program puts there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import msgspec

from gateway.doors.proxy.body import ByteSpan, Edit, quoted
from protocol.base import encode, encode_sorted
from protocol.capture.chain import ChainMessage, digest_of
from protocol.threads import Usage

Form: TypeAlias = Literal[
    "before_text", "behind_text", "part_before", "part_behind", "first_part", "member", "message", "value"
]
"""How a text is inserted: into a text at its beginning or end, as a part of a list, as a member, a message, a value."""

PASSING = frozenset(
    {"cache_control", "id", "call_id", "tool_use_id", "status", "signature", "encrypted_content", "citations"}
)
"""Members that say nothing of what was said, and that programs change between requests."""


class InsertPoint(NamedTuple):
    """A place of a request where a text may be inserted; `shape` is the JSON around it, with `%s` for the text."""

    form: Form
    start: int
    end: int
    shape: str = ""

    def edit(self, text: str) -> Edit:
        """Return the edit that inserts a text."""
        match self.form:
            case "before_text":
                data = quoted(f"{text}\n\n")
            case "behind_text":
                data = quoted(f"\n\n{text}")
            case "part_behind":
                data = b"," + self._shaped(text)
            case "part_before" | "member" | "message":
                data = self._shaped(text) + b","
            case "first_part" | "value":
                data = self._shaped(text)
        return Edit(self.start, self.end, data)

    def _shaped(self, text: str) -> bytes:
        return self.shape.encode() % encode(text)


class ReadMessage(NamedTuple):
    """A message of a request: how it counts, the words of a person in it, and the place before those."""

    said: ChainMessage
    words: str = ""
    point: InsertPoint | None = None


class ChatRequest(NamedTuple):
    """A request as a dialect reads it; without `system`, nothing can stand with the system text."""

    messages: Sequence[ReadMessage]
    system_texts: Sequence[str]
    """Its parts, each as it begins."""
    system: InsertPoint | None
    names: Mapping[str, str] = {}
    """Members that name the conversation."""

    @property
    def user_index(self) -> int | None:
        """Return the place of the last message with words of a person; None where there is none."""
        places = [place for place, one in enumerate(self.messages) if one.words and one.point is not None]
        return places[-1] if places else None


class ChatAnswer(NamedTuple):
    """An answer as a dialect reads it."""

    text: str = ""
    messages: Sequence[ChainMessage] = ()
    """How it will stand in the next request."""
    usage: Usage | None = None
    is_whole: bool = False

    @property
    def called(self) -> list[str]:
        """Return the names of the tools that it ends in calls of: the turn goes on."""
        return [wish.name for message in self.messages for wish in message.tools]


_ENDS = re.compile(rb"\r?\n\r?\n|\Z")
"""Ends of events in a stream."""


@cache
def _wrapper(names: tuple[str, ...]) -> re.Pattern[str]:
    tags = "|".join(re.escape(name) for name in names)
    return re.compile(rf"<({tags})(?:\s[^>]*)?>.*?</\1>", re.DOTALL)


def unwrapped(text: str, wrappers: Sequence[str]) -> str:
    """Return a text without what its program wrapped into it."""
    if not wrappers or "<" not in text:
        return text
    return _wrapper(tuple(wrappers)).sub("", text).strip()


def without_passing(value: Any) -> Any:
    """Return a value of JSON without members that programs change."""
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {name: without_passing(one) for name, one in table.items() if name not in PASSING}
    return [without_passing(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value


def digest_of_value(value: Any) -> bytes:
    """Return the digest of what is no text."""
    return digest_of(encode_sorted(without_passing(value)))


def value_at(body: bytes, span: ByteSpan) -> Any:
    """Return a value; None for one that cannot be read."""
    try:
        return msgspec.json.decode(span.of(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def events_of(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON of the events of a stream, as far as it came."""
    start = 0
    for end in _ENDS.finditer(data):  # one event at a time: an answer may be long
        lines = [line[5:].removeprefix(b" ") for line in data[start : end.start()].splitlines() if line[:5] == b"data:"]
        start = end.end()
        try:
            found = msgspec.json.decode(b"\n".join(lines)) if lines else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(found, dict):
            yield cast("dict[str, Any]", found)


def count_of(value: Any) -> int:
    """Return a count of JSON; 0 for anything else."""
    return value if isinstance(value, int) and value >= 0 else 0
