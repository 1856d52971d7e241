"""The result of every reader: a conversation with its messages, or the reason why there is none.

Rule 1: foreign data has any shape: its values go through the total functions of this module, which never raise.
Rule 2: a text is kept as it was said; citation marks and control characters go, and what no database or message can
hold is replaced. All of it is counted.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from gateway.imports.formats.cleaning import clean

Role: TypeAlias = Literal["user", "assistant"]

MAX_CONVERSATION = 32 * 1024 * 1024
"""Bytes of one conversation in a list, or characters of one in a file of its own: years of talk fit into memory."""

LATEST_MS = 253_402_300_799_999
FIRST_MS_THAT_ARE_NOT_SECONDS = 100_000_000_000
"""As seconds this is the year 5138, as milliseconds 1973."""

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class ImportedMessage(NamedTuple):
    """One message; without a time of its own it is as old as the one before."""

    role: Role
    text: str
    at: int | None


class Conversation(NamedTuple):
    """A conversation of a source: `kind` and `source_id` are the same each time it is read."""

    kind: str
    source_id: str
    title: str | None
    at: int
    messages: list[ImportedMessage]
    left_out: Counter[str]
    repaired: int
    cwd: str = ""
    """The folder in which it was held, where its own records name one."""
    remote: str = ""
    """The address of the repository there, likewise."""


class Skipped(NamedTuple):
    """A part that was not imported: the file, the place in it (empty: all of it), a reason's code."""

    file: str
    place: str
    reason: str


class SourceOrigin(NamedTuple):
    """The origin of bytes: a key that is equal at each run, a name to show, a time for messages without one."""

    key: str
    name: str
    at: int


Found: TypeAlias = Conversation | Skipped
Reader: TypeAlias = Callable[[Iterable[bytes], SourceOrigin], Iterator[Found]]


class Unreadable(Exception):
    """The conversation or file at hand cannot be read; the others can."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def moment(value: Any) -> int | None:
    """Return Unix milliseconds of an ISO time (without a zone: UTC) or of seconds or milliseconds, or None."""
    if isinstance(value, str):
        try:
            when = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        value = (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp()
    elif isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LATEST_MS:
        return None  # the last comparison is false for NaN, too
    elif value >= FIRST_MS_THAT_ARE_NOT_SECONDS:
        value /= 1000
    millis = math.floor(value * 1000 + 0.5)
    return millis if 0 <= millis <= LATEST_MS else None


def mend(text: str) -> tuple[str, int]:
    """Return the text without NUL and halves of a surrogate pair, which cannot be stored, and how many there were."""
    return _UNSTORABLE.subn("\ufffd", text)


def to_printable(name: str) -> str:
    """Return a name with U+FFFD in place of characters that a terminal or an encoder may not take."""
    return "".join(char if char.isprintable() else "\ufffd" for char in name)


def decode_text(data: bytes) -> tuple[str, int]:
    """Return UTF-8 as text, and how many characters had to be replaced."""
    try:
        return data.decode(), 0
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        return text, text.count("\ufffd")


def stable_id(*parts: Any) -> str:
    """Return an id that is the same for the same parts."""
    return hashlib.sha256(msgspec.json.encode([mend(str(part))[0] for part in parts])).hexdigest()


class Draft:
    """A conversation in the making."""

    def __init__(self, kind: str, origin: SourceOrigin) -> None:
        self.at: int | None = None
        self.cwd = ""
        self.remote = ""
        self.repaired = 0
        self.messages: list[ImportedMessage] = []
        self.left_out: Counter[str] = Counter()
        self._kind = kind
        self._origin = origin
        self._size = 0

    def add_message(self, role: Role, text: str, at: int | None) -> None:
        """Add a message. Raises `Unreadable` when the conversation outgrows every bound."""
        text, count = mend(text)
        self.repaired += count
        text = self._clean_text(text, is_assistant=role == "assistant")
        if not text.strip():
            self.left_out["empty"] += 1
            return
        self._size += len(text)
        if self._size > MAX_CONVERSATION:
            raise Unreadable("too_large")
        self.messages.append(ImportedMessage(role, text, at))

    def _clean_text(self, text: str, *, is_assistant: bool) -> str:
        cleaned = clean(text, is_assistant=is_assistant)
        self.left_out += Counter(citation=cleaned.citations, control=cleaned.controls)
        return cleaned.text

    def finish(self, source_id: str, title: str = "") -> Found:
        """Return the conversation; one without messages is skipped.

        Without an id of its own it is known by its beginning. Without a time of its own it is as old as its first
        message that has one, else as its file.
        """
        title, count = mend(title)
        title = " ".join(clean(title, is_assistant=True).text.split())
        if not self.messages:
            return Skipped(self._origin.name, title, "no_messages")
        times = (self.at, *(said.at for said in self.messages), self._origin.at)
        at = next(time for time in times if time is not None)
        known = mend(source_id)[0] or stable_id(title, self.messages[0].at, self.messages[0].text)
        return Conversation(
            self._kind,
            known,
            title or None,
            at,
            self.messages,
            self.left_out,
            self.repaired + count,
            self.cwd,
            self.remote,
        )
