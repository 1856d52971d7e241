"""The hash chain by which a conversation is known again, whichever program passes it on.

Rule 1: pure; equal conversations have equal chains, whichever program and dialect carry them.
Rule 2: what a program may change between two requests is not in it: system text, reasoning, ids, credentials, the form
of JSON, blanks at the end of a text, and blocks that a memory put there.
"""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from protocol.base import encode_sorted
from protocol.unicode_forms import normalize

HASH_BYTES = 16
START = b""
"""The hash before the first message."""

_EDGE = re.compile(
    r'<(?P<end>/?)(?P<name>(?:recalled_memory|thread_context|file_context) nonce=\\*"[\w-]{4,64}\\*"|standing_memory)>'
)


class ToolWish(Struct, frozen=True):
    """A call of a tool: its name and its arguments, as text of JSON or as what that says."""

    name: str
    arguments: Any


class ChainMessage(Struct, frozen=True):
    """A message as it counts: who speaks, the texts, the calls of tools, and digests of everything else."""

    role: str
    texts: Sequence[str | bytearray] = ()
    """Bytes are ASCII without blanks at their ends: a long text is not copied to be counted."""
    tools: Sequence[ToolWish] = ()
    others: Sequence[bytes] = ()


def without_blocks(text: str) -> str:
    """Return a text without whole blocks of the gateway, also as JSON quotes them, in time linear in the text."""
    if "<" not in text or "</" not in text:  # one letter is looked for ten times as fast as two
        return text
    kept = drop_pairs(text, _EDGE)
    return text if kept is text else kept.strip("\n")


def drop_pairs(text: str, edge: re.Pattern[str]) -> str:
    """Return a text without what stands from an opening mark to the next closing one of its name, in linear time.

    `edge` finds both kinds of marks, with the groups `name` and `end`, which is empty for an opening one. A pattern of
    whole pairs would look through the rest of the text again from each mark that is never closed.
    """
    edges = list(edge.finditer(text))
    ends: dict[str, list[int]] = {}
    for mark in edges:
        if mark["end"]:
            ends.setdefault(mark["name"], []).append(mark.end())
    kept: list[str] = []
    place = 0
    for mark in edges:
        closings = ends.get(mark["name"], [])
        at = bisect_right(closings, mark.end())
        if not mark["end"] and mark.start() >= place and at < len(closings):
            kept.append(text[place : mark.start()])
            place = closings[at]
    return "".join([*kept, text[place:]]) if place else text


def as_counted(text: str) -> str:
    """Return a text as it counts: composed, without blocks of the gateway and blanks at its end."""
    plain = normalize("NFC", text)
    return without_blocks(plain).rstrip()


def canonical(arguments: Any) -> bytes:
    """Return arguments of a tool in one form; what is no JSON counts as the text that it is."""
    try:
        value = msgspec.json.decode(arguments) if isinstance(arguments, str | bytes) else arguments
        return encode_sorted(value)
    except (msgspec.DecodeError, msgspec.EncodeError, UnicodeDecodeError, TypeError, RecursionError):
        return arguments if isinstance(arguments, bytes) else str(arguments).encode("utf-8", "surrogatepass")


def follow(before: bytes, message: ChainMessage) -> bytes:
    """Return the hash of a conversation with one message more."""
    digest = hashlib.blake2b(before, digest_size=HASH_BYTES)
    _add(digest, b"role", message.role.encode())
    for text in map(_to_counted_bytes, message.texts):
        if text:
            _add(digest, b"text", text)
    for wish in message.tools:
        _add(digest, b"tool", wish.name.encode())
        _add(digest, b"tool", canonical(wish.arguments))
    for other in message.others:
        _add(digest, b"other", other)
    return digest.digest()


def _add(digest: hashlib.blake2b, kind: bytes, part: bytes | bytearray) -> None:
    """Add a part with its length: no two lists of parts are the same bytes."""
    digest.update(b"%b%d:" % (kind, len(part)))
    digest.update(part)


def _to_counted_bytes(text: str | bytearray) -> bytes | bytearray:
    """Return the bytes of a text as it counts."""
    if isinstance(text, str):
        return as_counted(text).encode("utf-8", "surrogatepass")
    return text if b"</" not in text else _to_counted_bytes(text.decode())


def follow_all(before: bytes, messages: Iterable[ChainMessage]) -> list[bytes]:
    """Return the hash after each of some messages."""
    found: list[bytes] = []
    for message in messages:
        before = follow(before, message)
        found.append(before)
    return found


def begin_at(answer_name: str) -> bytes:
    """Return the hash before the first message of a request that names an answer in the place of all before it."""
    return digest_of(b"answer " + answer_name.encode("utf-8", "surrogatepass"))


def digest_of(raw: bytes) -> bytes:
    """Return the digest of a part that is no text: a picture, a file."""
    return hashlib.blake2b(raw, digest_size=HASH_BYTES).digest()
