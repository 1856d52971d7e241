"""The reading of an answer for memory while it is passed on.

Rule 1: a chunk is only put aside when it comes; a short answer is read after its last byte.
Rule 2: a long answer is read as it comes: its words are held once, and the rest is dropped.
Rule 3: an answer that is compressed although the request did not allow it is decompressed for memory alone. One that
cannot be is kept without its words.
"""

import zlib
from collections.abc import Mapping
from typing import Any

from gateway.doors.proxy.dialects import anthropic_messages, openai_chat, openai_responses
from gateway.doors.proxy.dialects.reading import AnswerReader, ApiReader, ChatAnswer, EventReader
from gateway.doors.proxy.route import Api

READERS: Mapping[Api, ApiReader] = {"chat": openai_chat, "responses": openai_responses, "messages": anthropic_messages}
"""The module of `dialects` that reads the requests and answers of each API."""
ASIDE_BYTES = 64 * 1024
"""Bytes that are put aside before they are read at once: 400 usual chunks, in about a millisecond."""
MAX_UNPACKED_BYTES = 64 * 1024 * 1024
"""The most bytes of a decompressed answer: a few compressed ones may stand for any number."""
COMPRESSIONS: Mapping[bytes, int] = {
    b"gzip": zlib.MAX_WBITS | 16,
    b"x-gzip": zlib.MAX_WBITS | 16,
    b"deflate": zlib.MAX_WBITS,
}
"""Encodings that are decompressed, with the parameter `wbits` of zlib for each."""


class Tee:
    """The reader of one answer's bytes."""

    def __init__(self, api: Api) -> None:
        self._api: Api = api
        self._aside: list[bytes] = []
        self._size = 0
        self._events: EventReader | None = None
        self._streamed: AnswerReader = READERS[api].begin_answer()
        self._unpacked = 0
        self._unpacker: Any = None
        self._is_unreadable = False

    def begin(self, *, is_stream: bool, encoding: bytes = b"") -> None:
        """Set the form of the bytes that follow: events or one JSON value, and their encoding."""
        if is_stream:
            self._events = EventReader()
        if encoding in COMPRESSIONS:
            self._unpacker = zlib.decompressobj(COMPRESSIONS[encoding])
        self._is_unreadable = encoding not in {*COMPRESSIONS, b"", b"identity"}

    def add(self, chunk: bytes) -> None:
        """Put a chunk aside; read events once `ASIDE_BYTES` have come."""
        data = self._unpack(chunk)
        self._aside.append(data)
        self._size += len(data)
        if self._events is not None and self._size >= ASIDE_BYTES:
            self._read(self._events)

    def _unpack(self, chunk: bytes) -> bytes:
        if self._is_unreadable or self._unpacker is None:
            return b"" if self._is_unreadable else chunk
        try:
            data = self._unpacker.decompress(chunk, MAX_UNPACKED_BYTES - self._unpacked)
        except zlib.error:
            data = b""
            self._is_unreadable = True
        self._unpacked += len(data)
        self._is_unreadable |= self._unpacked >= MAX_UNPACKED_BYTES
        return data

    def _read(self, events: EventReader) -> None:
        data = b"".join(self._aside)
        self._aside, self._size = [], 0
        for event in events.read(data):
            self._streamed.take(event)

    def answer(self) -> ChatAnswer:
        """Return the answer, as far as it came, and drop its bytes."""
        if self._is_unreadable:
            self._aside = []
            return ChatAnswer(is_whole=True)
        if self._events is None:
            data, self._aside = b"".join(self._aside), []
            return READERS[self._api].read_answer(data)
        self._read(self._events)
        for event in self._events.end():
            self._streamed.take(event)
        return self._streamed.answer()
