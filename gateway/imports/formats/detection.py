"""The choice of a file's reader, by its first bytes and not only by its name."""

import re

from gateway.imports.formats import chatgpt, claude, claude_code, codex, markdown
from gateway.imports.formats.draft import Reader

HEAD_BYTES = 1024 * 1024
"""Enough to get past a long title, a summary or a first record without a session."""

SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".md", ".markdown", ".txt"})
ARCHIVES = frozenset({".zip"})

_SIGNS: dict[str, tuple[re.Pattern[bytes], dict[bytes, Reader]]] = {
    ".json": (
        re.compile(rb'"(mapping)"\s*:\s*\{|"(chat_messages)"\s*:\s*\['),
        {b"mapping": chatgpt.read, b"chat_messages": claude.read},
    ),
    ".jsonl": (
        re.compile(
            rb'"(sessionId|leafUuid)"\s*:\s*"|"type"\s*:\s*"(session_meta|response_item|event_msg|turn_context)"|'
            rb'^\s*\{"id"\s*:[^\n]*"(instructions|git)"\s*:'
        ),
        {
            b"sessionId": claude_code.read,
            b"leafUuid": claude_code.read,
            b"session_meta": codex.read,
            b"response_item": codex.read,
            b"event_msg": codex.read,
            b"turn_context": codex.read,
            b"instructions": codex.read,
            b"git": codex.read,
        },
    ),
}
"""Keys that are not escaped, so that no text of a message can stand for them."""


def reader_of(suffix: str, head: bytes) -> Reader | None:
    """Return the reader of a file, or None when no format fits."""
    kind = ".jsonl" if suffix == ".ndjson" else suffix
    if kind not in _SIGNS:
        return markdown.read if kind in SUFFIXES else None
    pattern, readers = _SIGNS[kind]
    found = pattern.search(head)
    return readers[next(filter(None, found.groups()))] if found else None
