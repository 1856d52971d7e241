"""An answer that is read for memory while it is passed on.

Rule 1: a chunk is only put aside when it comes; a short answer is read once its last byte has gone.
Rule 2: of a long one the words are held once, and the rest goes as it is read.
"""

from collections.abc import Mapping
from typing import Any

from gateway.doors.proxy.dialects import anthropic_messages, openai_chat, openai_responses
from gateway.doors.proxy.dialects.reading import AnswerReader, ChatAnswer, EventReader
from gateway.doors.proxy.route import Language

DIALECTS: Mapping[Language, Any] = {"chat": openai_chat, "responses": openai_responses, "messages": anthropic_messages}
ASIDE_BYTES = 64 * 1024
"""Chunks of so many bytes are read at once: 400 usual ones, in about a millisecond."""


class Tee:
    """The bytes of an answer, on their way to memory."""

    def __init__(self, language: Language) -> None:
        self._language: Language = language
        self._aside: list[bytes] = []
        self._size = 0
        self._events: EventReader | None = None
        self._streamed: AnswerReader = DIALECTS[language].begin_answer()

    def begin_stream(self) -> None:
        """Read what comes as events, and not as one piece."""
        self._events = EventReader()

    def add(self, chunk: bytes) -> None:
        """Put a chunk aside, or read what has come so far."""
        self._aside.append(chunk)
        self._size += len(chunk)
        if self._events is not None and self._size >= ASIDE_BYTES:
            self._read(self._events)

    def _read(self, events: EventReader) -> None:
        data = b"".join(self._aside)
        self._aside, self._size = [], 0
        for event in events.read(data):
            self._streamed.take(event)

    def answer(self) -> ChatAnswer:
        """Return the answer, as far as it came; nothing of it is held any more."""
        if self._events is None:
            data, self._aside = b"".join(self._aside), []
            return DIALECTS[self._language].fold(data)
        self._read(self._events)
        for event in self._events.end():
            self._streamed.take(event)
        return self._streamed.answer()
