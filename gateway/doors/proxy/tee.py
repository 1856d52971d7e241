"""An answer that is read for memory while it is passed on.

Rule 1: a chunk is only put aside when it comes; a short answer is read once its last byte has gone.
Rule 2: of a long one the words are held once, and the rest goes as it is read.
Rule 3: one that was packed though nobody asked for it is unpacked for memory alone; what cannot be is kept without its
words.
"""

import zlib
from collections.abc import Mapping
from typing import Any

from gateway.doors.proxy.dialects import anthropic_messages, openai_chat, openai_responses
from gateway.doors.proxy.dialects.reading import AnswerReader, ChatAnswer, EventReader
from gateway.doors.proxy.route import Language

DIALECTS: Mapping[Language, Any] = {"chat": openai_chat, "responses": openai_responses, "messages": anthropic_messages}
ASIDE_BYTES = 64 * 1024
"""Chunks of so many bytes are read at once: 400 usual ones, in about a millisecond."""
MOST_UNPACKED = 64 * 1024 * 1024
"""Bytes of a packed answer that are read; a few may say that they are without end."""
PACKED: Mapping[bytes, int] = {b"gzip": zlib.MAX_WBITS | 16, b"x-gzip": zlib.MAX_WBITS | 16, b"deflate": zlib.MAX_WBITS}
"""Encodings that are unpacked, with the window that zlib takes for them."""


class Tee:
    """The bytes of an answer, on their way to memory."""

    def __init__(self, language: Language) -> None:
        self._language: Language = language
        self._aside: list[bytes] = []
        self._size = 0
        self._events: EventReader | None = None
        self._streamed: AnswerReader = DIALECTS[language].begin_answer()
        self._unpacked = 0
        self._unpacker: Any = None
        self._is_unreadable = False

    def begin(self, *, is_stream: bool, encoding: bytes = b"") -> None:
        """Read what comes as events where it is a stream, and as one piece else."""
        if is_stream:
            self._events = EventReader()
        if encoding in PACKED:
            self._unpacker = zlib.decompressobj(PACKED[encoding])
        self._is_unreadable = encoding not in {*PACKED, b"", b"identity"}

    def add(self, chunk: bytes) -> None:
        """Put a chunk aside, or read what has come so far."""
        data = self._unpack(chunk)
        self._aside.append(data)
        self._size += len(data)
        if self._events is not None and self._size >= ASIDE_BYTES:
            self._read(self._events)

    def _unpack(self, chunk: bytes) -> bytes:
        if self._is_unreadable or self._unpacker is None:
            return b"" if self._is_unreadable else chunk
        try:
            data = self._unpacker.decompress(chunk, MOST_UNPACKED - self._unpacked)
        except zlib.error:
            data = b""
            self._is_unreadable = True
        self._unpacked += len(data)
        self._is_unreadable |= self._unpacked >= MOST_UNPACKED
        return data

    def _read(self, events: EventReader) -> None:
        data = b"".join(self._aside)
        self._aside, self._size = [], 0
        for event in events.read(data):
            self._streamed.take(event)

    def answer(self) -> ChatAnswer:
        """Return the answer, as far as it came; nothing of it is held any more."""
        if self._is_unreadable:
            self._aside = []
            return ChatAnswer(is_whole=True)
        if self._events is None:
            data, self._aside = b"".join(self._aside), []
            return DIALECTS[self._language].fold(data)
        self._read(self._events)
        for event in self._events.end():
            self._streamed.take(event)
        return self._streamed.answer()
